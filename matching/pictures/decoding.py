"""Pictures as arrays with their original bit depth.

Pillow reads most of them, OpenCV reads Radiance HDR and deep colours of PNG and PPM, tifffile reads other
TIFFs, and pillow-heif reads HEIC.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from matching._common import opencv
from matching._common.optional import import_optional
from matching._common.types import Array, Ints
from matching.errors import InputError, one_line
from matching.pictures import tiff
from matching.pictures.formats import HEIF, open_image
from matching.pictures.names import check_name

MAX_PIXELS = 170_000_000  # of a picture: 510 MB as 8-bit RGB, and below the limit of Pillow
HEAD_BYTES = 4096  # at the start of a file, which identify its format
# What drawings and documents have in their heads, and what they are.
DRAWINGS = {b"%PDF-": "PDF", b"<svg": "SVG", b"%!PS": "PostScript"}
ANIMATED = ("AVIF", "GIF", "PNG", "WEBP")
ORIENTATION = 0x0112  # a tag of EXIF, and of TIFF
TURNS: dict[int, Callable[[Array], Array]] = {  # EXIF orientation -> function that turns the array upright
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: lambda a: np.swapaxes(a, 0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.swapaxes(np.rot90(a, 2), 0, 1),
    8: np.rot90,
}


class Decoded(NamedTuple):
    """What a file holds."""

    array: Any  # (h, w), (h, w, 3) or (h, w, 4)
    orientation: int = 1  # EXIF, which has been applied
    n_frames: int = 1  # frames or pages, of which the first is the array


def decode(image: Any, name: str = "image") -> Decoded:
    """Read the picture in a file, given by its path, content or open file, or in a Pillow image.

    Any other input is returned as it is.
    """
    if isinstance(image, str | PathLike):
        check_name(image)
        path = Path(image)
        with _one_line_errors(path), path.open("rb") as file:
            return _decode_file(file, path, path)
    image = read_content(image, name)
    with _one_line_errors(name):
        if isinstance(image, bytes | bytearray):
            return _decode_file(BytesIO(image), name, bytes(image))
        if isinstance(image, Image.Image):  # which has 16-bit colours with 8 bits
            return Decoded(*_decode(image, name))
    return Decoded(image)


def read_content(image: Any, name: str) -> Any:
    """Read an open file, which perhaps can be read only once, and return its content."""
    if not callable(getattr(image, "read", None)):
        return image
    with _one_line_errors(name):
        content = image.read()
    if not isinstance(content, bytes):
        raise InputError(f"{name}: a file must be opened in binary mode, got {type(content).__name__}")
    return content


def _decode_file(file: BinaryIO, name: str | Path, encoded: Path | bytes) -> Decoded:
    """Decode an open file with the path or content `encoded`."""
    head, image = file.read(HEAD_BYTES), None
    file.seek(0)
    with _report_damage(name), suppress(UnidentifiedImageError):
        image = open_image(file)
    if head.startswith(tiff.HEADS):
        return Decoded(*_decode_tiff(file, image, name, encoded), tiff.count_pages(file))
    if image is None:
        return Decoded(*_decode_unusual(file, head, name, encoded))
    with image:
        return Decoded(*_decode(image, name, encoded), _count_frames(image))


def count_frames(path: str | PathLike[str]) -> int:
    """Count the frames or pages in a file from its headers; 1 if it can't be read."""
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Path(path).open("rb") as file:
            if file.read(HEAD_BYTES).startswith(tiff.HEADS):
                return tiff.count_pages(file)
            file.seek(0)
            with Image.open(file, formats=ANIMATED) as image:
                return _count_frames(image)
    return 1


def _count_frames(image: Image.Image) -> int:
    """Count the frames of an animation; the other pictures in files of cameras and of layers are none."""
    with suppress(Exception):  # later frames may be damaged
        return getattr(image, "n_frames", 1) if image.format in ANIMATED else 1
    return 1


@contextmanager
def _one_line_errors(name: str | Path) -> Iterator[None]:
    """Turn the system's errors about a file into InputError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata; what matters raises an error
            yield
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a folder, not a picture") from None
    except OSError as error:
        raise InputError(f"{name}: can't be opened ({error.strerror or error})") from None
    except MemoryError:
        raise InputError(f"{name}: there is not enough memory for this picture") from None


@contextmanager
def _report_damage(name: str | Path) -> Iterator[None]:
    """Turn errors of a decoder into InputError; only calls of Pillow and pillow-heif belong inside."""
    try:
        yield
    except (InputError, UnidentifiedImageError, MemoryError):
        raise
    except Image.DecompressionBombError:
        raise InputError(f"{name}: a picture may have at most {MAX_PIXELS // 10**6} megapixels") from None
    except Exception as error:  # a damaged file can make a decoder raise nearly anything
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{name}: damaged picture ({one_line(error)})") from None


def map_displayed_to_stored(orientation: int, width: int, height: int) -> Ints:
    """Map (3, 3) from displayed pixels to stored ones, by EXIF orientation and displayed size."""
    x, y, right, bottom = [1, 0, 0], [0, 1, 0], [-1, 0, width - 1], [0, -1, height - 1]
    turned = {2: (right, y), 3: (right, bottom), 4: (x, bottom), 5: (y, x), 6: (y, right)}
    turned |= {7: (bottom, right), 8: (bottom, x)}
    return np.array([*turned.get(orientation, (x, y)), [0, 0, 1]])


def read_orientation(path: str | Path) -> int:
    """Read the EXIF orientation of a picture from the header of its file."""
    try:
        with Image.open(path) as image:
            return _find_orientation(image)
    except UnidentifiedImageError:  # a kind that Pillow does not read
        return 1
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: can't be read ({getattr(error, 'strerror', None) or error})") from None


def _check_orientation(orientation: Any) -> int:
    """Return a valid orientation as it is, and 1 instead of any other value."""
    return orientation if isinstance(orientation, int) and orientation in TURNS else 1


def _decode(image: Image.Image, name: str | Path, encoded: Path | bytes | None = None) -> tuple[Array, int]:
    """Decode an image; `encoded` is the file from which it comes, for OpenCV, or None if unknown."""
    _check_size(name, image.width, image.height)
    array = opencv.read_deep(encoded) if encoded is not None and _is_deep_colour(image) else None
    if array is None:
        with _report_damage(name):
            array = _convert_to_array(image)
    orientation = _find_orientation(image)  # last, because Pillow reads a PNG's pixels to find it
    return _turn_upright(array, orientation), orientation


def _decode_tiff(
    file: BinaryIO, image: Image.Image | None, name: str | Path, encoded: Path | bytes
) -> tuple[Array, int]:
    """Decode a TIFF, which Pillow has perhaps opened, by the reader that reads it correctly."""
    with _report_damage(name):
        file.seek(0)
        page = tiff.open_page(file)
        tiff.check_page(page, name)
        orientation = _check_orientation(tiff.read_tag(page, ORIENTATION, 1))
    _check_size(name, page.imagewidth, page.imagelength)
    with _report_damage(name):
        if (bands := tiff.read_bands(page, encoded)) is not None:
            array, is_upright = bands
            return (array if is_upright else _turn_upright(array, orientation)), orientation
        if image is None or page.compression == tiff.WEBP:
            raise tiff.describe_lack(page, name)
        array = _convert_to_array(image)  # Pillow turns it on loading
        stored = np.asarray(image) if image.mode == "P" else array
        if page.photometric == tiff.WHITE_IS_ZERO and stored.dtype == np.uint8:
            stored = 255 - stored
        return np.ascontiguousarray(tiff.hide_nodata(array, tiff.read_nodata(page), stored)), orientation


def _turn_upright(array: Array, orientation: int) -> Array:
    """Turn an array as its EXIF orientation says."""
    turn = TURNS.get(orientation)
    return np.ascontiguousarray(turn(array) if turn else array)


def _convert_to_array(image: Image.Image) -> Array:
    """Convert a Pillow image."""
    mode = _choose_mode(image)
    array = np.array(image if image.mode == mode else image.convert(mode))
    if array.dtype == np.int32 and array.min() >= 0 and array.max() < 2**16:
        return array.astype(np.uint16)  # Pillow gives 16-bit grey of some formats as 32-bit
    return array


def _choose_mode(image: Image.Image) -> str:
    """Choose the mode of Pillow in which the pixels of an image are read."""
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        return image.mode
    if image.has_transparency_data:
        return "RGBA"
    return "L" if image.mode in ("1", "L") else "RGB"


def _find_orientation(image: Image.Image) -> int:
    """Find the EXIF orientation of a Pillow image; 1 if it has none."""
    try:
        return _check_orientation(image.getexif().get(ORIENTATION, 1))
    except Exception:  # a broken EXIF block may raise anything; viewers show the picture anyway
        return 1


def _is_deep_colour(image: Image.Image) -> bool:
    """Test whether Pillow would cut 16-bit colours to their upper 8 bits, which makes dark pictures black."""
    tiles = getattr(image, "tile", ())  # empty once Pillow has loaded the pixels
    return image.mode in ("RGB", "RGBA", "LA") and any(
        arguments[1] > 255 if codec.startswith("ppm") else ";16" in str(arguments)  # PPM: the largest value
        for codec, _, _, arguments in tiles
    )


def _decode_unusual(
    file: BinaryIO, head: bytes, name: str | Path, encoded: Path | bytes
) -> tuple[Array, int]:
    """Read kinds that Pillow does not read: HEIC and Radiance HDR; head is the beginning of the file."""
    if not head:
        raise InputError(f"{name}: is empty")
    if HEIF.match(head):
        return _decode_heif(file, name), 1
    array = None
    if head.startswith(b"#?"):
        _check_size(name, *_read_radiance_size(head))
        array = opencv.read_deep(encoded)
    if array is None:
        kind = next(
            (f": it is {kind}; save it as PNG" for mark, kind in DRAWINGS.items() if mark in head), ""
        )
        raise InputError(f"{name}: is not a picture that can be read{kind}")
    return array, 1


def _decode_heif(file: BinaryIO, name: str | Path) -> Array:
    pillow_heif = import_optional("pillow_heif", f"{name}: HEIC needs pillow-heif", "pillow-heif")
    with _report_damage(name):
        file.seek(0)
        picture = pillow_heif.open_heif(file)
        _check_size(name, *picture.size)
        return _convert_to_array(picture.to_pillow())  # libheif has turned it upright


def _read_radiance_size(head: bytes) -> tuple[int, int]:
    """Read the width and height of a Radiance file from its header: OpenCV would try to allocate any size."""
    size = re.search(rb"[-+][YX] (\d+) [-+][XY] (\d+)", head)
    return (int(size[2]), int(size[1])) if size else (0, 0)


def _check_size(path: str | Path, width: int, height: int) -> None:
    """Raise InputError if a picture has too many pixels."""
    if width * height > MAX_PIXELS:
        raise InputError(
            f"{path}: a picture may have at most {MAX_PIXELS // 10**6} megapixels;"
            f" this one has {width * height / 1e6:.1f}"
        )
