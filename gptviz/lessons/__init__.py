"""The pages in story order. A page module has KEY, FIELDS and questions(service)."""

from types import ModuleType

from gptviz.lessons import attention, inside, kv_cache, mask, next_token, prefix, reference, training, twins

PAGES: list[ModuleType] = [next_token, inside, attention, mask, prefix, training, twins, kv_cache, reference]
