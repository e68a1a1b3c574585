"""The subcommands of `gdl-match`, which help/match.txt describes: each is a module of `commands`."""

from difflib import get_close_matches

SUBCOMMANDS = ("group", "collection", "index", "label", "serve")
RESUMABLE = ("collection", "index", "label")  # those that continue where they were interrupted
RESUMABLE_MESSAGE = "interrupted; run the same command again to continue"


def find_meant(name: str) -> str | None:
    """Return the subcommand that resembles a name, or None."""
    if not name.isalpha():  # a file, or an option
        return None
    return next(iter(get_close_matches(name.lower(), SUBCOMMANDS, 1, 0.7)), None)
