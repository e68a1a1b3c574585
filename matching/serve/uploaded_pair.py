"""The match of one pair of uploads."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.files import write_results
from matching.output.html.pair import draw_all_warps, write_pair_report
from matching.output.words import describe_result
from matching.pictures.images import read_picture
from matching.pipeline import Clock, match_pictures
from matching.serve.jobs import STAGES

WARPED = 8  # objects that the report lays over each other: a second each


def match_uploads(tell: Callable[..., None], folder: str, names: list[str]) -> dict[str, str | None]:
    """Match folder/upload0 and upload1, which are deleted; the results are in the folder afterwards.

    Parameters
    ----------
    tell : callable
        Called as tell(stage=n) when the n-th of STAGES has ended.
    folder : str
    names : list of str
        What the pictures are called.

    Returns
    -------
    dict
        "told", what was found in a few words, and "error", why it can't be done; one of them is None.
    """
    uploads = [Path(folder) / f"upload{k}" for k in range(2)]
    try:
        clock = Clock(lambda _, n_done, __: tell(stage=n_done), STAGES)
        return {"told": _match(clock, uploads, names), "error": None}
    except InputError as error:
        reason = str(error)
        for path, name in zip(uploads, names, strict=True):
            reason = reason.replace(str(path), name)
        return {"told": None, "error": " ".join(reason.replace(f"{Path(folder)}{os.sep}", "").split())}


def _match(clock: Clock, uploads: list[Path], names: list[str]) -> str:
    try:
        pictures = [read_picture(path) for path in uploads]
    finally:
        for path in uploads:
            path.unlink(missing_ok=True)
    picture0, picture1 = (replace(p, path=Path(name)) for p, name in zip(pictures, names, strict=True))
    pictures = [picture0, picture1]
    clock.lap("read")
    config = MatchConfig()
    result = match_pictures(picture0, picture1, config, clock=clock)
    folder = uploads[0].parent
    write_results(folder, pictures, result, config)
    warps = draw_all_warps(pictures, result, WARPED)
    write_pair_report(folder / "matches.html", pictures, result, warps)
    clock.lap("files")
    return describe_result(result)
