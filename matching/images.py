"""Pictures in: any file Pillow reads, or an array, as one record of 8-bit pixels.

Pixel coordinates everywhere: x to the right, y down, (0, 0) the centre of the top-left pixel of the picture
as displayed.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from matching import _opencv
from matching.errors import InputError

MAX_PIXELS = 170_000_000  # of a picture: 510 MB as 8-bit RGB, and below the limit at which Pillow refuses
EXIF_ORIENTATION = 0x0112
TURNS = {  # EXIF orientation -> what shows the array upright
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: lambda a: np.swapaxes(a, 0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.swapaxes(np.rot90(a, 2), 0, 1),
    8: np.rot90,
}


@dataclass(frozen=True, eq=False)
class Picture:
    """One picture.

    rgb : (h, w, 3) uint8
    mask : (h, w) bool, where features may lie, or None: everywhere
    path : where it came from, None for an array
    """

    rgb: np.ndarray
    mask: np.ndarray | None = None
    path: Path | None = None

    @property
    def grey(self):
        """(h, w) uint8 luma (ITU-R BT.601), transparent pixels set to the mean of the others."""
        grey = self.rgb @ np.array([0.299, 0.587, 0.114], np.float32)
        if self.mask is not None:
            grey[~self.mask] = grey[self.mask].mean() if self.mask.any() else 0
        return np.rint(grey).astype(np.uint8)

    @property
    def width(self):
        return self.rgb.shape[1]

    @property
    def height(self):
        return self.rgb.shape[0]


@dataclass(frozen=True, eq=False)
class WorkingImage:
    """What the matching looks at: a picture's grey values, made smaller where it is large.

    grey : (h, w) uint8
    mask : (h, w) bool or None
    step : (2,) float64, pixels of the picture a working pixel, in x and y
    """

    grey: np.ndarray
    mask: np.ndarray | None
    step: np.ndarray

    def to_picture(self, xy):
        """Working pixels (n, 2) as pixels of the picture."""
        return to_picture(xy, self.step)


def to_picture(xy, step):
    """Working pixels (n, 2) as pixels of the picture, `step` (2,) of those a working pixel; in both, (0, 0)
    is the centre of the top-left pixel.
    """
    return (xy + 0.5) * step - 0.5


def working_image(picture, max_pixels):
    """The grey values of a picture, with at most about `max_pixels` pixels."""
    grey, mask = picture.grey, picture.mask
    factor = math.sqrt(max_pixels / grey.size)
    if factor >= 1:
        return WorkingImage(grey, mask, np.ones(2))
    width, height = (max(round(n * factor), 1) for n in (picture.width, picture.height))
    small = _opencv.resize_area(grey, width, height)
    if mask is not None:
        mask = _opencv.resize_area(mask.astype(np.uint8) * 255, width, height) >= 128
    return WorkingImage(small, mask, np.array([picture.width / width, picture.height / height]))


def read_picture(path):
    """The picture in a file, turned as its EXIF orientation says; transparent pixels (alpha < 128) are
    masked.

    16-bit and float pictures are stretched from their 0.1 to their 99.9 percentile.

    Raises InputError if the file is missing, no picture, damaged or larger than MAX_PIXELS.
    """
    path = Path(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata; what matters raises
            with Image.open(path) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise InputError(
                        f"{path}: a picture may have at most {MAX_PIXELS // 10**6} megapixels,"
                        f" this one has {image.width * image.height / 1e6:.0f}"
                    )
                if _is_deep_colour(image):
                    return _deep_picture(image, path)
                return _picture_of(ImageOps.exif_transpose(image), path)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a picture") from None
    except NotADirectoryError:
        raise InputError(f"{path}: its folder is a file") from None
    except PermissionError:
        raise InputError(f"{path}: may not be read (permission denied)") from None
    except UnidentifiedImageError:
        return _unusual_picture(path)
    except Image.DecompressionBombError:
        raise InputError(f"{path}: a picture may have at most {MAX_PIXELS // 10**6} megapixels") from None
    except OSError as error:
        known = error.errno is not None
        reason = f"can't be opened ({error.strerror})" if known else f"damaged picture ({_one_line(error)})"
        raise InputError(f"{path}: {reason}") from None
    except Exception as error:  # a damaged file can make a decoder raise nearly anything
        raise InputError(f"{path}: damaged picture ({_one_line(error)})") from None


def picture_of_array(array, name="image"):
    """A picture from an array: (h, w), (h, w, 3) RGB or (h, w, 4) RGBA; uint8 as it is, other types
    stretched.

    Raises InputError for any other shape or type.
    """
    array = np.asarray(array)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)) or array.size == 0:
        raise InputError(f"{name}: the shape must be (h, w), (h, w, 3) or (h, w, 4), got {array.shape}")
    if array.dtype.kind not in "buif":
        raise InputError(f"{name}: the type must be a real number, got {array.dtype}")
    mask = None
    if array.ndim == 3 and array.shape[2] == 4:
        array, alpha = array[:, :, :3], array[:, :, 3]
        mask = alpha >= _opaque(array.dtype) / 2
    rgb = _eight_bits(array)
    return Picture(_three_channels(rgb), _useful(mask))


def _opaque(dtype):
    """The alpha value of an opaque pixel: the largest number of a whole type, 1 for floats and booleans."""
    return np.iinfo(dtype).max if dtype.kind in "ui" else 1


def _picture_of(image, path):
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        return Picture(_three_channels(_eight_bits(np.asarray(image))), None, path)
    if image.has_transparency_data:
        rgba = np.asarray(image.convert("RGBA"))
        return Picture(np.ascontiguousarray(rgba[:, :, :3]), _useful(rgba[:, :, 3] >= 128), path)
    return Picture(np.asarray(image.convert("RGB")), None, path)


def _unusual_picture(path):
    """Kinds that OpenCV reads and Pillow does not: float RGB TIFF, Radiance HDR."""
    data = path.read_bytes()
    if not data:
        raise InputError(f"{path}: is empty")
    array = _opencv.decode_deep(data) if data.startswith((b"II*", b"MM", b"#?")) else None
    if array is None:
        raise InputError(f"{path}: is not a picture that can be read")
    picture = picture_of_array(array, str(path))
    return Picture(picture.rgb, picture.mask, path)


def _is_deep_colour(image):
    """Whether Pillow would cut 16-bit colours to their upper 8 bits, and so leave dark pictures black."""
    return image.mode in ("RGB", "RGBA") and any(";16" in str(tile[3]) for tile in image.tile)


def _deep_picture(image, path):
    array = _opencv.decode_deep(path.read_bytes())
    if array is None:
        return _picture_of(ImageOps.exif_transpose(image), path)
    if image.format != "TIFF":  # OpenCV turns these itself
        array = TURNS.get(image.getexif().get(EXIF_ORIENTATION), lambda a: a)(array)
    picture = picture_of_array(array, str(path))
    return Picture(picture.rgb, picture.mask, path)


def _useful(mask):
    return None if mask is None or mask.all() else mask


def _three_channels(image):
    return np.repeat(image[:, :, None], 3, axis=2) if image.ndim == 2 else np.ascontiguousarray(image)


def _eight_bits(array):
    """uint8 of any real array: 8-bit as it is, others stretched from the 0.1 to the 99.9 percentile of what
    is finite.
    """
    if array.dtype == np.uint8:
        return array
    array = array.astype(np.float32)
    finite = np.isfinite(array)
    if not finite.any():
        return np.zeros(array.shape, np.uint8)
    low, high = np.percentile(array[finite], [0.1, 99.9])
    if high <= low:
        low, high = array[finite].min(), array[finite].max()
    stretched = (np.where(finite, array, low) - low) * (255 / max(high - low, 1e-30))
    return np.rint(np.clip(stretched, 0, 255)).astype(np.uint8)


def _one_line(error):
    return " ".join(str(error).split()) or type(error).__name__
