"""`gdl-match group FILE`: the matches that another program found, grouped into objects."""

import math
import re
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from matching._common.types import Ints
from matching._version import __version__
from matching.api import MatchResult
from matching.cli.arguments import LineParser, add_options, add_setting, change_config, refuse
from matching.cli.console import (
    make_printable,
    print_result,
    print_short_warnings,
    print_warning,
    read_pictures,
)
from matching.cli.destination import check_not_over, choose_destination
from matching.cli.exits import FOUND, NONE_FOUND
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.interchange.files import MatchFile, match_file
from matching.interchange.masks import check_masks_folder, write_masks
from matching.interchange.records import PairMatches, turn_to_displayed
from matching.output.files import write_results
from matching.output.folders import Content, write_files
from matching.output.remedies import list_hints
from matching.output.words import align_columns, format_table, hint_at_rejected
from matching.pictures.images import NamedImage, Picture
from matching.pictures.names import make_absolute
from matching.settings import CLUSTERING_OPTIONS, MAX_NFA

COORDINATES_AS_GIVEN = (
    "as given; if they are pixels, (0, 0) is the centre of the top-left one, x to the right, y down"
)
COORDINATES_AS_STORED = (
    "pixels of the original image as stored (EXIF orientation not applied), x to the right, y down, (0, 0)"
    " the centre of the top-left pixel"
)
MAX_NAME_LENGTH = 100  # characters of a folder's name
Pictures = list[Picture] | None  # of a pair; None if they are not given


def make_parser() -> LineParser:
    """Make the parser of the command."""
    parser = LineParser.of_command("group")
    settings_group = parser.groups["settings"]
    add_options(settings_group, CLUSTERING_OPTIONS)
    add_setting(settings_group, "max_nfa", MAX_NFA)
    return parser


@dataclass(frozen=True)
class GroupRun:
    """The files, settings and options of a run."""

    file: MatchFile
    inputs: tuple[str, ...]  # absolute paths of the files that are read
    folder: Path  # of the results
    config: MatchConfig
    arguments: Namespace


def run(arguments: Namespace) -> int:
    """Run the command."""
    prepared = _prepare(arguments)
    is_single = not prepared.file.holds_many or arguments.image0 is not None
    return _group_one(prepared) if is_single else _group_many(prepared)


def _prepare(arguments: Namespace) -> GroupRun:
    """Check the usage, before anything is read, and choose the folder."""
    if (arguments.image0 is None) != (arguments.image1 is None):
        raise InputError("--image0 and --image1 must be given together")
    if arguments.image0 is not None and arguments.images is not None:
        raise InputError("give --image0 and --image1, or --images")
    if arguments.masks is not None and arguments.image0 is not None:
        raise InputError("--masks covers all pairs; it can't be combined with --image0 and --image1")
    if arguments.image0 is None and arguments.images is None:
        rule = "requires the pictures: give --image0 and --image1, or --images for many pairs"
        refuse(arguments, ("html", "warp"), rule)
    file = match_file(arguments.file, arguments.features)
    if arguments.images is not None and not file.holds_many:
        raise InputError(f"{file.path}: holds only one pair; give its pictures with --image0 and --image1")
    if file.kind != "colmap":
        rule = f"requires a COLMAP database, got {file.path.name}"
        refuse(arguments, ("all_objects", "masks"), rule)
    if arguments.masks is not None:
        check_masks_folder(arguments.masks)
    config = change_config(MatchConfig(), arguments)
    config = config.with_settings(max_log_nfa=math.log10(arguments.max_nfa))
    paths = (file.path, file.features, arguments.image0, arguments.image1, arguments.images)
    inputs = tuple(make_absolute(path) for path in paths if path is not None)
    folder = choose_destination(arguments.out, f"{file.path.stem}-groups", inputs)
    names = {"matches.npz", "matches.json", "matches.png", "matches.html", *file.groups({})}
    check_not_over(folder, map(Path, inputs), names)
    return GroupRun(file, inputs, folder, config, arguments)


def _group_one(run: GroupRun) -> int:
    """Group one pair: the only one, or that of the given pictures."""
    paths = (run.arguments.image0, run.arguments.image1)
    pictures = None if paths[0] is None else read_pictures(paths)
    key, pair, is_swapped = run.file.pair_of(paths)
    shown, result = _group(run, pair.swapped() if is_swapped else pair, pictures)
    groups = run.file.groups({key: (pair, result.cluster)}, run.arguments.all_objects)
    _write_pair(run, run.folder, shown, result, pictures, groups)
    explained = [result.explain()] if run.arguments.explain else []
    notes = hint_at_rejected(result, list_hints(result, "group"))
    print_result(run.arguments, run.folder, [format_table(result), *explained], notes)
    return FOUND if result.objects else NONE_FOUND


def _group_many(run: GroupRun) -> int:
    labels: dict[Any, tuple[PairMatches, Ints]] = {}
    summaries: list[dict[str, Any]] = []
    taken: set[str] = set()
    rows = [("objects", "kept", "matches", "pair")]
    quiet = run.arguments.quiet or None
    for key, pair in tqdm(run.file.pairs(), disable=quiet, file=sys.stderr, unit=" pairs"):
        assert pair.names is not None  # files of many pairs have them
        folder = run.arguments.images
        pictures = None if folder is None else read_pictures([folder / name for name in pair.names])
        shown, result = _group(run, pair, pictures)
        name = _choose_folder_name(pair.names, taken)
        _write_pair(run, run.folder / name, shown, result, pictures)
        labels[key] = pair, result.cluster
        kept = int((result.cluster >= 0).sum())
        objects = [{"id": o.id, "matches": o.n_matches, "score": round(o.score, 4)} for o in result.objects]
        numbers = {"matches": len(pair), "kept": kept, "objects": objects}
        summaries.append({"images": pair.names, "folder": name, **numbers})
        names = "  ".join(map(make_printable, pair.names))
        rows.append((str(len(objects)), str(kept), str(len(pair)), names))
    n_objects = sum(len(summary["objects"]) for summary in summaries)
    about = {"version": __version__, "inputs": run.inputs, "parameters": asdict(run.config)}
    groups = run.file.groups(labels, run.arguments.all_objects)
    write_files(run.folder, groups.items(), about | {"pairs": summaries, "objects": n_objects})
    if run.arguments.masks is not None:
        write_masks(run.arguments.masks, labels.values())
    print_result(run.arguments, run.folder, align_columns(rows, left=(3,)))
    return FOUND if n_objects else NONE_FOUND


def _group(run: GroupRun, pair: PairMatches, pictures: Pictures) -> tuple[PairMatches, MatchResult]:
    """Group the matches of a pair; return the matches, in pixels as displayed, and the result."""
    source = f"{run.file.path}: "
    if run.file.holds_many and pair.names is not None:
        source += f"{' and '.join(pair.names)}: "
    shown = pair if pictures is None else turn_to_displayed(pair, pictures)
    images = {f"image{k}": picture for k, picture in enumerate(pictures or ())}
    for xy, picture in zip((shown.xy0, shown.xy1), pictures or (), strict=False):
        outside = int(((xy < -1) | (xy > [picture.width, picture.height])).any(axis=1).sum())
        if outside:
            images = {}
            print_warning(
                f"{source}{outside} of {len(xy)} matches lie outside {picture.path} ({picture.width} x"
                f" {picture.height}): was it matched at another size?"
                " What lies between the matches is not looked at."
            )
    try:
        with print_short_warnings():
            scored = shown.with_scores(scores_are) if (scores_are := run.arguments.scores_are) else shown
            result = scored.group(run.config, planes=run.arguments.planes, **images)
    except InputError as error:
        raise InputError(f"{source}{error}") from None
    return shown, result


def _choose_folder_name(names: Sequence[str], taken: set[str]) -> str:
    """Choose a name that is not taken, ignoring case, and add it to `taken`."""
    base = "_".join(re.sub(r"[^\w.+-]", "-", name).lstrip(".") or "image" for name in names)[:MAX_NAME_LENGTH]
    name, number = base, 2
    while name.casefold() in taken:
        name, number = f"{base}-{number}", number + 1
    taken.add(name.casefold())
    return name


def _write_pair(
    run: GroupRun,
    folder: Path,
    pair: PairMatches,
    result: MatchResult,
    pictures: Pictures,
    groups: Mapping[str, Content] | None = None,
) -> None:
    """Write the results of a pair as `write_results` does; without pictures, matches.png shows points."""
    options: dict[str, Any] = {name: getattr(run.arguments, name) for name in ("warp", "html", "explain")}
    options |= {"figure": not run.arguments.no_figure, "inputs": run.inputs, "others": groups}
    images: Sequence[Picture | NamedImage] = pictures or []
    if pictures is None:
        named = zip(pair.names or (None, None), pair.sizes or ((None, None),) * 2, strict=True)
        images = [NamedImage(name, width, height) for name, (height, width) in named]
        options["coordinates"] = COORDINATES_AS_STORED if pair.as_stored else COORDINATES_AS_GIVEN
    write_results(folder, images, result, **options)
