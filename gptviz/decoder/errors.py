"""The one error a user is meant to read."""


class UserError(ValueError):
    """A bad value from the user: the message is one sentence naming the parameter, the value and what is allowed."""
