"""Reading kinds of TIFF that Pillow does not read correctly: those of scientific cameras and maps.

Such files have separate planes of more than 8 bits, any number of bands, 64-bit numbers, or values that mark
missing data. Pillow's libtiff decompresses what tifffile can't decompress on its own.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Sequence
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
TILE_COUNTS = 325
WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, INKS = 0, 1, 2, 5  # photometric interpretations
N_COLOURS = {WHITE_IS_ZERO: 1, BLACK_IS_ZERO: 1, RGB: 3, INKS: 4}
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
    is_sparse: bool  # whether strips or tiles without data are not stored

    @property
    def is_plain(self) -> bool:
        """Whether the other readers read this layout correctly."""
        n_colours = N_COLOURS.get(self.photometric)
        if self.bits > 8 and self.bits % 16 > 0:  # packed numbers of 10, 12 or 14 bits
            return True
        if n_colours is None or self.photometric == INKS:
            return not (self.is_separate and self.bits > 8)
        has_colours = self.n_samples - (self.alpha is not None) == n_colours
        return (
            self.bits <= 8
            and has_colours
            and not (self.is_separate and n_colours == 1)
            and not self.is_sparse
        )


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
        read_nodata(tags) is not None and 0 in several(COUNTS, 1) + several(TILE_COUNTS, 1),
    )


def read_nodata(tags: Any) -> float | None:
    """Read the value that marks missing data, as GDAL writes it."""
    text = tags.get(NODATA)
    try:
        return float(text.decode() if isinstance(text, bytes) else text).real
    except (AttributeError, TypeError, ValueError):
        return None


def hide_nodata(array: Array, nodata: float | None, stored: Array | None = None) -> Array:
    """Make pixels without data transparent: array (h, w[, 3 or 4]); stored are the numbers of the file."""
    stored = array if stored is None else stored
    value = None if nodata is None else _convert(nodata, stored.dtype)
    if value is None:
        return array
    colours = (stored if stored.ndim == 3 else stored[:, :, None])[:, :, :3]
    empty = (np.isnan(colours) if np.isnan(value) else colours == value).all(axis=2)
    if not empty.any():
        return array
    kind, array = array.dtype, array if array.ndim == 3 else array[:, :, None]
    opaque = np.iinfo(kind).max if kind.kind in "ui" and kind.itemsize <= 2 else 1
    alpha = array[:, :, 3].copy() if array.shape[2] == 4 else np.full(empty.shape, opaque, kind)
    alpha[empty] = 0
    three = np.broadcast_to(array[:, :, :3], (*empty.shape, 3))
    return np.concatenate([three, alpha[:, :, None]], axis=2)


def _convert(nodata: float, kind: np.dtype[Any]) -> Any:
    """Convert a number that marks missing data to a type; None if the type can't represent it."""
    if kind.kind == "f":
        limits = np.finfo(kind)
        with np.errstate(over="ignore"):
            value = np.float64(nodata) if np.isinf(nodata) else np.clip(nodata, limits.min, limits.max)
            return value.astype(kind)
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    return kind.type(int(nodata)) if least <= nodata <= most and nodata == int(nodata) else None


def open_page(file: BinaryIO) -> TiffPage:
    """Open the first page of a TIFF."""
    import tifffile

    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # otherwise, it would report odd tags
    page = tifffile.TiffFile(file).pages.first
    assert isinstance(page, tifffile.TiffPage)
    return page


def read_tags(page: TiffPage) -> dict[int, Any]:
    """Read the values of a page's tags."""
    return {tag.code: tag.value for tag in page.tags}


def read_bands(page: TiffPage, layout: Layout) -> Array:
    """Read the colours of a page and its declared alpha -> (h, w), (h, w, 3) or (h, w, 4)."""
    if layout.photometric not in N_COLOURS or np.dtype(page.dtype).kind not in "uif":
        raise ValueError(f"colours of kind {layout.photometric} stored as {page.dtype} can't be read")
    n_colours = max(N_COLOURS[layout.photometric], 3)
    plain = [k for k in range(layout.n_samples) if k != layout.alpha]
    chosen = plain[:n_colours] if len(plain) >= n_colours else plain[:1]
    bands = _read_samples(page, layout, chosen + [layout.alpha] * (layout.alpha is not None))
    stored = colours = bands[:, :, : len(chosen)]
    if layout.photometric in (WHITE_IS_ZERO, INKS):
        colours = np.iinfo(bands.dtype).max - colours if bands.dtype.kind == "u" else -colours
    if layout.photometric == INKS:
        colours = (colours[:, :, :3] * (colours[:, :, 3:] / np.iinfo(bands.dtype).max)).astype(bands.dtype)
    if layout.alpha is not None:
        three = np.broadcast_to(colours, (*colours.shape[:2], 3))
        colours = np.concatenate([three, bands[:, :, -1:]], axis=2)
    array = colours if colours.shape[2] > 1 else colours[:, :, 0]
    return hide_nodata(array, layout.nodata, stored)


def _read_samples(page: TiffPage, layout: Layout, chosen: Sequence[int | None]) -> Array:
    """Read the chosen samples (h, w, c) from all strips or tiles that hold them."""
    empty = _convert(layout.nodata or 0, np.dtype(page.dtype))
    bands = np.full((layout.height, layout.width, len(chosen)), empty or 0, page.dtype)
    n_each = len(page.dataoffsets) // (layout.n_samples if layout.is_separate else 1)
    if page.imagedepth != 1 or not n_each:
        raise ValueError("not a two-dimensional picture")
    prepare = _plan_decompression(page)
    for index, (offset, size) in enumerate(zip(page.dataoffsets, page.databytecounts, strict=False)):
        plane = index // n_each if layout.is_separate else 0
        if not size or (layout.is_separate and plane not in chosen):
            continue  # a tile that is not stored is empty
        page.parent.filehandle.seek(offset)
        data = page.parent.filehandle.read(size)
        if len(data) < size:
            raise ValueError("the file is truncated")
        part, (_, _, y, x, _), _ = page.decode(prepare(data, index), index, jpegtables=page.jpegtables)
        part = part[0, : layout.height - y, : layout.width - x]
        place = bands[y : y + part.shape[0], x : x + part.shape[1]]
        if layout.is_separate:
            place[:, :, chosen.index(plane)] = part[:, :, 0]
        else:
            place[:] = part[:, :, chosen]
    return bands


def _plan_decompression(page: TiffPage) -> Callable[[bytes, int], bytes]:
    """Return a function that decompresses numbered strips or tiles; then the page counts as plain."""
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
