"""The subcommands of `gdl-match`. Their modules are loaded only when they are used."""

from difflib import get_close_matches

SUBCOMMANDS = {  # name: the module with make_parser and run, arguments, what it does
    "group": ("matching.cli.commands.group", "FILE", "group the matches of another program into objects"),
    "collection": (
        "matching.cli.commands.collection",
        "...",
        "match many pictures, with the results in one database",
    ),
    "index": ("matching.cli.commands.index", "...", "keep an index of many pictures, and query it"),
    "label": ("matching.cli.commands.label", "...", "label things once, find them in many pictures"),
    "serve": ("matching.cli.commands.serve", "", "run a web page on this machine"),
}
RESUMABLE = ("collection", "index", "label")  # those that continue where they were interrupted
RESUMABLE_MESSAGE = "interrupted; run the same command again to continue"


def find_meant(name: str) -> str | None:
    """Return the subcommand that resembles a name, or None."""
    if not name.isalpha():  # a file, or an option
        return None
    return next(iter(get_close_matches(name.lower(), SUBCOMMANDS, 1, 0.7)), None)


def subcommands() -> str:
    """Describe the subcommands for the help."""
    lines = ["Subcommands, each with its own --help (for a picture of the same name, write ./group):"]
    for name, (_, arguments, text) in SUBCOMMANDS.items():
        usage = f"gdl-match {name} {arguments}".rstrip()
        lines.append(f"  {usage:<25}  {text}")
    return "\n".join(lines)
