"""Bad input, as opposed to a programming error."""


class InputError(ValueError):
    """What the user gave can't be used; the message is one line that names it, the rule and the value."""
