"""The match of one pair of uploads."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.files import write_results
from matching.output.html.pair import draw_all_warps, write_pair_report
from matching.output.words import describe_result, may_look_harder
from matching.pictures.images import read_picture
from matching.pipelines.clock import Clock
from matching.pipelines.pair import match_pictures
from matching.result import MatchResult
from matching.serve.jobs import STAGES

WARPED = 8  # objects that the report lays over each other: a second each


def match_uploads(
    tell: Callable[..., None], folder: str, names: list[str], views: bool = False
) -> dict[str, str | bool | None]:
    """Match folder/upload0 and upload1, which are deleted; the results are in the folder afterwards."""
    uploads = [Path(folder) / f"upload{k}" for k in range(2)]
    try:
        clock = Clock(lambda _, n_done, __: tell(stage=n_done), STAGES)
        result = _match(clock, uploads, names, MatchConfig(view_synthesis=views))
        return {"told": describe_result(result), "error": None, "look_harder": may_look_harder(result)}
    except InputError as error:
        reason = str(error)
        for path, name in zip(uploads, names, strict=True):
            reason = reason.replace(str(path), name)
        reason = " ".join(reason.replace(f"{Path(folder)}{os.sep}", "").split())
        return {"told": None, "error": reason, "look_harder": False}


def _match(clock: Clock, uploads: list[Path], names: list[str], config: MatchConfig) -> MatchResult:
    try:
        pictures = [read_picture(path) for path in uploads]
    finally:
        for path in uploads:
            path.unlink(missing_ok=True)
    picture0, picture1 = (replace(p, path=Path(name)) for p, name in zip(pictures, names, strict=True))
    pictures = [picture0, picture1]
    clock.lap("read")
    result = match_pictures(picture0, picture1, config, clock=clock)
    folder = uploads[0].parent
    write_results(folder, pictures, result, config)
    warps = draw_all_warps(pictures, result, WARPED)
    write_pair_report(folder / "matches.html", pictures, result, warps)
    clock.lap("files")
    return result
