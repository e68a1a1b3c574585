"""A hook of MkDocs: the page of commands lists the options of all parsers."""

import argparse
import html
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from matching.cli import arguments
from matching.cli.subcommands import SUBCOMMANDS

PAGE = "reference/commands.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Append the commands to their page."""
    return f"{markdown}\n{describe_commands()}" if page.file.src_uri == PAGE else markdown


def describe_commands() -> str:
    """Describe `gdl-match` and its subcommands in Markdown."""
    modules = [arguments, *(import_module(f"matching.cli.commands.{name}") for name in SUBCOMMANDS)]
    return "\n".join(line for module in modules for line in _describe(module.make_parser()))


def _describe(parser: argparse.ArgumentParser) -> Iterator[str]:
    """A section of a parser, then those of its subparsers."""
    yield f"\n## {parser.prog}\n"
    yield _verbatim(textwrap.dedent(parser.format_usage().replace("usage: ", "       ")))
    yield _verbatim(parser.description or "")
    below = []
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
        nested = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
        below += [sub for action in nested for sub in action.choices.values()]
        if len(actions) > len(nested):
            yield f"\n**{(group.title or '').capitalize()}**\n"
            yield "| option | meaning |\n|---|---|"
            yield from (_row(parser, action) for action in actions if action not in nested)
    if parser.epilog:
        yield "\n" + _verbatim(parser.epilog)
    for sub in below:
        yield from _describe(sub)


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or action.dest)
    names = [f"{name} {value}".rstrip() for name in action.option_strings] or [value]
    meaning = (action.help or "") % {**vars(action), "prog": parser.prog}
    meaning = html.escape(meaning, quote=False).replace("|", "&#124;")
    return f"| {', '.join(f'`{name}`' for name in names)} | {meaning} |"


def _verbatim(text: str) -> str:
    return f"```text\n{text.strip()}\n```\n" if text.strip() else ""
