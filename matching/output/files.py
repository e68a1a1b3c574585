"""What the result files hold. They are complete or not there at all: written beside, then renamed."""

from __future__ import annotations

import io
import math
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from matching import _opencv
from matching._version import __version__
from matching.errors import InputError
from matching.output.crops import crop_files
from matching.output.drawing import draw_matches
from matching.output.folders import Content, write_files
from matching.output.json_text import json_text
from matching.output.provenance import machine, programs

if TYPE_CHECKING:
    from matching.config import MatchConfig
    from matching.pictures.images import Picture
    from matching.result import MatchResult

COORDINATES = (
    "pixels of the original image as displayed (EXIF rotation applied), x to the right, y down,"
    " (0, 0) the centre of the top-left pixel"
)


def make_folder(path):
    """The folder for the results, made if missing. Raises InputError if it can't be made or written."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the output folder can't be written ({reason})") from None
    return path


def file_names(*, figure: bool = True, html: bool = False, exports: tuple[str, ...] = ()) -> set[str]:
    """The names of the files that `write_results` writes, those of single objects aside: see FILES of
    `matching.output.warping`.
    """
    from matching.output.exchange import FILES

    optional = {"matches.png": figure, "matches.html": html}
    exported = {name for export in exports for name in FILES[export]}
    return {"matches.json", "matches.npz", *exported, *(name for name, on in optional.items() if on)}


def write_results(
    folder: Path,
    pictures: Sequence[Picture],
    result: MatchResult,
    config: MatchConfig | None,
    *,
    figure: bool = True,
    warp: bool = False,
    crops: bool = False,
    html: bool = False,
    exports: tuple[str, ...] = (),
    inputs: Sequence[str] | None = None,
    others: Mapping[str, Content] | None = None,
) -> None:
    """Write the results of a run into a folder, made if missing: all files, or none where it fails.

    What an earlier run left there is replaced or removed, as long as nobody has changed it.

    Parameters
    ----------
    folder : Path
    pictures, result, config : of the run
    figure : bool
        Whether to draw matches.png.
    warp : bool
        Whether to draw each object's matches, and the object warped onto the other picture.
    crops : bool
        Whether to cut each object out of both pictures.
    html : bool
        Whether to write the report matches.html.
    exports : of `matching.output.exchange.FORMATS`
    inputs : absolute paths of the pictures, by which `matching.output.folders.folder_for` knows the
        folder again
    others : further files, name -> content

    Raises
    ------
    InputError
        A file is in the way that no run of this program wrote, or the folder can't be written.
    """
    deformations = _deformations(result) if warp else {}

    def files():
        yield "matches.npz", npz_bytes(result)
        yield from (others or {}).items()
        if figure:
            # the drawing is no longer needed once it is a file
            yield "matches.png", _opencv.encode_png(draw_matches(*pictures, result), overwrite=True)
        warps = {}
        for number, drawings in _warps(pictures, result, deformations):
            if html:
                from matching.output.html.pair import embedded_warps

                warps[number] = embedded_warps(drawings)
            for name, rgb in drawings.items():
                yield f"{name}.png", _opencv.encode_png(rgb, overwrite=True)
        if crops:
            yield from crop_files(pictures, result.objects)
        yield from _exported(pictures, result, exports)
        if html:
            from matching.output.html import pair_report

            text = pair_report(pictures, result, warps)
            yield "matches.html", text.encode("utf-8", "backslashreplace")

    def manifest(digests):
        told = summary(pictures, result, config, deformations)
        told |= {} if inputs is None else {"inputs": list(inputs)}
        return manifest_bytes(told, digests)

    write_files(folder, files(), manifest)


def manifest_bytes(told: Mapping[str, Any], digests: Mapping[str, str]) -> bytes:
    """The content of matches.json: what is told, then the files, and the parameters last."""
    others = {name: entry for name, entry in told.items() if name != "parameters"}
    return json_text(others | {"files": digests, "parameters": told["parameters"]}).encode()


def _warps(pictures, result, deformations):
    """Number and drawings of one object after another: all together they are large."""
    for number, deformation in deformations.items():
        from matching.output.warping import draw_object

        found = next(found for found in result.objects if found.id == number)
        yield number, draw_object(*pictures, result, found, deformation)


def _exported(pictures, result, exports):
    for name in exports:
        from matching.output.exchange import exported

        yield from exported(name, pictures, result).items()


def _deformations(result):
    from matching.objects.deformation import object_deformation

    return {found.id: object_deformation(result, found.id) for found in result.objects}


def write_whole(path, data):
    """Write bytes to `path` so that it never holds a part of them."""
    part = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        try:
            with part.open("xb") as file:  # tempfile's would be for this user alone
                file.write(data)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path}: can't be written ({error.strerror})") from None


def npz_bytes(result):
    """The content of matches.npz; equal results give equal bytes (no time stamps)."""
    arrays = {
        "xy0": result.xy0.astype(np.float64),
        "xy1": result.xy1.astype(np.float64),
        "cluster": result.cluster.astype(np.int64),
        "score": result.score.astype(np.float64),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)),
                content.getvalue(),
                zipfile.ZIP_DEFLATED,
            )
    return buffer.getvalue()


def summary(pictures, result, config, deformations=None):
    """What matches.json holds, as a dictionary, settings last.

    deformations : object's id -> Deformation, told where given
    """
    return {
        "version": __version__,
        "images": [
            {"path": None if p.path is None else str(p.path), "width": p.width, "height": p.height}
            for p in pictures
        ],
        "coordinates": COORDINATES,
        "candidates": len(result.cluster),
        "objects": [
            {
                "id": o.id,
                "matches": o.n_matches,
                "score": round(o.score, 4),
                "confidence": o.confidence,
                "transform": o.transform.tolist(),
                "transform_kind": o.transform_kind,
                "transform_error": round(o.transform_error, 4),
                "outline0": np.round(o.outline0, 2).tolist(),
                "outline1": np.round(o.outline1, 2).tolist(),
                "frame1": None if o.frame1 is None else np.round(o.frame1, 2).tolist(),
                "motion": _motion_summary(o.motion),
                "thing": o.thing,
                **_deformation_summary((deformations or {}).get(o.id)),
            }
            for o in result.objects
        ],
        "things": [
            {
                "thing": thing.number,
                "objects": list(thing.objects),
                "places": [np.round(place, 2).tolist() for place in thing.places],
                "periodic": thing.periodic,
            }
            for thing in result.things
        ],
        "seconds": {stage: round(seconds, 4) for stage, seconds in result.timings.items()},
        "programs": programs(),
        "machine": machine(),
        "parameters": None if config is None else asdict(config),
    }


def _motion_summary(motion):
    if motion is None:
        return None
    return {
        "words": motion.words,
        "centre": np.round(motion.centre, 2).tolist(),
        "turn": round(motion.turn, 2),
        "scale": round(motion.scale, 4),
        "mirrored": motion.mirrored,
        "share": round(motion.share, 4),
        "share1": round(motion.share1, 4),
    }


def _deformation_summary(deformation):
    if deformation is None:
        return {}
    return {
        "deformation": {
            name: {
                "smoothing": round(m.smoothing, 2) if math.isfinite(m.smoothing) else None,
                "hold_out_error": round(m.error, 4),
                "transform_error": round(m.base_error, 4),
            }
            for name, m in (("forward", deformation.forward), ("backward", deformation.backward))
        }
    }
