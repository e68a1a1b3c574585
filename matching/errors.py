"""The error for bad input (as opposed to programming errors), and the exit status of an interrupt."""

INTERRUPTED = 130


class InputError(ValueError):
    """The user's input can't be used; the message, in one line, names the input, the rule and the value."""


def one_line(error: BaseException) -> str:
    """The message of an error in one line, or its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__
