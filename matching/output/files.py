"""What the result files hold. They are complete or not there at all: written beside, then renamed."""

from __future__ import annotations

import io
import json
import math
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from matching import _opencv
from matching._version import __version__
from matching.errors import InputError
from matching.output.drawing import draw_matches
from matching.output.folders import write_files
from matching.output.provenance import machine, programs

if TYPE_CHECKING:
    from matching.config import MatchConfig
    from matching.pictures.images import Picture
    from matching.pipeline import MatchResult

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
    config: MatchConfig,
    *,
    figure: bool = True,
    warp: bool = False,
    html: bool = False,
    exports: tuple[str, ...] = (),
    inputs: Sequence[str] | None = None,
    others: Mapping[str, bytes] | None = None,
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
        yield from _optional(pictures, result, deformations, figure, warp, exports)
        if html:
            from matching.output.html import pair_report

            yield "matches.html", pair_report(pictures, result).encode("utf-8", "backslashreplace")

    def manifest(digests):
        told = summary(pictures, result, config, deformations)
        told |= {} if inputs is None else {"inputs": list(inputs)}
        return json.dumps(told | {"files": digests}, indent=1).encode()

    write_files(folder, files(), manifest)


def _optional(pictures, result, deformations, figure, warp, exports):
    """File name and content of what is asked for, one after another: all together they are large."""
    if figure:
        # the drawing is no longer needed once it is a file
        yield "matches.png", _opencv.encode_png(draw_matches(*pictures, result), overwrite=True)
    for found in result.objects if warp else ():
        from matching.output.warping import draw_object

        for name, rgb in draw_object(*pictures, result, found, deformations[found.id]).items():
            yield f"{name}.png", _opencv.encode_png(rgb, overwrite=True)
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
    """What matches.json holds, as a dictionary; tells deformations (object's id -> Deformation) if given."""
    return {
        "version": __version__,
        "images": [
            {"path": None if p.path is None else str(p.path), "width": p.width, "height": p.height}
            for p in pictures
        ],
        "coordinates": COORDINATES,
        "parameters": asdict(config),
        "programs": programs(),
        "machine": machine(),
        "seconds": {stage: round(seconds, 4) for stage, seconds in result.timings.items()},
        "candidates": len(result.cluster),
        "objects": [
            {
                "id": o.id,
                "matches": o.n_matches,
                "score": round(o.score, 4),
                "transform": o.transform.tolist(),
                "transform_kind": o.transform_kind,
                "transform_error": round(o.transform_error, 4),
                "outline0": np.round(o.outline0, 2).tolist(),
                "outline1": np.round(o.outline1, 2).tolist(),
                **_deformation_summary((deformations or {}).get(o.id)),
            }
            for o in result.objects
        ],
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
