"""The command line: `gdl-match IMAGE0 IMAGE1`."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path

from matching._version import __version__
from matching.errors import InputError

FOUND, NONE_FOUND, BAD_INPUT = 0, 1, 2
LARGEST = 10**9  # of the whole numbers among the options

DESCRIPTION = (
    "Find the objects that two pictures both show, however cluttered the scenes or bent the objects."
)
EPILOG = """\
Exit status: 0 objects found, 1 no common object (the files are written all the same), 2 bad input or usage.
Files in the output folder: matches.npz (every candidate correspondence), matches.json (objects, transforms,
outlines, parameters), matches.png (both pictures, each object in its own colour)."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message):
        raise InputError(message)


def main(argv=None, *, demo_pair=None, rivals=None):
    """Run the command; returns the exit status.

    demo_pair : callable without arguments that gives the two pictures (h, w, 3) of --demo; without it there
        is no --demo
    rivals : further methods for --method, name -> find_clusters as in `matching.pipeline.match_pictures`
    """
    try:
        return _run(_parser(demo_pair, rivals or {}).parse_args(argv), demo_pair, rivals or {})
    except InputError as error:
        print(f"gdl-match: error: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("gdl-match: interrupted", file=sys.stderr)
        return 130


def _parser(demo_pair, rivals):
    parser = _Parser(
        prog="gdl-match",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("image0", nargs="?", type=Path, metavar="IMAGE0", help="a picture")
    parser.add_argument("image1", nargs="?", type=Path, metavar="IMAGE1", help="another picture")
    if demo_pair:
        parser.add_argument("--demo", action="store_true", help="make a pair of pictures and match it")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for results (default: <stem0>-<stem1>-match)"
    )
    parser.add_argument(
        "--max-matches",
        type=_whole,
        metavar="N",
        default=3000,
        help="candidate correspondences kept (default: 3000)",
    )
    parser.add_argument(
        "--n-clusters",
        type=_whole,
        metavar="N",
        default=50,
        help="clusters at which merging stops, n_T (default: 50)",
    )
    parser.add_argument(
        "--n-neighbors",
        type=_whole,
        metavar="K",
        default=35,
        help="neighbours of a correspondence, K (default: 35)",
    )
    parser.add_argument(
        "--n-initial-neighbors",
        type=_whole,
        metavar="K0",
        default=2,
        help="for initial clusters, K0 (default: 2)",
    )
    parser.add_argument(
        "--bandwidth", type=_positive, metavar="a", default=10.0, help="a of Eq. 1 (default: 10)"
    )
    parser.add_argument(
        "--n-neighbor-clusters",
        type=_whole,
        metavar="Kc",
        default=10,
        help="neighbour clusters, Kc (default: 10)",
    )
    methods = ("agdl", "gdl-u", "gdl", *rivals)
    parser.add_argument(
        "--method",
        choices=methods,
        metavar="NAME",
        default="agdl",
        help=f"{', '.join(methods)} (default: agdl)",
    )
    parser.add_argument(
        "--regions",
        type=_regions,
        metavar="KINDS",
        help="kinds of regions: mser,sift (default), mser or sift",
    )
    parser.add_argument("--paper", action="store_true", help="every stage exactly as the paper's text has it")
    parser.add_argument("--no-figure", action="store_true", help="don't draw matches.png")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--version", action="version", version=f"gdl-match {__version__}")
    return parser


def _run(arguments, demo_pair, rivals):
    demo = demo_pair is not None and arguments.demo
    if demo == (arguments.image1 is not None) or (demo and arguments.image0 is not None):
        raise InputError(f"two pictures are needed{', or --demo' if demo_pair else ''}; see gdl-match --help")
    from matching.images import read_picture
    from matching.output import make_folder, write_results
    from matching.pipeline import match_pictures

    tell = (lambda text: None) if arguments.quiet else (lambda text: print(text, file=sys.stderr, flush=True))
    if demo:
        folder = make_folder(arguments.out or Path("demo-match"))
        pictures = _demo_pictures(folder, demo_pair)
    else:
        pictures = [read_picture(arguments.image0), read_picture(arguments.image1)]
        folder = make_folder(arguments.out or Path(f"{arguments.image0.stem}-{arguments.image1.stem}-match"))
    for picture in pictures:
        tell(f"{picture.path}: {picture.width} x {picture.height}")
    config = _config(arguments)
    result = match_pictures(*pictures, config, find_clusters=rivals.get(arguments.method))
    kept = int((result.cluster >= 0).sum())
    seconds = sum(result.timings.values())
    tell(f"{len(result.cluster)} candidates, {kept} kept, {seconds:.1f} s")
    write_results(folder, pictures, result, config, figure=not arguments.no_figure)
    print(table(result))
    tell(f"written to {folder}")
    return FOUND if result.objects else NONE_FOUND


def table(result):
    """The objects, one a line."""
    if not result.objects:
        return "no common object"
    lines = [f"{'object':>6}  {'matches':>7}  {'score':>5}  {'transform':<10}  {'error':>8}"]
    lines += [
        f"{o.id:>6}  {o.n_matches:>7}  {o.score:>5.1f}  {o.transform_kind:<10}  {o.transform_error:>5.1f} px"
        for o in result.objects
    ]
    return "\n".join(lines)


def _config(arguments):
    from matching.config import MatchConfig

    config = MatchConfig.paper() if arguments.paper else MatchConfig()
    clustering = replace(
        config.clustering,
        method=arguments.method,
        n_clusters=arguments.n_clusters,
        n_neighbors=arguments.n_neighbors,
        n_initial_neighbors=arguments.n_initial_neighbors,
        bandwidth=arguments.bandwidth,
        n_neighbor_clusters=arguments.n_neighbor_clusters,
    )
    return replace(
        config,
        features=replace(config.features, regions=arguments.regions or config.features.regions),
        candidates=replace(config.candidates, max_matches=arguments.max_matches),
        clustering=clustering,
    )


def _demo_pictures(folder, demo_pair):
    from matching import _opencv
    from matching.images import read_picture
    from matching.output import write_whole

    paths = [folder / f"picture{k}.png" for k in range(2)]
    for path, rgb in zip(paths, demo_pair(), strict=True):
        write_whole(path, _opencv.encode_png(rgb))
    return [read_picture(path) for path in paths]


def _whole(text):
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LARGEST:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {LARGEST}, got {text!r}")
    return number


def _positive(text):
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"must be a finite number above 0, got {text!r}")
    return number


def _regions(text):
    kinds = tuple(dict.fromkeys(text.split(",")))
    if not set(kinds) <= {"mser", "sift"}:
        raise argparse.ArgumentTypeError(f"must be mser, sift or mser,sift, got {text!r}")
    return kinds
