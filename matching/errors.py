"""Bad input, as opposed to a programming error; and the exit status of an interrupt."""

INTERRUPTED = 130


class InputError(ValueError):
    """What the user gave can't be used; the message is one line that names it, the rule and the value."""
