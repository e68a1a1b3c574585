"""The options of the command line, and the settings that they stand for."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from matching._version import __version__
from matching.cli.subcommands import subcommands
from matching.errors import InputError
from matching.output.export_formats import EXPORTS
from matching.pictures.names import check_name
from matching.settings import (
    BANDWIDTH,
    EVERY,
    MAX_MATCHES,
    MAX_NFA,
    MAX_PIXELS,
    METHODS,
    MIRRORED,
    N_CLUSTERS,
    N_INITIAL_NEIGHBORS,
    N_NEIGHBOR_CLUSTERS,
    N_NEIGHBORS,
    REGIONS,
    VIEW_SYNTHESIS,
    Setting,
)

if TYPE_CHECKING:
    from matching.config import MatchConfig
    from matching.grouping.clustering import ClusteringConfig

LARGEST = 10**9  # of the whole numbers among the options

DESCRIPTION = (
    "Find the objects that two pictures both show, however cluttered the scenes or bent the objects."
)
EPILOG = """\
The table says how sure an object is (sure, likely, look at it), centre and size of its outline in the second
picture, its turn (cw: clockwise) and scale from the first to the second, the share of the first that it
covers, and how much of the first is there. Whole copies are counted apart from places that share a part.
Exit status: 0 objects found (in any picture), 1 no common object (the files are written all the same),
2 bad input or usage, 3 an error of the program itself, 130 interrupted.
Files in the output folder: matches.npz (every candidate correspondence), matches.json (objects, transforms,
outlines, parameters), matches.png (both pictures, each object in its own colour). Of a video: matches.json
and contact-sheet.jpg.
"""


class LineParser(argparse.ArgumentParser):
    """A parser whose errors are InputErrors of one line, which may suggest what was meant."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError."""
        words = (word.split("=")[0] for word in message.split() if word.startswith("--"))
        known = [name.removeprefix("--") for name in self._option_string_actions if name.startswith("--")]
        unknown = [word.removeprefix("--") for word in words if message.startswith("unrecognized")]
        meant = [f"--{close}" for word in unknown for close in get_close_matches(word, known, 1)]
        raise InputError(f"{message} (did you mean {', '.join(meant)}?)" if meant else message)


def name_after_dashes(argv: Sequence[str]) -> list[str]:
    """Turn what follows `--` into names that don't look like options; argparse forgets it among pictures."""
    if "--" not in argv:
        return list(argv)
    end = argv.index("--")
    names = (f"./{name}" if name.startswith("-") else name for name in argv[end + 1 :])
    return [*argv[:end], *names]


def make_parser(rivals: Collection[str] = ()) -> LineParser:
    """Make the parser of `gdl-match`."""
    result = LineParser(
        prog="gdl-match",
        description=DESCRIPTION,
        epilog=f"{EPILOG}{subcommands()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument(
        "images",
        nargs="*",
        type=parse_path,
        metavar="IMAGE",
        help="two pictures; or one, to find what repeats in it; or a picture of one thing, and many pictures,"
        " or folders of them, or a video, to find it in",
    )
    result.add_argument("--demo", action="store_true", help="make a pair of pictures and match it")
    _add_input_and_output(result.add_argument_group("input and output"))
    add_settings(result.add_argument_group("settings"), rivals)
    result.add_argument("--version", action="version", version=f"gdl-match {__version__}")
    return result


def _add_input_and_output(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    text = "folder for results (default: <stem0>-<stem1>-match); of many pictures, for a folder each"
    add("--out", type=parse_path, metavar="DIR", help=text)
    for k, which in enumerate(("first", "second")):
        text = f"picture as large as the {which} one, white where features may lie"
        add(f"--mask{k}", type=parse_path, metavar="FILE", help=text)
    add("--warp", action="store_true", help="for each object, draw it warped onto the other picture")
    add("--crops", action="store_true", help="cut each object out of both pictures")
    add(
        "--export",
        type=_parse_exports,
        action="extend",
        default=[],
        metavar="FORMATS",
        help="also write the matches as colmap (database.db), hloc (features.h5, matches.h5, pairs.txt),"
        " csv (matches.csv); several with commas",
    )
    add("--html", action="store_true", help="also write matches.html, a report in one file for any browser")
    add("--open", action="store_true", help="write matches.html and open it in the browser")
    add_setting(group, "every", replace(EVERY, default=None, kind=float), f"{EVERY.default:g}")
    add("--no-figure", action="store_true", help="don't draw matches.png")
    add("--json", action="store_true", help="print the result as JSON on standard output, and nothing else")
    text = "also print and draw which groups of matches were rejected, by which stage, and why"
    add("--explain", action="store_true", help=text)
    add("--quiet", action="store_true", help="no progress on standard error")


def add_settings(group: argparse._ArgumentGroup, rivals: Collection[str] = ()) -> None:
    """Add the options that `make_config` reads."""
    add_setting(group, "max_matches", MAX_MATCHES)
    add_setting(group, "max_pixels", MAX_PIXELS, "no limit")
    add_clustering(group, rivals, "50 with --paper, else merging stops by affinity")
    add_setting(group, "bandwidth", BANDWIDTH)
    group.add_argument(
        "--regions",
        type=_parse_regions,
        metavar="KINDS",
        help=f"kinds of regions: {','.join(REGIONS)} (default), mser (with --paper) or sift",
    )
    group.add_argument(
        "--detector",
        type=_run_detector_file,
        action="append",
        metavar="FILE",
        help="a Python file that registers a detector, which --regions behind it may name",
    )
    add_setting(group, "max_nfa", MAX_NFA)
    add_setting(group, "mirrored", MIRRORED)
    group.add_argument(
        "--paper", action="store_true", help="run every stage exactly as the paper describes it"
    )
    add_setting(group, "view_synthesis", VIEW_SYNTHESIS)


def add_setting(
    group: argparse._ArgumentGroup, name: str, setting: Setting, default: str | None = None
) -> None:
    """Add the option of a setting, by its declaration."""
    option = f"--{name.replace('_', '-')}"
    if isinstance(setting.default, bool):
        group.add_argument(option, action="store_true", help=setting.text)
        return

    def parse(text: str) -> Any:
        try:
            return setting.parse(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    default = f"{setting.default:g}" if default is None else default
    text = f"{setting.text} (default: {default})"
    group.add_argument(option, type=parse, metavar=setting.symbol, default=setting.default, help=text)


def add_clustering(
    group: argparse._ArgumentGroup,
    rivals: Collection[str] = (),
    n_clusters: str = "merging stops by affinity",
) -> None:
    """Add the options that `make_clustering` reads."""
    add_setting(group, "n_neighbors", N_NEIGHBORS)
    add_setting(group, "n_initial_neighbors", N_INITIAL_NEIGHBORS)
    add_setting(group, "n_neighbor_clusters", N_NEIGHBOR_CLUSTERS)
    add_setting(group, "n_clusters", N_CLUSTERS, n_clusters)
    methods = (*METHODS, *rivals)
    group.add_argument(
        "--method",
        choices=methods,
        metavar="NAME",
        default=METHODS[0],
        help=f"{', '.join(methods)} (default: {METHODS[0]})",
    )


def check_settings(arguments: argparse.Namespace) -> None:
    """Check that the options of `add_settings` go together."""
    if arguments.view_synthesis and arguments.paper:
        raise InputError("--view-synthesis does not go with --paper: the paper has no simulated views")
    if arguments.max_nfa != MAX_NFA.default and arguments.paper:
        raise InputError("--max-nfa does not go with --paper: the paper does not test its objects")


def make_config(arguments: argparse.Namespace) -> MatchConfig:
    """The settings that parsed arguments stand for."""
    from matching.config import MatchConfig

    check_settings(arguments)
    config = MatchConfig.paper() if arguments.paper else MatchConfig()
    return replace(
        config,
        max_pixels=arguments.max_pixels,
        mirrored=arguments.mirrored,
        view_synthesis=arguments.view_synthesis,
        features=replace(config.features, regions=arguments.regions or config.features.regions),
        candidates=replace(config.candidates, max_matches=arguments.max_matches),
        clustering=replace(make_clustering(arguments, config.clustering), bandwidth=arguments.bandwidth),
        objects=replace(config.objects, max_log_nfa=math.log10(arguments.max_nfa)),
    )


def make_clustering(arguments: argparse.Namespace, clustering: ClusteringConfig) -> ClusteringConfig:
    """The settings of the clustering that parsed arguments stand for."""
    return replace(
        clustering,
        method=arguments.method,
        n_clusters=arguments.n_clusters or clustering.n_clusters,
        n_neighbors=arguments.n_neighbors,
        n_initial_neighbors=arguments.n_initial_neighbors,
        n_neighbor_clusters=arguments.n_neighbor_clusters,
    )


def parse_path(text: str) -> Path:
    """The value of an option that names a file or folder."""
    try:
        check_name(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return Path(text)


def parse_whole_number(text: str) -> int:
    """The value of an option that counts something, 1 or more."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LARGEST:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {LARGEST}, got {text!r}")
    return number


def _parse_regions(text: str) -> tuple[str, ...]:
    if "matching.features.detectors" not in sys.modules:  # which takes its time to load
        return _parse_names(REGIONS, text, "mser, sift or mser,sift")
    from matching.features.detectors import list_detectors

    return _parse_names(list_detectors(), text, f"some of {','.join(list_detectors())}")


def _run_detector_file(text: str) -> Path:
    """Run a file that registers a detector."""
    import runpy

    path = parse_path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text}: no such file")
    runpy.run_path(str(path))
    return path


def _parse_exports(text: str) -> tuple[str, ...]:
    return _parse_names(EXPORTS, text, f"some of {','.join(EXPORTS)}")


def _parse_names(names: Collection[str], text: str, rule: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(text.split(",")))
    if not set(chosen) <= set(names):
        raise argparse.ArgumentTypeError(f"must be {rule}, got {text!r}")
    return chosen
