"""The files of a search for a thing in a video: matches.json and the contact sheet.

The contact sheet shows the best frame of each appearance, with outlines and times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from matching._common import opencv
from matching._common.types import Bytes
from matching._version import __version__
from matching.core.result import MatchResult
from matching.output.figures.drawing import choose_frame, colour, draw_difference, zoom
from matching.output.figures.lettering import add_caption
from matching.output.files import COORDINATES, summarise
from matching.output.folders import MANIFEST, Content, write_files
from matching.output.provenance import machine, programs
from matching.pictures.encoding import encode_jpeg
from matching.video.search import PICTURE_WIDTH, Appearance, VideoResult

SHEET_NAME = "contact-sheet.jpg"
FILE_NAMES = {MANIFEST, SHEET_NAME}
MAX_PICTURES = 60  # on a sheet
N_COLUMNS = 4
GAP = 8  # pixels around each picture
FONT_SIZE = 15.0  # pixels


def write_video_results(
    folder: Path, result: VideoResult, names: tuple[str | None, str | None], *, sheet: bool = True
) -> None:
    """Write matches.json and, if the thing is seen, contact-sheet.jpg: both, or, on an error, neither."""

    def files() -> Iterator[tuple[str, Content]]:
        if sheet and result.appearances:
            yield SHEET_NAME, encode_jpeg(Image.fromarray(draw_contact_sheet(result)))

    write_files(folder, files(), summarise_video(result, names) | {"inputs": list(names)})


def summarise_video(result: VideoResult, names: tuple[str | None, str | None]) -> dict[str, Any]:
    """Make the content of matches.json, without the list of files."""
    pictures = zip(names, (result.thing, result.size), strict=True)
    none = np.empty((0, 2)), np.empty((0, 2)), np.empty(0, np.int64), np.empty(0)
    return {
        "version": __version__,
        "images": [{"path": name, "width": width, "height": height} for name, (width, height) in pictures],
        "coordinates": COORDINATES,
        "video": {
            "frames": result.n_frames,
            "seconds": round(result.seconds, 3),
            "every": result.every,
            "looked_at": result.n_looked_at,
            "ends_early": result.ends_early,
        },
        "appearances": [_summarise_appearance(found) for found in result.appearances],
        "objects": [
            {"frame": sighting.frame, "seconds": round(sighting.seconds, 3), **summary}
            for sighting in result.sightings
            for summary in summarise([], MatchResult(*none, sighting.objects))["objects"]
        ],
        "programs": programs(),
        "machine": machine(),
        "parameters": asdict(result.config),
    }


def _summarise_appearance(found: Appearance) -> dict[str, Any]:
    return {
        "begin": round(found.begin, 3),
        "end": round(found.end, 3),
        "frames": [sighting.frame for sighting in found.sightings],
        "best": found.best.frame,
    }


def draw_contact_sheet(result: VideoResult) -> Bytes:
    """Draw the contact sheet of a video that shows the thing -> (h, w, 3) uint8."""
    chosen = _choose(result.appearances)
    return lay_out_sheet([_draw(found, result) for found in chosen], [_caption(found) for found in chosen])


def format_time(seconds: float) -> str:
    """Write a time in a video as minutes and seconds, with hours if needed."""
    tenths = round(seconds * 10)
    minutes, rest = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest // 10:02d}.{rest % 10}"
    return f"{hours}:{minutes:02d}:{text}" if hours else f"{minutes}:{text}"


def _choose(appearances: Sequence[Appearance]) -> list[Appearance]:
    best = sorted(appearances, key=lambda found: -found.best.score)[:MAX_PICTURES]
    return sorted(best, key=lambda found: found.begin)


def _draw(appearance: Appearance, result: VideoResult) -> Bytes:
    """Draw the best frame of an appearance with its outlines -> (h, PICTURE_WIDTH, 3)."""
    canvas = opencv.resize(appearance.picture, PICTURE_WIDTH / appearance.picture.shape[1]).copy()
    factors = np.array(canvas.shape[1::-1]) / result.size
    for found in appearance.best.objects:
        frame = choose_frame(found)
        outline = found.outline1 if frame is None else frame
        opencv.draw_polygon(canvas, zoom(outline, factors), colour(found.id), 2)
        for one in found.differences:
            draw_difference(canvas, zoom(one.polygon1, factors), 0.5)
    return canvas


def _caption(appearance: Appearance) -> str:
    begin, end, best = (
        format_time(seconds) for seconds in (appearance.begin, appearance.end, appearance.best.seconds)
    )
    return begin if begin == end else f"{begin} to {end} (here {best})"


def lay_out_sheet(pictures: Sequence[Bytes], captions: Sequence[str]) -> Bytes:
    """Lay out pictures (h, w, 3) uint8 with their captions -> (h, w, 3) uint8."""
    cells = [add_caption(rgb, [text], FONT_SIZE) for rgb, text in zip(pictures, captions, strict=True)]
    n_columns = min(N_COLUMNS, len(cells))
    n_rows = -(-len(cells) // n_columns)
    height, width = max(map(len, cells)), cells[0].shape[1]
    sheet = np.full((n_rows * (height + 2 * GAP), n_columns * (width + GAP) + GAP, 3), 255, np.uint8)
    for k, cell in enumerate(cells):
        row, column = divmod(k, n_columns)
        y, x = GAP + row * (height + 2 * GAP), GAP + column * (width + GAP)
        sheet[y : y + len(cell), x : x + width] = cell
    return sheet
