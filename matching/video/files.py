"""The files of a search for a thing in a video: matches.json and the contact sheet."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from matching._version import __version__
from matching.core.result import MatchResult
from matching.output.files import COORDINATES, encode_manifest, summarise
from matching.output.folders import MANIFEST, Content, write_files
from matching.output.provenance import machine, programs
from matching.pictures.encoding import encode_jpeg
from matching.video.search import Appearance, VideoResult
from matching.video.sheet import draw_contact_sheet

SHEET_NAME = "contact-sheet.jpg"
FILE_NAMES = {MANIFEST, SHEET_NAME}


def write_video_results(
    folder: Path, result: VideoResult, names: tuple[str | None, str | None], *, sheet: bool = True
) -> None:
    """Write matches.json and, if the thing is seen, contact-sheet.jpg: both, or, on an error, neither."""

    def files() -> Iterator[tuple[str, Content]]:
        if sheet and result.appearances:
            yield SHEET_NAME, encode_jpeg(Image.fromarray(draw_contact_sheet(result)))

    def manifest(digests: dict[str, Any]) -> bytes:
        summary = summarise_video(result, names) | {"inputs": list(names)}
        return encode_manifest(summary, digests)

    write_files(folder, files(), manifest)


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
