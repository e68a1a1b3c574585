"""`gdl-match BOX SCENE SCENE ...`: finds one thing in many pictures."""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image

from matching.cli.arguments import find_method, make_config, refuse
from matching.cli.console import (
    list_different,
    make_printable,
    make_teller,
    open_report,
    read_pictures,
    report_work,
)
from matching.cli.destination import check_output, check_page, name_pair_folder, output_options
from matching.cli.exits import BAD_INPUT, FOUND, NONE_FOUND
from matching.drivers.pair import match_pair
from matching.drivers.result import Result
from matching.errors import InputError
from matching.objects.copies import count_copies
from matching.output.export_formats import check_formats
from matching.output.files import write_results
from matching.output.folders import (
    MANIFEST,
    PICTURE_MARK,
    check_folder,
    choose_folder,
    write_page,
    write_whole,
)
from matching.output.html.inspection import Inspected, draw_golden, draw_inspection, inspection_page
from matching.output.inspection import format_differences, inspect
from matching.output.json_text import json_text
from matching.output.words import NOTHING, UNKNOWN, count, explain_nothing, format_place
from matching.pictures.encoding import encode_jpeg
from matching.pictures.formats import find_given
from matching.pictures.names import exists, make_absolute, make_relative
from matching.searches.source import ImageSource

HEADER = ("copies", "alike", "parts", "matches", "score", "how sure", "turn", "scale", "share", "complete")
COLUMNS = "{:>6}  {:>5}  {:>5}  {:>7}  {:>5}  {:<10}  {:>13}  {:>5}  {:>5}  {:>8}"


@dataclass(frozen=True)
class Outcome:
    """The result of matching one picture, or the reason why there is none."""

    path: Path
    inspected: Inspected  # its entry in the page, with the error if it can't be used
    folder: Path | None = None  # of its results
    result: Result | None = None


def match_many(arguments: Namespace) -> int:
    """Match the first picture with each other one that can be used, and print a line when each is done."""
    refuse(arguments, ("mask1", "explain"), "is not for many pictures")
    thing, *others = arguments.images
    paths = _find_pictures(others, thing)
    base = arguments.out or Path()
    overview = base / f"{thing.stem}-overview.html" if arguments.html or arguments.open else None
    check_folder(base)
    if overview is not None:
        for page in _list_pages(overview):
            check_page(page, "--out")
    config = make_config(arguments)  # which checks the settings before the picture is read
    (picture,) = read_pictures([thing], [arguments.mask0])
    tell = make_teller(arguments)
    tell(f"{thing}: {picture.width} x {picture.height}")
    source = ImageSource(picture, config)
    names = dict(zip(paths, map(_format_name, make_relative(paths)), strict=True))
    outcomes, width = [], max(len("picture"), *map(len, names.values()))
    explained: set[str] = set()  # reasons of the first picture appear once
    if not arguments.json:
        print(_format_line("picture", HEADER, width), flush=True)
    for path in paths:
        outcome = _match(arguments, source, path, base, names[path])
        outcomes.append(outcome)
        if outcome.result is None:
            print(f"gdl-match: error: {outcome.inspected.error}", file=sys.stderr)
        if not arguments.json:
            print(_describe_outcome(outcome, names[path], width), flush=True)
        reasons = explain_nothing(outcome.result, (thing, path)) if outcome.result is not None else []
        for reason in (r for r in reasons if r not in explained):
            tell(reason)
        explained.update(reasons)
    if arguments.json:
        print(_format_json(outcomes))
    else:
        n_folders = sum(outcome.folder is not None for outcome in outcomes)
        tell(f"{count(n_folders, 'folder')} of results written to {base.absolute()}")
    if overview is not None:
        _write_overview(overview, source, outcomes)
        tell(f"page of inspection: {overview}")
        if arguments.open:
            open_report(overview)
    is_found = any(o.result and o.result.objects for o in outcomes)
    if arguments.fail_if_different:
        verdicts = {o.inspected.name: o.inspected.verdict for o in outcomes if o.inspected.verdict}
        is_found = not list_different(arguments, verdicts)
    is_inspection = arguments.fail_if_different or overview is not None  # of which no picture may be missing
    if any(o.result is None for o in outcomes) and (is_inspection or not is_found):
        return BAD_INPUT
    return FOUND if is_found else NONE_FOUND


def _list_pages(page: Path) -> tuple[Path, Path, Path]:
    """The page of inspection, and the files beside it: the golden picture, and the table of what differs."""
    return page, page.with_suffix(".jpg"), page.with_name("differences.csv")


def _write_overview(path: Path, golden: ImageSource, outcomes: Sequence[Outcome]) -> None:
    shown = draw_golden(golden.picture)
    page, picture, table = _list_pages(path)
    write_whole(picture, encode_jpeg(Image.fromarray(shown), comment=PICTURE_MARK))
    verdicts = [(str(o.path), o.inspected.verdict) for o in outcomes if o.inspected.verdict]
    write_whole(table, format_differences(verdicts))
    name = _format_name(str(golden.picture.path and golden.picture.path.name))
    write_page(page, inspection_page(name, (quote(picture.name), shown), (o.inspected for o in outcomes)))


def _match(arguments: Namespace, thing: ImageSource, path: Path, base: Path, name: str) -> Outcome:
    """Match one picture, and write the results."""
    given, options = arguments.images[0], output_options(arguments)
    try:
        inputs = make_absolute(given), make_absolute(path)
        folder = choose_folder(base / name_pair_folder(given, path), inputs)
        check_output(folder, arguments, (given, path))
        (picture,) = read_pictures([path])
        with report_work(arguments):
            result = match_pair(thing, ImageSource(picture, thing.config), find_method(arguments))
        check_formats(options["exports"], (thing.picture, picture))
        pair, verdict = (thing.picture, picture), inspect(result)
        drawn, shown = draw_inspection(*pair, result, verdict) if options["html"] else ({}, {})
        write_results(folder, pair, result, inputs=inputs, others=drawn, **options)
    except InputError as error:
        return Outcome(path, Inspected(name, str(error)))
    address = quote(folder.relative_to(base).as_posix())
    return Outcome(path, Inspected(name, verdict=verdict, folder=address, **shown), folder, result)


def _find_pictures(given: list[Path], thing: Path) -> list[Path]:
    """List the given pictures and those in given folders, each once, except the thing itself."""
    for path in (path for path in given if not exists(path)):
        raise InputError(f"{path}: no such file")
    found = {make_absolute(path): path for path in find_given(given)}
    paths = [path for name, path in found.items() if path in given or name != make_absolute(thing)]
    if not paths:
        raise InputError(f"{given[0]}: the folder has no pictures other than {thing}")
    return paths


def _describe_outcome(outcome: Outcome, name: str, width: int) -> str:
    """Format the line about a picture: how often it shows the thing, and numbers of its best object."""
    if outcome.result is None:
        return f"{name:<{width}}  can't be used"
    if not outcome.result.objects:
        return f"{name:<{width}}  {NOTHING}"
    # which shows the most of the first picture: a whole product rather than its logo
    objects = outcome.result.objects
    found = max(objects, key=lambda o: (o.is_whole, getattr(o.motion, "share", None) or 0.0, o.score))
    counted = count_copies(objects)
    counts = map(len, (counted.copies, counted.alike, counted.parts))
    numbers = found.n_matches, f"{found.score:.2f}", found.confidence or UNKNOWN
    return _format_line(name, (*counts, *numbers, *format_place(found)[2:]), width)


def _format_line(name: str, cells: Sequence[str | int], width: int) -> str:
    return f"{name:<{width}}  {COLUMNS.format(*cells)}".rstrip()


def _format_name(path: Path | str) -> str:
    return make_printable(str(path)) or UNKNOWN


def _format_json(outcomes: list[Outcome]) -> str:
    """Write all results as one document: for each picture its matches.json, or why there is none."""
    entries: list[dict[str, Any]] = []
    for o in outcomes:
        entry = {"error": o.inspected.error}
        if o.folder is not None:
            entry = {"folder": str(o.folder), **json.loads((o.folder / MANIFEST).read_text("utf-8"))}
        entries.append({"picture": str(o.path), **entry})
    return json_text({"results": entries})
