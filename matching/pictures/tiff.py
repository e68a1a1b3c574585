"""Kinds of TIFF that Pillow does not read correctly: those of scientific cameras and maps.

They have separate planes of more than 8 bits, any number of bands, 64-bit numbers, and values that mark
missing data. Pillow's libtiff decompresses what tifffile can't alone.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from PIL import Image

from matching._common.types import Array

if TYPE_CHECKING:
    from tifffile import TiffPage

WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, SAMPLES = 256, 257, 258, 259, 262, 277  # tags
OFFSETS, ROWS, COUNTS, PLANES, EXTRA, NODATA = 273, 278, 279, 284, 338, 42113
WHITE_IS_ZERO, BLACK_IS_ZERO, RGB = 0, 1, 2  # photometric interpretations
PHOTOMETRIC_KINDS = (WHITE_IS_ZERO, BLACK_IS_ZERO, RGB)
ALPHA = (1, 2)  # extra samples: associated, unassociated
FLOAT_PREDICTOR = 3


@dataclass(frozen=True)
class Layout:
    """How the numbers of a TIFF's first page are laid out."""

    width: int  # pixels
    height: int
    bits: int  # of the widest sample
    n_samples: int  # per pixel
    photometric: int
    is_separate: bool  # whether each sample has its own plane
    alpha: int | None  # the sample declared as alpha
    nodata: float | None  # the value that marks missing data

    @property
    def is_plain(self) -> bool:
        """Whether the other readers take it as it is meant."""
        if self.photometric not in PHOTOMETRIC_KINDS:
            return True
        if self.bits > 8:
            return self.bits % 16 > 0  # packed numbers of 10, 12 or 14 bits
        colours = 3 if self.photometric == RGB else 1
        has_colours = self.n_samples - (self.alpha is not None) == colours
        return has_colours and not (self.is_separate and colours == 1)


def read_layout(tags: Any) -> Layout:
    """Read the layout from the tags of a page."""

    def several(tag: int, usual: int) -> tuple[int, ...]:
        value = tags.get(tag, usual)
        return tuple(int(n) for n in (value if isinstance(value, tuple | list) else (value,)))

    n_samples, extra = several(SAMPLES, 1)[0], several(EXTRA, 0)
    alpha = next((k for k, kind in enumerate(extra, n_samples - len(extra)) if kind in ALPHA), None)
    return Layout(
        several(WIDTH, 0)[0],
        several(HEIGHT, 0)[0],
        max(several(BITS, 1)),
        n_samples,
        several(PHOTOMETRIC, BLACK_IS_ZERO)[0],
        several(PLANES, 1)[0] == 2 and n_samples > 1,
        alpha if tags.get(EXTRA) is not None and alpha is not None and alpha > 0 else None,
        read_nodata(tags),
    )


def read_nodata(tags: Any) -> float | None:
    """Read the value that marks where there is no data, as GDAL writes it."""
    text = tags.get(NODATA)
    try:
        return float(text.decode() if isinstance(text, bytes) else text).real
    except (AttributeError, TypeError, ValueError):
        return None


def mask_nodata(array: Array, nodata: float | None) -> Array:
    """Make what has no data transparent: array (h, w), (h, w, 3) or (h, w, 4)."""
    if nodata is None:
        return array
    kind = array.dtype
    with np.errstate(over="ignore"):
        if kind.kind == "f":
            limits = np.finfo(kind)
            value = np.float64(nodata) if np.isinf(nodata) else np.clip(nodata, limits.min, limits.max)
            value = value.astype(kind)
        elif np.iinfo(kind).min <= nodata <= np.iinfo(kind).max and nodata == int(nodata):
            value = kind.type(int(nodata))
        else:
            return array
    colours = array if array.ndim == 3 else array[:, :, None]
    same = np.isnan(colours[:, :, :3]) if np.isnan(value) else colours[:, :, :3] == value
    if not (empty := same.all(axis=2)).any():
        return array
    opaque = np.iinfo(kind).max if kind.kind in "ui" and kind.itemsize <= 2 else 1
    alpha = colours[:, :, 3].copy() if colours.shape[2] == 4 else np.full(empty.shape, opaque, kind)
    alpha[empty] = 0
    three = np.broadcast_to(colours[:, :, :3], (*empty.shape, 3))
    return np.concatenate([three, alpha[:, :, None]], axis=2)


def open_page(file: BinaryIO) -> TiffPage:
    """Open the first page of a TIFF."""
    import tifffile

    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # it would tell of odd tags
    page = tifffile.TiffFile(file).pages.first
    assert isinstance(page, tifffile.TiffPage)
    return page


def read_tags(page: TiffPage) -> dict[int, Any]:
    """Read the values of a page's tags."""
    return {tag.code: tag.value for tag in page.tags}


def read_bands(page: TiffPage, layout: Layout) -> Array:
    """Read the first three bands of a page, or its only one, and alpha -> (h, w) or (h, w, 3 or 4)."""
    plain = [k for k in range(layout.n_samples) if k != layout.alpha]
    chosen = plain[:3] if len(plain) >= 3 else plain[:1]
    if layout.alpha is not None:
        chosen.append(layout.alpha)
    bands = _read_samples(page, layout, chosen)
    colours = bands[:, :, : len(chosen) - (layout.alpha is not None)]
    if layout.photometric == WHITE_IS_ZERO:
        colours = np.iinfo(bands.dtype).max - colours if bands.dtype.kind == "u" else -colours
    if layout.alpha is None:
        return colours if colours.shape[2] == 3 else colours[:, :, 0]
    three = np.broadcast_to(colours, (*colours.shape[:2], 3))
    return np.concatenate([three, bands[:, :, -1:]], axis=2)


def _read_samples(page: TiffPage, layout: Layout, chosen: list[int]) -> Array:
    """(h, w, c) the chosen samples, of all strips or tiles that hold them."""
    bands = np.zeros((layout.height, layout.width, len(chosen)), page.dtype)
    n_each = len(page.dataoffsets) // (layout.n_samples if layout.is_separate else 1)
    if page.imagedepth != 1 or not n_each:
        raise ValueError("no flat picture")
    prepare = _plan_decompression(page)
    for index, (offset, size) in enumerate(zip(page.dataoffsets, page.databytecounts, strict=False)):
        plane = index // n_each if layout.is_separate else 0
        if not size or (layout.is_separate and plane not in chosen):
            continue  # a tile that is not stored holds nothing
        page.parent.filehandle.seek(offset)
        data = page.parent.filehandle.read(size)
        if len(data) < size:
            raise ValueError("the file is cut off")
        part, (_, _, y, x, _), _ = page.decode(prepare(data, index), index, jpegtables=page.jpegtables)
        part = part[0, : layout.height - y, : layout.width - x]
        place = bands[y : y + part.shape[0], x : x + part.shape[1]]
        if layout.is_separate:
            place[:, :, chosen.index(plane)] = part[:, :, 0]
        else:
            place[:] = part[:, :, chosen]
    return bands


def _plan_decompression(page: TiffPage) -> Callable[[bytes, int], bytes]:
    """Return a function that decompresses numbered strips or tiles; the page counts as plain from then on."""
    from tifffile import TIFF

    compression, predictor = page.compression, page.predictor
    if (compression == 1 or compression in TIFF.DECOMPRESSORS) and predictor in (1, *TIFF.UNPREDICTORS):
        return lambda data, _: data
    if compression in TIFF.IMAGE_COMPRESSIONS or predictor not in (1, 2, FLOAT_PREDICTOR):
        raise ValueError(f"compression {compression} with predictor {predictor} can't be read")
    page.compression = 1
    page.predictor = 1 if predictor == FLOAT_PREDICTOR else predictor
    rows, columns = (
        (page.tilelength, page.tilewidth) if page.is_tiled else (page.rowsperstrip, page.imagewidth)
    )
    n_samples = 1 if page.planarconfig == 2 else page.samplesperpixel
    number = np.dtype(page.dtype).newbyteorder(page.parent.byteorder)

    def prepare(data: bytes, index: int) -> bytes:
        left = rows if page.is_tiled else page.imagelength - index % -(-page.imagelength // rows) * rows
        plain = _undo_compression(data, compression, min(rows, left), columns * n_samples * number.itemsize)
        return (
            _undo_float_predictor(plain, number, n_samples) if page.predictor != predictor else plain
        ).tobytes()

    return prepare


def _undo_compression(data: bytes, compression: int, rows: int, width: int) -> Array:
    """(rows, width) bytes: libtiff reads them as a grey picture."""
    entries = {
        WIDTH: width, HEIGHT: rows, BITS: 8, COMPRESSION: compression, PHOTOMETRIC: BLACK_IS_ZERO,
        OFFSETS: 8, SAMPLES: 1, ROWS: rows, COUNTS: len(data),
    }  # fmt: skip
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries.items())
    directory = struct.pack("<H", len(entries)) + directory + bytes(4)
    padded = data + bytes(len(data) % 2)
    file = BytesIO(struct.pack("<2sHI", b"II", 42, 8 + len(padded)) + padded + directory)
    with Image.open(file, formats=("TIFF",)) as image:
        return np.asarray(image)


def _undo_float_predictor(stored: Array, number: np.dtype[Any], n_samples: int) -> Array:
    """Undo the float predictor of bytes (rows, width): differences, highest byte first (TIFF Note 3)."""
    steps = stored.reshape(len(stored), -1, n_samples)
    summed = np.cumsum(steps, axis=1, dtype=np.uint8).reshape(len(stored), number.itemsize, -1)
    highest_first = np.ascontiguousarray(np.moveaxis(summed, 1, 2))
    return highest_first.view(number.newbyteorder(">")).astype(number)
