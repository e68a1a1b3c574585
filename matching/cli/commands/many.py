"""`gdl-match BOX SCENE SCENE ...`: finds one thing in many pictures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from matching.cli.arguments import make_config, refuse
from matching.cli.compiling import report_compiling
from matching.cli.console import (
    make_printable,
    make_teller,
    open_report,
    print_short_warnings,
    read_pictures,
)
from matching.cli.destination import check_output, name_pair_folder, output_options
from matching.cli.exits import BAD_INPUT, FOUND, NONE_FOUND, Guard
from matching.errors import InputError
from matching.output.folders import MANIFEST, check_folder, choose_folder, is_own_page
from matching.output.words import NOTHING, UNKNOWN, explain_nothing, format_place
from matching.pictures.names import is_file, is_folder, make_absolute, make_relative

if TYPE_CHECKING:
    from matching.objects.description import MatchedObject
    from matching.output.html.overview import Shot
    from matching.pictures.images import Picture
    from matching.pipelines.pair import FindClusters
    from matching.result import MatchResult

HEADER = ("copies", "parts", "matches", "score", "how sure", "turn", "scale", "share", "complete")
COLUMNS = dict(zip(HEADER, (6, 5, 7, 5, 10, 13, 5, 5, 8), strict=True))  # columns and their widths


@dataclass(frozen=True)
class Outcome:
    """The outcome of one picture."""

    path: Path
    folder: Path | None = None  # folder of its results; None if the picture can't be used
    result: MatchResult | None = None
    error: str | None = None
    shot: Shot | None = None  # its entry in the overview


def match_many(arguments: argparse.Namespace, rivals: Mapping[str, FindClusters], guard: Guard) -> int:
    """Match the first picture with each other one that can be used, and print a line when each is done."""
    with guard():
        refuse(arguments, ("mask1",), "is only for two pictures, not for many")
        refuse(arguments, ("explain",), "is only for one or two pictures, not for many")
        thing, *others = arguments.images
        paths = _find_pictures(others, thing)
        base = arguments.out if arguments.out is not None else Path()
        check_folder(base)
        overview = base / f"{thing.stem}-overview.html" if arguments.html or arguments.open else None
        if overview is not None and overview.exists() and not is_own_page(overview):
            raise InputError(f"{overview}: was not written by gdl-match; choose another --out, or remove it")
        search = _Search(arguments, rivals, thing, base, guard)
    explained: set[str] = set()
    names = dict(zip(paths, map(_format_name, make_relative(paths)), strict=True))
    outcomes, width = [], max(len("picture"), *map(len, names.values()))
    tell = make_teller(arguments)
    if len(folder := str(paths[0]).removesuffix(names[paths[0]])) < len(str(paths[0])) and folder:
        tell(f"pictures in {make_printable(folder)}")
    if not arguments.json:
        print(_format_line("picture", HEADER, width), flush=True)
    for path in paths:
        outcome = search.match(path)
        outcomes.append(outcome)
        if outcome.error is not None:
            print(f"gdl-match: error: {outcome.error}", file=sys.stderr)
        if not arguments.json:
            print(_describe_outcome(outcome, names[path], width), flush=True)
        if outcome.result is not None:
            reasons = explain_nothing(outcome.result, (thing, path))
            for reason in (r for r in reasons if r not in explained):
                tell(reason)
            explained.update(reasons)  # reasons of the first picture appear once
    if arguments.json:
        print(_format_json(outcomes))
    else:
        tell(_describe_written(outcomes, base))
    if overview is not None:
        _write_overview(overview, thing, outcomes, names)
        tell(f"overview: {overview}")
    if arguments.open and overview is not None:
        open_report(overview)
    if any(o.result and o.result.objects for o in outcomes):
        return FOUND
    return BAD_INPUT if any(o.error is not None for o in outcomes) else NONE_FOUND


def _write_overview(path: Path, thing: Path, outcomes: Sequence[Outcome], names: Mapping[Path, str]) -> None:
    from matching.output.folders import write_whole
    from matching.output.html.overview import overview_page

    shots = [replace(o.shot, name=names[o.path]) for o in outcomes if o.shot is not None]
    failed = [(names[o.path], o.error) for o in outcomes if o.error is not None]
    page = overview_page(_format_name(thing.name), shots, failed)
    write_whole(path, page.encode("utf-8", "backslashreplace"))


def choose_best_object(result: MatchResult) -> MatchedObject:
    """Choose the object that shows the most of the first picture: a whole product rather than its logo."""
    return max(result.objects, key=lambda found: (found.is_whole, _share(found), found.score))


def _share(found: MatchedObject) -> float:
    return (found.motion.share or 0.0) if found.motion else 0.0


class _Search:
    """One thing that is described once and matched with many pictures."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        rivals: Mapping[str, FindClusters],
        thing: Path,
        base: Path,
        guard: Guard,
    ) -> None:
        self.arguments, self.thing, self.base, self.guard = arguments, thing, base, guard
        self.tell = make_teller(arguments)
        (self.picture,) = read_pictures([thing], [arguments.mask0])
        self.tell(f"{thing}: {self.picture.width} x {self.picture.height}")
        from matching.pipelines.pair import label_by
        from matching.pipelines.searching import Search

        config, rival = make_config(arguments), rivals.get(arguments.method)
        with report_compiling(self.tell):
            self.search = Search(self.picture, config, None if rival is None else label_by(rival))

    def match(self, path: Path) -> Outcome:
        """Match one picture and write the results."""
        from matching.output.files import write_results

        try:
            with self.guard():
                inputs = make_absolute(self.thing), make_absolute(path)
                folder = choose_folder(self.base / name_pair_folder(self.thing, path), inputs)
                check_output(folder, self.arguments, (self.thing, path))
                (picture,) = read_pictures([path])
                with print_short_warnings(), report_compiling(self.tell):
                    result = self.search.match(picture)
            options = output_options(self.arguments)
            if options["exports"]:
                from matching.output.exchange import check_formats

                check_formats(options["exports"], (self.picture, picture))
            write_results(folder, (self.picture, picture), result, inputs=inputs, **options)
        except InputError as error:
            return Outcome(path, error=str(error))
        return Outcome(path, folder, result, shot=self._shot(path, folder, picture, result))

    def _shot(self, path: Path, folder: Path, picture: Picture, result: MatchResult) -> Shot | None:
        if not (self.arguments.html or self.arguments.open):
            return None
        from matching.output.html.overview import make_shot

        report = quote((folder.relative_to(self.base) / "matches.html").as_posix())
        return make_shot(path.name, report, picture, result)


def _find_pictures(given: list[Path], thing: Path) -> list[Path]:
    """List the given pictures and those in given folders, each once, except the thing itself."""
    from matching.collection.plan import find_pictures

    paths: dict[str, Path] = {}
    for path in given:
        if is_folder(path):
            found = {make_absolute(p): p for p in find_pictures(path)}
            paths |= {name: p for name, p in found.items() if name != make_absolute(thing)}
        elif is_file(path):
            paths[make_absolute(path)] = path
        else:
            raise InputError(f"{path}: no such file")
    if not paths:
        raise InputError(f"{given[0]}: the folder has no pictures other than {thing}")
    return list(paths.values())


def _describe_outcome(outcome: Outcome, name: str, width: int) -> str:
    """The line about one picture: how often it shows the thing, and the columns of its best object."""
    from matching.objects.copies import count_copies

    if outcome.result is None:
        return f"{name:<{width}}  can't be used"
    if not outcome.result.objects:
        return f"{name:<{width}}  {NOTHING}"
    found = choose_best_object(outcome.result)
    counted = count_copies(outcome.result.objects)
    numbers = str(len(counted.copies)), str(len(counted.parts)), str(found.n_matches), f"{found.score:.2f}"
    cells = *numbers, found.confidence or UNKNOWN, *format_place(found)[2:]
    return _format_line(name, cells, width)


def _describe_written(outcomes: list[Outcome], base: Path) -> str:
    folders = [outcome.folder for outcome in outcomes if outcome.folder is not None]
    if not folders:
        return "nothing written"
    if len(folders) == 1:
        return f"written to {folders[0]}"
    parent = base if base.parts else base.absolute()
    return f"written to {len(folders)} folders in {parent}: {folders[0].name} to {folders[-1].name}"


def _format_line(name: str, cells: Sequence[str], width: int) -> str:
    columns = zip(COLUMNS.items(), cells, strict=True)
    aligned = (f"{cell:{'<' if name == 'how sure' else '>'}{n}}" for (name, n), cell in columns)
    return "  ".join([f"{name:<{width}}", *aligned]).rstrip()


def _format_name(path: Path | str) -> str:
    return make_printable(str(path)) or UNKNOWN


def _format_json(outcomes: list[Outcome]) -> str:
    """All results as one document: for each picture its matches.json, or the reason why there is none."""
    import json

    from matching.output.json_text import json_text

    entries: list[dict[str, Any]] = []
    for o in outcomes:
        entries.append({"picture": str(o.path)})
        if o.folder is None:
            entries[-1]["error"] = o.error
        else:
            entries[-1] |= {"folder": str(o.folder), **json.loads((o.folder / MANIFEST).read_text("utf-8"))}
    return json_text({"results": entries})
