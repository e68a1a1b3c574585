"""The options of the command line, and the settings made from them."""

from __future__ import annotations

import argparse
import re
import sys
from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from matching._version import __version__
from matching.errors import InputError
from matching.output.export_formats import FORMATS
from matching.pictures.names import check_name
from matching.settings import EVERY, METHODS, OPTIONS, REGIONS, Setting

if TYPE_CHECKING:
    from matching.grouping.config import MatchConfig
    from matching.grouping.methods import GroupMatches, Method

Group = argparse._ActionsContainer
MAX_COUNT = 10**9
# of a line in a file of help: its name, the symbol of its value, how many there may be, the default, and its
# meaning
OPTION = re.compile(r"^(\S+?)(?: ([A-Z]+|[a-z|]+)([*+]?)(?:=(\S+))?)?( \(required\))?: (.+(?:\n  .+)*)", re.M)
COUNT = Setting(None, 1, MAX_COUNT, kind=int)
NUMBERS = {  # the symbols of numbers; others stand for files and folders, or for TEXTS
    "N": COUNT,
    "MB": COUNT,
    "PORT": Setting(None, 0, 65535, kind=int),
    "SECONDS": Setting(None, 0, 1_000_000, kind=float),
}
TEXTS = "HOST", "ADDRESS"
MANY_PICTURES = (
    "run",
    "cluster",
)  # help of the options of a command for many pictures, which can use a cluster


class LineParser(argparse.ArgumentParser):
    """A parser whose errors are InputErrors of one line, with suggestions for misspelt options.

    The command's file in the folder help has its description; then groups of options that name a file, a
    number or a text, or switch something on, each with its title; and its epilog. Further files have only
    groups; with the file "run", the command has the settings of matching, too.
    """

    def __init__(self, command: str, *more: str, files: Sequence[str] = (), **options: Any) -> None:
        text, _, epilog = _read_help(command).partition("\n\n---\n")
        description, *listed = "\n\n== ".join([text, *map(_read_help, (*more, *files))]).split("\n\n== ")
        formatter: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter, "epilog": epilog}
        super().__init__(description=description, **formatter, **options)
        self.add_argument("--version", action="version", version=f"gdl-match {__version__}")
        self.groups: dict[str, Group] = {}
        for title, _, lines in (group.partition("\n") for group in listed):
            group = self.groups.get(title) or self.groups.setdefault(title, self.add_argument_group(title))
            for line in OPTION.findall(lines):
                _add_line(group, *line)
        if "run" in (*more, *files):
            add_settings(self.add_argument_group("matching, as for gdl-match"))

    @classmethod
    def of_command(cls, name: str, *more: str) -> LineParser:
        """Make the parser of a subcommand."""
        return cls(name, *more, prog=f"gdl-match {name}")

    def error(self, message: str) -> NoReturn:
        """Raise InputError."""
        words = (word.split("=")[0] for word in message.split() if word.startswith("--"))
        known = [name.removeprefix("--") for name in self._option_string_actions if name.startswith("--")]
        unknown = [word.removeprefix("--") for word in words if message.startswith("unrecognized")]
        close = [f"--{name}" for word in unknown for name in get_close_matches(word, known, 1)]
        raise InputError(f"{message} (did you mean {', '.join(close)}?)" if close else message)


def _read_help(name: str) -> str:
    return Path(__file__).with_name("help").joinpath(f"{name}.txt").read_text("utf-8")


def _add_line(
    group: Group, option: str, symbol: str, many: str, default: str, required: str, text: str
) -> None:
    """Add the option, or the argument, of a line in a file of help."""
    text = " ".join(text.split())
    if number := NUMBERS.get(symbol):
        value = number.parse(default) if default else None
        add_setting(
            group, option.removeprefix("--"), replace(number, default=value, symbol=symbol, text=text)
        )
        return
    kind: dict[str, Any] = {"action": "store_true"}
    if "|" in symbol:
        kind = {"choices": symbol.split("|"), "default": default or None}
    elif symbol:
        kind = {"type": str if symbol in TEXTS else parse_path, "metavar": symbol, "default": default or None}
    if many and option.startswith("--"):
        kind |= {"action": "append", "default": []}
    elif many or required:
        kind |= {"nargs": many} if many else {"required": True}
    group.add_argument(option, help=text, **kind)


def make_parser(rivals: Mapping[str, GroupMatches] | None = None) -> LineParser:
    """Make the parser of `gdl-match`, with further methods."""
    result = LineParser("match", prog="gdl-match")
    result.set_defaults(rivals=rivals or {})
    group = result.groups["input and output"]
    formats = ", ".join(f"{name} ({', '.join(row.files)})" for name, row in FORMATS.items())
    text = "also write the matches, or where objects differ, in these formats, separated by commas"
    add_names(group, "export", FORMATS, f"{text}: {formats}")
    add_every(group)
    add_settings(result.groups["settings"], rivals or ())
    return result


def add_settings(group: Group, rivals: Collection[str] = ()) -> None:
    """Add the options from which `make_config` makes the settings."""
    add_options(group, OPTIONS, rivals)
    default = ",".join(REGIONS)
    kinds = ", ".join(REGIONS)
    text = f"kinds of features, separated by commas: {kinds} (default: {default}; with --paper: mser)"
    group.add_argument("--regions", type=_parse_regions, metavar="KINDS", help=text)
    text = (
        "Python file that registers a detector. It is added to the default --regions; to choose, name it in"
        " --regions after this option"
    )
    group.add_argument(
        "--detector", type=_run_detector_file, action="extend", default=[], metavar="FILE", help=text
    )
    add_flag(group, "paper", "run every step exactly as the paper describes it")
    group.add_argument("--max-nfa", help=argparse.SUPPRESS)


def add_options(group: Group, options: Mapping[str, Setting], rivals: Collection[str] = ()) -> None:
    """Add the options of some settings, and of the method."""
    for name, setting in options.items():
        add_setting(group, name, setting)
    words = *METHODS, *rivals
    text = f"{', '.join(words)} (default: {words[0]})"
    group.add_argument("--method", choices=words, metavar="NAME", default=words[0], help=text)


def add_flag(group: Group, name: str, text: str) -> None:
    """Add an option without a value."""
    group.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)


def add_setting(group: Group, name: str, setting: Setting) -> None:
    """Add the option of a setting, from its declaration."""
    if isinstance(setting.default, bool):
        add_flag(group, name, setting.text)
        return

    def parse(text: str) -> Any:
        try:
            return setting.parse(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    default = setting.default_text
    if default is None and setting.default is not None:
        default = f"{setting.default:g}"
    group.add_argument(
        f"--{name.replace('_', '-')}",
        type=parse,
        metavar=setting.symbol,
        default=setting.default,
        help=setting.text if default is None else f"{setting.text} (default: {default})",
    )


def add_every(group: Group) -> None:
    """Add the option for the time between frames, which is None unless it is given."""
    default_text = f"{EVERY.default:g}"
    add_setting(group, "every", replace(EVERY, default=None, kind=float, default_text=default_text))


def add_names(group: Group, name: str, names: Collection[str], text: str) -> None:
    """Add an option that takes some of several words, separated by commas, and may be repeated."""
    group.add_argument(
        f"--{name}",
        type=partial(_parse_names, names),
        action="extend",
        default=[],
        metavar="FORMATS",
        help=text,
    )


def refuse(arguments: Namespace, names: Sequence[str], text: str, methods: Collection[str] = ()) -> None:
    """Raise InputError if any of these options is given, or one of these methods."""
    for name in (name for name in names if getattr(arguments, name)):
        raise InputError(f"--{name.replace('_', '-')} {text}")
    if methods and arguments.method in methods:
        raise InputError(f"--method {arguments.method} {text}")


def make_config(arguments: Namespace) -> MatchConfig:
    """Make the settings from the parsed arguments of `add_settings`."""
    from matching.grouping.config import MatchConfig

    if arguments.view_synthesis and arguments.paper:
        raise InputError("--view-synthesis can't be combined with --paper: the paper has no simulated views")
    if arguments.max_nfa is not None:
        raise InputError(
            "--max-nfa is for given matches (gdl-match group): of pictures, what lies between the matches"
            " decides, and each object says how sure it is"
        )
    config = MatchConfig.paper() if arguments.paper else MatchConfig()
    with_registered = tuple(dict.fromkeys([*config.features.regions, *arguments.detector]))
    return change_config(config.with_settings(regions=arguments.regions or with_registered), arguments)


def find_method(arguments: Namespace) -> Method:
    """Find the method for two pictures: a further one, or the program's own with its settings."""
    from matching.grouping.methods import PAIR, Method

    rival = arguments.rivals.get(arguments.method)
    return PAIR if rival is None else Method(group=rival)


def change_config(config: MatchConfig, arguments: Namespace) -> MatchConfig:
    """Change the settings for which there are options, unless an option has no value."""
    values = {name: getattr(arguments, name, None) for name in OPTIONS}
    given = {name: value for name, value in values.items() if value is not None}
    return config.with_settings(**given, method=arguments.method)


def parse_path(text: str) -> Path:
    """Parse the value of an option that names a file or folder."""
    try:
        check_name(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return Path(text)


def _parse_regions(text: str) -> tuple[str, ...]:
    detectors = sys.modules.get("matching.features.detectors")  # slow; without it, none is registered
    return _parse_names(REGIONS if detectors is None else detectors.list_detectors(), text)


def _run_detector_file(text: str) -> list[str]:
    """Run a file, and list the names of the detectors that it registers."""
    import runpy

    from matching.features.detectors import list_registered_detectors

    path = parse_path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text}: no such file")
    known = list_registered_detectors()
    try:
        runpy.run_path(str(path))
    except Exception as error:  # whatever the file does
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        raise argparse.ArgumentTypeError(f"{text}: {kind}{error}") from None
    return [new.name for new in list_registered_detectors() if not any(new is old for old in known)]


def _parse_names(names: Collection[str], text: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(text.split(",")))
    if not set(chosen) <= set(names):
        raise argparse.ArgumentTypeError(f"must be some of {','.join(names)}, got {text!r}")
    return chosen
