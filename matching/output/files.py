"""The content of the result files. Each is written under another name, and renamed when complete."""

import io
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.arrays import find_box
from matching._version import __version__
from matching.drivers.result import Result, object_deformation
from matching.objects.copies import count_copies
from matching.objects.deformation import Deformation, SmoothMap
from matching.objects.description import MatchedObject
from matching.objects.frames import Motion
from matching.output.export_formats import FORMATS, export_matches
from matching.output.figures.drawing import draw_result
from matching.output.figures.warping import crop_files, draw_picks, draw_warps
from matching.output.folders import Content, check_folder, write_files
from matching.output.provenance import machine, programs
from matching.output.words import count_dropped
from matching.pictures.images import NamedImage, Picture

COORDINATES = (
    "pixels of the original image as displayed (EXIF rotation applied), x to the right, y down,"
    " (0, 0) the centre of the top-left pixel"
)


def make_folder(path: str | Path) -> Path:
    """Make the folder for the results if it is missing, and check that it can be written."""
    path = check_folder(Path(path))
    path.mkdir(parents=True, exist_ok=True)
    return path


def list_file_names(*, figure: bool, html: bool, exports: tuple[str, ...]) -> set[str]:
    """List the names of the files that `write_results` writes, except those of single objects."""
    optional = {"matches.png": figure, "matches.html": html}
    exported = {name for export in exports for name in FORMATS[export].files}
    return {"matches.json", "matches.npz", *exported, *(name for name, on in optional.items() if on)}


def write_results(
    folder: Path,
    pictures: Sequence[Picture | NamedImage],
    result: Result,
    *,
    figure: bool = True,
    warp: bool = False,
    crops: bool = False,
    html: bool = False,
    exports: tuple[str, ...] = (),
    explain: bool = False,
    inputs: Sequence[str] | None = None,
    others: Mapping[str, Content] | None = None,
    coordinates: str = COORDINATES,
) -> None:
    """Write all results of a run into a folder, or none of them, in place of an earlier run's files.

    Pictures that were not read allow no files but matches.npz, matches.json, and matches.png of the points.
    """
    read = [picture for picture in pictures if isinstance(picture, Picture)]
    warped = result.objects if warp else ()
    deformations = {found.id: object_deformation(result, found.id) for found in warped}

    def files() -> Iterator[tuple[str, Content]]:
        yield "matches.npz", encode_npz(result)
        yield from (others or {}).items()
        if figure:
            drawn = draw_result(pictures[0], pictures[1], result, explain=explain)
            yield "matches.png", opencv.encode_png(drawn)
        for found in warped:  # one after another: all drawings together need much memory
            drawings = draw_warps(read[0], read[1], found, deformations[found.id])
            picks = draw_picks(read[0].displayed, read[1].displayed, result, found)
            for name, rgb in {f"object{found.id}-picks": picks, **drawings}.items():
                yield f"{name}.png", opencv.encode_png(rgb)
        if crops:
            yield from crop_files(read, result.objects)
        for name in exports:
            yield from export_matches(name, read, result).items()
        if html:
            from matching.output.html.pair import pair_report

            yield "matches.html", pair_report(read, result).encode("utf-8", "backslashreplace")

    summary = summarise(pictures, result, deformations) | {"coordinates": coordinates}
    summary |= {} if inputs is None else {"inputs": list(inputs)}
    write_files(folder, files(), summary)


def encode_npz(result: Result) -> bytes:
    """Make the content of matches.npz; equal results give equal bytes (no time stamps)."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(getattr(result, name)) for name in ("xy0", "xy1", "score")}
    np.savez_compressed(buffer, **arrays, cluster=result.cluster.astype(np.int64))
    return buffer.getvalue()


def encode_zip(files: Mapping[str, bytes]) -> bytes:
    """Make a zip archive of files, without time stamps."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def summarise(
    pictures: Sequence[Picture | NamedImage],
    result: Result,
    deformations: Mapping[int, Deformation] | None = None,
) -> dict[str, Any]:
    """Make the content of matches.json except the list of files, settings last."""
    digits = count_digits(result.objects)
    return {
        "version": __version__,
        "images": [
            {"path": None if p.path is None else str(p.path), "width": p.width, "height": p.height}
            for p in pictures
        ],
        "coordinates": COORDINATES,
        "matched_at": _round(result.matched_at, 3),
        "negative": result.negative,
        "candidates": len(result.cluster),
        "objects": [
            summarise_object(found, digits, (deformations or {}).get(found.id)) for found in result.objects
        ],
        "rejected": [
            {
                "stage": item.step,
                "reason": item.reason,
                "text": item.text,
                "measure": None if item.measure == math.inf else item.measure,
                "bound": item.bound,
                "n_matches": item.n_matches,
                **{f"centre{k}": _round(centre, digits) for k, centre in enumerate(item.centres)},
                **{
                    f"box{k}": _round(find_box(xy).ravel(), digits)
                    for k, xy in enumerate((item.points0, item.points1))
                },
            }
            for item in result.rejected
        ],
        "dropped_by": count_dropped(result),
        "things": [
            {
                "thing": thing.number,
                "objects": list(thing.objects),
                "places": [np.round(place, digits).tolist() for place in thing.places],
                "periodic": thing.periodic,
                "joined": thing.joined,
                "alike": thing.alike,
            }
            for thing in result.things
        ],
        "copies": _summarise_copies(result),
        "only": {str(k): [_round(one, digits) for one in only] for k, only in enumerate(result.only)},
        "seconds": {step: round(seconds, 4) for step, seconds in result.timings.items()},
        "programs": programs(),
        "machine": machine(),
        "parameters": None if result.config is None else asdict(result.config),
    }


def summarise_object(
    found: MatchedObject, digits: int = 2, deformation: Deformation | None = None
) -> dict[str, Any]:
    """List all that is known of an object, with its pixels rounded to some decimal places."""
    covariance, measured, smallest = found.transform_covariance, found.completeness, found.smallest_difference
    return {
        "id": found.id,
        "matches": found.n_matches,
        "n_matches": found.n_matches,
        "score": round(found.score, 4),
        "log10_nfa": _round(found.log_nfa, 2),
        "confidence": found.confidence,
        "caution": found.caution,
        "transform": found.transform.tolist(),
        "transform_kind": found.transform_kind,
        "transform_error": round(found.transform_error, digits + 2),
        "transform_covariance": None if covariance is None else covariance.tolist(),
        "inlier_share": _round(found.inlier_share, 4),
        "outline0": _round(found.outline0, digits),
        "outline1": _round(found.outline1, digits),
        "frame1": _round(found.frame1, digits),
        "motion": _summarise_motion(found.motion, digits),
        "thing": found.thing,
        "completeness": None if measured is None else round(measured.value, 4),
        "evidence": None
        if measured is None
        else {
            "whole": measured.is_whole,
            "visible": round(measured.visible, 4),
            "print": round(measured.print_share, 4),
            "colours": round(measured.colour_share, 4),
        },
        "same": found.is_same,
        "differences": [
            {
                "polygon0": _round(one.polygon0, digits),
                "polygon1": _round(one.polygon1, digits),
                "share": round(one.share, 4),
                "evidence": round(one.evidence, 1),
                "size": round(one.size, digits),
            }
            for one in found.differences
        ],
        "smallest_difference": None if math.isinf(smallest) else round(smallest, digits),
        "appearance": list(found.appearance),
        **_summarise_deformation(deformation),
    }


def count_digits(objects: Sequence[MatchedObject]) -> int:
    """Find the number of decimal places: two for pixels, more if the unit of given matches is larger."""
    sizes = [np.ptp(outline, axis=0).max() for o in objects for outline in (o.outline0, o.outline1)]
    smallest = min((size for size in sizes if size > 0), default=1000.0)
    return max(2, 3 - math.floor(math.log10(smallest)))


def _round(value: Any, digits: int) -> Any:
    """Round a number, a sequence of numbers or an array for JSON; None stays."""
    if isinstance(value, np.ndarray):
        return np.round(value, digits).tolist()
    if isinstance(value, tuple):
        return [round(number, digits) for number in value]
    return None if value is None else round(value, digits)


def _summarise_motion(motion: Motion | None, digits: int) -> dict[str, Any] | None:
    if motion is None:
        return None
    return {
        "words": motion.words,
        "centre": _round(motion.centre, digits),
        "turn": round(motion.turn, 2),
        "scale": round(motion.scale, 4),
        "mirrored": motion.mirrored,
        "share": _round(motion.share, 4),
        "share1": _round(motion.share1, 4),
        "shift": _round(motion.shift, digits),
    }


def _summarise_copies(result: Result) -> dict[str, Any] | None:
    """List the objects of each copy of picture 0, and of each other place; None if that was not measured."""
    if not any(found.completeness for found in result.objects):
        return None
    found = count_copies(result.objects)
    kinds = {"whole": found.copies, "alike": found.alike, "part": found.parts}
    return {kind: [list(ids) for ids in places] for kind, places in kinds.items()}


def _summarise_deformation(deformation: Deformation | None) -> dict[str, Any]:
    if deformation is None:
        return {}
    summary = {}
    for name in ("forward", "backward"):
        fitted: SmoothMap = getattr(deformation, name)
        smoothing = round(fitted.smoothing, 2) if math.isfinite(fitted.smoothing) else None
        errors = {"hold_out_error": round(fitted.error, 4), "transform_error": round(fitted.base_error, 4)}
        summary[name] = {"smoothing": smoothing, **errors}
    return {"deformation": summary}
