"""The one error a user is meant to read."""


class UserError(ValueError):
    """A bad value from the user: the message is one sentence naming the parameter, the value and what is allowed."""


MOST_SHOWN = 60  # characters of a bad value that an error repeats


def brief(value: object) -> str:
    """A bad value as an error repeats it: at most 60 characters, and none that cannot be sent."""
    text = str(value)
    cut = text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
    return cut.encode(errors="backslashreplace").decode()
