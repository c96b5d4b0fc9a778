"""The pages in story order. A page module has KEY, FIELDS and questions(service)."""

from types import ModuleType

from gptviz.lessons import inside, next_token, training, twins

PAGES: list[ModuleType] = [next_token, inside, training, twins]
