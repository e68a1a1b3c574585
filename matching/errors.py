"""The error for bad input (as opposed to programming errors), and the exit status of an interrupt."""

from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130


class InputError(ValueError):
    """The user's input can't be used; the message, in one line, names the input, the rule and the value."""


def one_line(error: BaseException) -> str:
    """The message of an error in one line, or its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def explain_errors(subject: object, failure: str) -> Iterator[None]:
    """Turn errors of the system, and of text that is not UTF-8, into InputError about a subject."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{subject}: {failure} ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise InputError(f"{subject}: must be text in UTF-8") from None
