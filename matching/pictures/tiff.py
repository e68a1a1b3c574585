"""TIFFs of scientific cameras and maps, which Pillow refuses or reads wrongly.

They have numbers of more than 8 bits, signed ones, any number of bands, or a value that marks missing data.
tifffile reads them. Without imagecodecs it lacks LZW and the predictor of floats, which OpenCV has.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools
from matching.errors import InputError

if TYPE_CHECKING:
    from tifffile import TiffPage

HEADS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")  # the first bytes of TIFF and BigTIFF
NODATA = 42113  # GDAL's tag
WHITE_IS_ZERO = 0  # a photometric interpretation
COLOURS = (WHITE_IS_ZERO, 1, 2)  # also black is zero, and RGB
ALPHA = (1, 2)  # extra samples: associated, unassociated
SEPARATE = 2  # planar configuration: a plane for each sample
SIGNED = 2  # sample format
REDUCED = 1  # a bit of the kind of a page: a smaller copy
NO_PAGE = REDUCED | 4  # ... or a mask
DNG_VERSION, SUB_IFDS = 50706, 330  # tags of raw photographs
WEBP = 50001  # the one compression that Pillow accepts but its libtiff may lack
OPENCV_CODECS = (1, 5, 8, 32773, 32946)  # none, LZW, Deflate, PackBits, old Deflate


def open_page(file: BinaryIO) -> TiffPage:
    """Open the first page of a TIFF."""
    import tifffile

    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # otherwise, it would report odd tags
    page = tifffile.TiffFile(file).pages.first
    assert isinstance(page, tifffile.TiffPage)
    return page


def check_page(page: TiffPage, name: str | Path) -> None:
    """Refuse the thumbnail of a raw photograph, which is all that readers of TIFF see."""
    if DNG_VERSION in page.tags or (page.subfiletype & REDUCED and SUB_IFDS in page.tags):
        raise InputError(f"{name}: is a raw photograph with a thumbnail; develop it to a TIFF or JPEG first")


def count_pages(file: BinaryIO) -> int:
    """Count the pages of a TIFF that are neither smaller copies of another one nor masks."""
    import tifffile

    file.seek(0)
    with suppress(Exception):  # later pages may be damaged
        pages = tifffile.TiffFile(file).pages
        return 1 if len(pages) == 1 else sum(page.subfiletype & NO_PAGE == 0 for page in pages)
    return 1


def read_tag(page: TiffPage, code: int, default: Any) -> Any:
    """Read the value of a page's tag."""
    tag = page.tags.get(code)
    return default if tag is None else tag.value


def read_bands(page: TiffPage, encoded: Path | bytes) -> tuple[Array, bool] | None:
    """Read the colours of a page and its declared alpha; None if it is left to Pillow.

    Returns
    -------
    array : array of shape (h, w), (h, w, 3) or (h, w, 4)
        The numbers of the file.
    is_upright : bool
        Whether the array is turned as the page's tag says.
    """
    if (samples := _read_samples(page, encoded)) is None:
        return None
    bands, is_upright = samples
    alpha = _find_alpha(page)
    plain = [k for k in range(bands.shape[2]) if k != alpha]
    stored = colours = bands[:, :, plain[:3] if len(plain) >= 3 else plain[:1]]
    if page.photometric == WHITE_IS_ZERO:
        colours = np.iinfo(bands.dtype).max - colours if bands.dtype.kind == "u" else -colours
    if alpha is not None:
        three = np.broadcast_to(colours, (*colours.shape[:2], 3))
        colours = np.concatenate([three, bands[:, :, alpha, None]], axis=2)
    array = colours if colours.shape[2] > 1 else colours[:, :, 0]
    return hide_nodata(array, read_nodata(page), stored), is_upright


def _read_samples(page: TiffPage, encoded: Path | bytes) -> tuple[Array, bool] | None:
    """Read the samples (h, w, n) of a page -> samples, whether they are upright; None if that fails."""
    from tifffile import TIFF

    if page.photometric not in COLOURS or np.dtype(page.dtype).kind not in "uif":
        return None
    n, is_whole = page.samplesperpixel, page.bitspersample % 8 == 0
    has_codecs = page.compression in TIFF.DECOMPRESSORS and page.predictor in TIFF.UNPREDICTORS
    if has_codecs and (is_whole or (page.bitspersample > 8 and find_spec("imagecodecs"))):
        with suppress(ImportError):  # Zstandard before Python 3.14
            bands = page.asarray(maxworkers=1)
            bands = np.moveaxis(bands, 0, -1) if page.planarconfig == SEPARATE and n > 1 else bands
            return bands.reshape(page.imagelength, page.imagewidth, n), False
    is_unusual = page.bitspersample > 8 or page.sampleformat == SIGNED  # Pillow reads others as well
    is_simple = n in (1, 3, 4) and (n == 1 or page.planarconfig != SEPARATE) and is_unusual and is_whole
    bands = opencv.read_deep(encoded) if is_simple and page.compression in OPENCV_CODECS else None
    if bands is None or bands.size != page.imagelength * page.imagewidth * n:
        return None
    return bands.reshape(*bands.shape[:2], n), True


def describe_lack(page: TiffPage, name: str | Path) -> InputError:
    """Make an error that names what of a page can't be read, and imagecodecs if that may help."""
    if page.photometric not in COLOURS or np.dtype(page.dtype).kind not in "uif":
        kind = f"colours of kind {int(page.photometric)}, stored as {page.dtype}"
        return InputError(f"{name}: is not a picture that can be read ({kind})")
    codec = f"{getattr(page.compression, 'name', 'of kind')} ({int(page.compression)})"
    kind = f"{name}: TIFF of {page.bitspersample}-bit numbers with compression {codec}"
    if find_spec("imagecodecs"):
        return InputError(f"{kind} and predictor {int(page.predictor)} can't be read")
    return InputError(f"{kind} needs imagecodecs: pip install imagecodecs")


def _find_alpha(page: TiffPage) -> int | None:
    """Find the number of the sample that is declared as alpha."""
    first = page.samplesperpixel - len(page.extrasamples)
    return next((k for k, kind in enumerate(page.extrasamples, first) if kind in ALPHA and k > 0), None)


def read_nodata(page: TiffPage) -> float | None:
    """Read the value that marks missing data, as GDAL writes it."""
    text = read_tag(page, NODATA, None)
    try:
        return float(text.decode() if isinstance(text, bytes) else text)
    except (AttributeError, TypeError, ValueError):
        return None


def hide_nodata(array: Array, nodata: float | None, stored: Array) -> Array:
    """Make pixels without data transparent: array (h, w[, 3 or 4]); stored are the numbers of the file."""
    if nodata is None:
        return array
    empty = _is_nodata(stored.reshape(*stored.shape[:2], -1)[:, :, :3], nodata)
    if not empty.any():
        return array
    kind, array = array.dtype, array.reshape(*array.shape[:2], -1)
    opaque = np.iinfo(kind).max if kind.kind in "ui" and kind.itemsize <= 2 else 1
    alpha = array[:, :, 3].copy() if array.shape[2] == 4 else np.full(empty.shape, opaque, kind)
    alpha[empty] = 0
    return np.dstack([np.broadcast_to(array[:, :, :3], (*empty.shape, 3)), alpha])


def _is_nodata(colours: Array, nodata: float) -> Bools:
    """Find the pixels whose colours (h, w, c) all have the value that marks missing data -> (h, w) bool."""
    kind = colours.dtype
    if np.isnan(nodata):
        same = np.isnan(colours)
    elif kind.kind == "f" and np.isfinite(nodata):  # GDAL may write the limit of another type
        same = colours == np.clip(nodata, np.finfo(kind).min, np.finfo(kind).max).astype(kind)
    else:
        same = colours == nodata
    return np.asarray(same.all(axis=2))
