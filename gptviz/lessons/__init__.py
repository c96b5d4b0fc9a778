"""The pages in story order. A page module has KEY, FIELDS and questions(service)."""

from types import ModuleType

from gptviz.lessons import inside, kv_cache, next_token, reference

PAGES: list[ModuleType] = [next_token, inside, kv_cache, reference]
