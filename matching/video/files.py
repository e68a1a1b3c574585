"""The files of a search for a thing in a video: matches.json, and a page with cuts of its frames."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from matching._version import __version__
from matching.output.files import COORDINATES, count_digits, summarise_object
from matching.output.folders import MANIFEST, write_files
from matching.output.html.hits import Hit, hits_page, make_hits
from matching.output.provenance import machine, programs
from matching.output.words import name_picture
from matching.video.search import VideoResult

PAGE_NAME = "hits.html"
FILE_NAMES = {MANIFEST, PAGE_NAME}


def write_video_results(
    folder: Path,
    result: VideoResult,
    names: tuple[str, str],
    *,
    page: bool = True,
) -> None:
    """Write matches.json and the page hits.html: both, or, on an error, neither."""
    files = {PAGE_NAME: make_page(result, names).encode("utf-8", "backslashreplace")} if page else {}
    write_files(folder, files.items(), summarise_video(result, names) | {"inputs": list(names)})


def summarise_video(result: VideoResult, names: tuple[str, str]) -> dict[str, Any]:
    """Make the content of matches.json, without the list of files."""
    pictures = zip(names, (result.thing, result.size), strict=True)
    digits = count_digits([found for sighting in result.sightings for found in sighting.objects])
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
        "appearances": [
            {
                "begin": round(found.begin, 3),
                "end": round(found.end, 3),
                "frames": [sighting.frame for sighting in found.sightings],
                "best": found.best.frame,
            }
            for found in result.appearances
        ],
        "objects": [
            {
                "frame": sighting.frame,
                "seconds": round(sighting.seconds, 3),
                **summarise_object(found, digits),
            }
            for sighting in result.sightings
            for found in sighting.objects
        ],
        "programs": programs(),
        "machine": machine(),
        "parameters": asdict(result.config),
    }


def make_page(result: VideoResult, names: tuple[str, str]) -> str:
    """Make the page of hits: the thing in the best frame of each appearance."""
    thing, video = map(name_picture, names)
    hits: list[Hit] = []
    for found in result.appearances:
        begin, end = format_time(found.begin), format_time(found.end)
        where = begin if begin == end else f"{begin} to {end} (here {format_time(found.best.seconds)})"
        hits += make_hits(thing, where, found.picture, found.best.objects, size=result.size)
    return hits_page(f"{thing} in {video}", hits, unit="appearance")


def format_time(seconds: float) -> str:
    """Write a time in a video as minutes and seconds, with hours if needed."""
    tenths = round(seconds * 10)
    minutes, rest = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest // 10:02d}.{rest % 10}"
    return f"{hours}:{minutes:02d}:{text}" if hours else f"{minutes}:{text}"
