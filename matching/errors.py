"""The error for bad input (as opposed to programming errors), and the exit status of an interrupt."""

INTERRUPTED = 130


class InputError(ValueError):
    """The user's input can't be used; the message, in one line, names the input, the rule and the value."""


def one_line(error: BaseException) -> str:
    """The message of an error in one line, or its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


class OneLineErrors:
    """Turns errors of the system, and of text that is not UTF-8, into InputError about a subject.

    This module is loaded before interrupts are reported, so it does without contextlib.
    """

    def __init__(self, subject: object, failure: str) -> None:
        self.subject, self.failure = subject, failure

    def __enter__(self) -> None:
        """Enter the context."""

    def __exit__(self, _: object, error: object, __: object) -> None:
        if isinstance(error, OSError):
            raise InputError(f"{self.subject}: {self.failure} ({error.strerror or error})") from None
        if isinstance(error, UnicodeDecodeError):
            raise InputError(f"{self.subject}: must be text in UTF-8") from None
