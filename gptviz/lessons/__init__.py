"""The pages in teaching order. A page module has KEY, TAB, build(service, asked) -> Page and endpoints(service)."""

from types import ModuleType

from gptviz.lessons import anatomy, attention, kv_cache, mask, next_token, prefix, training, twins

PAGES: list[ModuleType] = [attention, mask, prefix, twins, next_token, kv_cache, training, anatomy]
