"""The pages in story order. A page module has KEY, FIELDS and questions(service)."""

from types import ModuleType

from gptviz.lessons import mask, next_token, prefix

PAGES: list[ModuleType] = [next_token, mask, prefix]
