"""The match of one upload: the objects of two pictures, or the repeated objects of one."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from matching.config import MatchConfig
from matching.errors import InputError
from matching.labels.of_result import encode_labels, label_result
from matching.output import words
from matching.output.exchange import check_formats
from matching.output.files import write_results
from matching.output.folders import write_whole
from matching.output.html.pair import draw_all_warps, write_pair_report
from matching.pictures.images import Picture, read_picture
from matching.pipelines.clock import Clock
from matching.pipelines.pair import list_stages, match_pictures
from matching.pipelines.repeats import NAMES, find_repeats_in_picture
from matching.result import MatchResult

WARPED = 8  # number of objects that the report warps: each takes a second
# What the page offers instead of options of the command. Hints at other options or Python are left out.
FIELDS = {
    "--max-matches 6000": "6000 in “Maximum candidates”",
    "masking the texture with --mask0 and --mask1": "cropping the texture out",
}
MORE = "the report below lists all groups under “Rejected matches, and why”"


def match_uploads(
    tell: Callable[..., None], folder: str, names: list[str], settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Match folder/upload0 and upload1, or find repeats in upload0; the uploads are deleted."""
    uploads = [Path(folder) / f"upload{k}" for k in range(len(names))]
    try:
        config = MatchConfig().with_settings(**(settings or {}))
        stages = (*(list_stages(config) if len(uploads) > 1 else NAMES), "files")
        clock = Clock(lambda _, n_done, n: tell(stage=[(*stages, "")[n_done], n_done, n]), stages)
        result, pictures = _match(clock, uploads, names, config)
        return {
            "told": words.describe_result(result),
            "error": None,
            "lines": _describe(result, pictures),
            "look_harder": words.may_look_harder(result) and not result.of_one,
        }
    except InputError as error:
        reason = str(error)
        for path, name in zip(uploads, names, strict=True):
            reason = reason.replace(str(path), name)
        reason = " ".join(reason.replace(f"{Path(folder)}{os.sep}", "").split())
        return {"told": None, "error": reason, "lines": [], "look_harder": False}


def _describe(result: MatchResult, pictures: list[Picture]) -> list[str]:
    """The lines of the page below the first: counts, or why nothing was found, and the matched size."""
    if result.of_one and result.things:
        lines = [words.describe_repeats(result)]
    elif result.objects:
        name = words.name_picture(pictures[0].path)
        lines = words.describe_things(result.objects, name, result.things, single=True)
    else:
        names = [picture.path for picture in pictures]
        lines = words.explain_nothing(result, names) or words.hint_at_rejected(result, _reword, MORE)
    return [*lines, *words.list_sizes(result, pictures)]


def _reword(hint: str) -> str:
    """Rephrase a hint for the page, or drop it."""
    for option, there in FIELDS.items():
        hint = hint.replace(option, there)
    return "" if "--" in hint or "in Python" in hint else hint


def _match(
    clock: Clock, uploads: list[Path], names: list[str], config: MatchConfig
) -> tuple[MatchResult, list[Picture]]:
    try:
        read = [read_picture(path) for path in uploads]
    finally:
        for path in uploads:
            path.unlink(missing_ok=True)
    pictures = [replace(p, path=Path(name)) for p, name in zip(read, names, strict=True)]
    clock.lap("read")
    first, last = pictures[0], pictures[-1]
    if len(pictures) == 1:
        result = find_repeats_in_picture(first, config, clock=clock)
    else:
        result = match_pictures(first, last, config, clock=clock)
    folder, pair = uploads[0].parent, (first, last)
    write_results(folder, pair, result, exports=_choose_exports(result, pictures))
    for name, content in encode_labels(label_result(result, pair)).items():
        write_whole(folder / name, content)
    warps = {} if result.of_one else draw_all_warps(pair, result, WARPED)
    write_pair_report(folder / "matches.html", pair, result, warps)
    clock.lap("files")
    return result, pictures


def _choose_exports(result: MatchResult, pictures: list[Picture]) -> tuple[str, ...]:
    """Choose matches as a table, and for COLMAP, which requires two pictures with different names."""
    if not result.of_one:
        with suppress(InputError):
            check_formats(("colmap",), pictures)
            return "csv", "colmap"
    return ("csv",)
