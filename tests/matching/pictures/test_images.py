import io
import struct
import zlib

import cv2
import numpy as np
import pytest
import skimage.data
import tifffile
from PIL import Image, features

from matching.errors import InputError
from matching.pictures import decoding
from matching.pictures.images import (
    add_mask,
    make_picture_of_array,
    make_working_image,
    read_picture,
    to_picture,
)

RGB = skimage.data.coffee()[100:160, 200:290].copy()  # (60, 90, 3)
GREY = RGB[:, :, 1].copy()


def saved(tmp_path, image, name="picture.png", **options):
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    image.save(tmp_path / name, **options)
    return tmp_path / name


def near(picture, expected, tolerance):
    return np.abs(picture.rgb.astype(int) - expected).mean() < tolerance


def three(grey):
    return np.repeat(grey[:, :, None], 3, axis=2)


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tiff", "a.ppm", "name with spaces and äccénts.png"])
def test_eight_bit_colour_is_unchanged(tmp_path, name):
    picture = read_picture(saved(tmp_path, RGB, name))
    assert np.array_equal(picture.rgb, RGB)
    assert picture.mask is None
    assert (picture.width, picture.height) == (90, 60)
    assert picture.path.name == name


def test_one_bit_pictures_are_read(tmp_path):
    bits = GREY > 100
    assert np.array_equal(read_picture(saved(tmp_path, bits)).rgb, three(bits * np.uint8(255)))


@pytest.mark.parametrize(
    ("name", "codec", "tolerance"),
    [("a.jpg", "jpg", 6), ("a.webp", "webp", 6), ("a.avif", "avif", 6), ("a.jp2", "jpg_2000", 6)],
)
def test_lossy_formats_are_read(tmp_path, name, codec, tolerance):
    if not features.check(codec):
        pytest.skip(f"this Pillow has no {codec}")
    assert near(read_picture(saved(tmp_path, RGB, name)), RGB, tolerance)


@pytest.mark.parametrize("name", ["a.gif", "a.png"])
def test_palettes_are_converted(tmp_path, name):
    palette = Image.fromarray(RGB).quantize(64)
    picture = read_picture(saved(tmp_path, palette, name))
    assert np.array_equal(picture.rgb, np.asarray(palette.convert("RGB")))
    assert picture.mask is None


@pytest.mark.parametrize("name", ["a.gif", "a.png"])
def test_transparent_colour_of_a_palette_is_masked(tmp_path, name):
    index = np.ones((20, 30), np.uint8)
    index[:, :10], index[:, 20:] = 3, 2
    palette = Image.fromarray(index).convert("P")
    palette.putpalette([0, 0, 0, 200, 100, 50, 10, 20, 30, 9, 9, 9])
    picture = read_picture(saved(tmp_path, palette, name, transparency=3))
    assert np.array_equal(picture.mask, index != 3)
    assert (picture.rgb[:, 10:20] == [200, 100, 50]).all()
    assert (picture.rgb[:, 20:] == [10, 20, 30]).all()


@pytest.mark.parametrize("name", ["a.gif", "a.png", "a.webp", "a.tif"])
def test_first_frame_of_several_is_read_and_the_others_are_counted(tmp_path, name):
    frames = [Image.fromarray(np.full((20, 20), v, np.uint8)) for v in (40, 200)]
    path = saved(tmp_path, frames[0], name, save_all=True, append_images=frames[1:])
    with pytest.warns(UserWarning, match=r"a\.[a-z]+: only the first of its 2 frames or pages is looked at"):
        assert (abs(read_picture(path).rgb.astype(int) - 40) <= 2).all()


def test_smaller_copies_in_a_tiff_are_no_pages(tmp_path):
    with tifffile.TiffWriter(tmp_path / "pyramid.tif") as file:
        file.write(GREY)
        file.write(GREY[::2, ::2], subfiletype=1)
    assert np.array_equal(read_picture(tmp_path / "pyramid.tif").rgb[:, :, 0], GREY)


def test_alpha_is_a_mask(tmp_path):
    alpha = np.zeros(GREY.shape, np.uint8)
    alpha[10:40, 20:70] = 255
    alpha[10:40, 70:80], alpha[10:40, 80:] = 128, 127
    for name, array in (("rgba.png", np.dstack([RGB, alpha])), ("la.png", np.dstack([GREY, alpha]))):
        picture = read_picture(saved(tmp_path, array, name))
        assert np.array_equal(picture.mask, alpha >= 128)
        shown = RGB if name == "rgba.png" else three(GREY)
        assert np.array_equal(picture.rgb[picture.mask], shown[picture.mask])


def test_transparent_pixels_take_the_mean_grey():
    alpha = np.zeros(GREY.shape, np.uint8)
    alpha[:, 45:] = 255
    picture = make_picture_of_array(np.dstack([RGB, alpha]))
    opaque = make_picture_of_array(RGB).grey
    assert np.array_equal(picture.grey[:, 45:], opaque[:, 45:])
    assert np.ptp(picture.grey[:, :45]) == 0
    assert picture.grey[0, 0] == pytest.approx(opaque[:, 45:].mean(), abs=1)


def stretched(values):
    low, high = np.percentile(values, [0.1, 99.9])
    return np.clip((values - low) / (high - low), 0, 1) * 255


@pytest.mark.parametrize(("kind", "name"), [("uint16", "a.png"), ("uint16", "a.tiff"), ("int32", "a.tiff")])
def test_deep_integers_are_stretched(tmp_path, kind, name):
    deep = GREY.astype(kind) * 150 + 1000
    picture = read_picture(saved(tmp_path, deep, name))
    assert np.abs(picture.rgb - stretched(deep)[:, :, None]).max() <= 1


@pytest.mark.parametrize("name", ["a.png", "a.tiff"])
def test_deep_colour_is_stretched(tmp_path, name):
    deep = RGB.astype(np.uint16) * 16  # 12 bits, as cameras give
    cv2.imwrite(str(tmp_path / name), deep[:, :, ::-1])
    assert np.abs(read_picture(tmp_path / name).rgb - stretched(deep)).max() <= 1


@pytest.mark.parametrize("scale", [1 / 255, 1.0, 1e-6, 1e6])
def test_float_tiff_is_stretched(tmp_path, scale):
    values = (GREY * scale).astype(np.float32)
    picture = read_picture(saved(tmp_path, values, "a.tiff"))
    assert np.abs(picture.rgb - stretched(values)[:, :, None]).max() <= 1


def test_values_that_are_not_finite_do_not_affect_contrast(tmp_path):
    values = (GREY / 255).astype(np.float32)
    values[:5], values[5:8], values[8] = np.nan, np.inf, -np.inf
    picture = read_picture(saved(tmp_path, values, "a.tiff"))
    assert np.abs(picture.rgb[9:] - stretched(values[9:])[:, :, None]).max() <= 1
    with pytest.warns(UserWarning, match="all of its pixels are NaN or infinite"):
        assert not read_picture(saved(tmp_path, np.full((9, 9), np.nan, np.float32), "b.tiff")).rgb.any()


DISPLAYED = {  # how the stored pixels are shown, by EXIF orientation
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a),
}


@pytest.mark.parametrize("orientation", DISPLAYED)
def test_deep_colour_of_a_png_is_turned(tmp_path, orientation):
    """By its eXIf chunk; for TIFF see test_decoding."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    body = b"eXIf" + exif.tobytes().removeprefix(b"Exif\0\0")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    content = cv2.imencode(".png", RGB[:, :, ::-1].astype(np.uint16) * 16)[1].tobytes()
    (tmp_path / "a.png").write_bytes(content[:33] + chunk + content[33:])  # behind the header
    expected = DISPLAYED[orientation](stretched(RGB * 16.0))
    picture = read_picture(tmp_path / "a.png")
    assert picture.rgb.shape == expected.shape
    assert np.abs(picture.rgb - expected).max() <= 1


@pytest.mark.parametrize("orientation", DISPLAYED)
def test_exif_orientation_is_applied(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = read_picture(saved(tmp_path, RGB, exif=exif))
    expected = DISPLAYED[orientation](RGB)
    assert np.array_equal(picture.rgb, expected)
    assert (picture.height, picture.width) == expected.shape[:2]


def encoded(format="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(np.tile(RGB, (3, 3, 1))).save(buffer, format)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"not an image", "not a picture"),
        (encoded()[:2000], "damaged"),
        (encoded("JPEG")[:700], "damaged"),
        (encoded("TIFF")[:3000], ""),
        (encoded("WEBP")[:500], ""),
        (encoded()[:20] + bytes(100), ""),
    ],
    ids=["empty", "text", "cut PNG", "cut JPEG", "cut TIFF", "cut WebP", "broken header"],
)
def test_bad_files_are_reported_in_one_line(tmp_path, content, reason):
    path = tmp_path / "bad file.png"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_picture(path)
    assert str(path) in str(error.value)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("codec", ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP"])
def test_damaged_files_are_read_or_reported(tmp_path, codec):
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged"
    for trial in range(30):
        content = bytearray(encoded(codec))
        if trial % 2:
            del content[rng.integers(len(content)) :]
        for place in rng.integers(0, len(content) + 1, 5):
            content[place : place + 1] = rng.bytes(1)
        path.write_bytes(content)
        try:
            assert read_picture(path).rgb.ndim == 3
        except InputError as error:
            assert str(path) in str(error)
            assert "\n" not in str(error)


def test_missing_files_and_folders_are_reported(tmp_path):
    with pytest.raises(InputError, match=r"missing\.png: no such file"):
        read_picture(tmp_path / "missing.png")
    with pytest.raises(InputError, match="is a folder"):
        read_picture(tmp_path)


def test_too_many_pixels_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "MAX_PIXELS", 60 * 90 - 1)
    with pytest.raises(InputError, match=r"picture\.png: a picture may have at most"):
        read_picture(saved(tmp_path, RGB))


@pytest.mark.parametrize("kind", ["uint8", "uint16", "int32", "float32", "float64", "bool"])
def test_arrays_of_any_real_type_are_accepted(kind):
    array = GREY > 100 if kind == "bool" else GREY.astype(kind)
    picture = make_picture_of_array(array)
    expected = array if kind == "uint8" else stretched(array.astype(float))
    assert np.abs(picture.rgb - expected[:, :, None].astype(float)).max() <= 1


@pytest.mark.parametrize("kind", ["uint8", "uint16", "float64"])
@pytest.mark.parametrize("opaque", [0.0, 0.2, 1.0])
def test_alpha_of_an_array_is_a_mask_from_one_half(kind, opaque):
    full = {"uint8": 255, "uint16": 65535, "float64": 1.0}[kind]
    alpha = np.full(GREY.shape, opaque * full)
    picture = make_picture_of_array(np.dstack([RGB / 255 * full, alpha]).astype(kind))
    masked = np.zeros(GREY.shape, bool) if picture.mask is None else ~picture.mask
    assert (masked == (opaque < 0.5)).all()


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(5),
        np.zeros((4, 4, 2)),
        np.zeros((4, 4, 5)),
        np.zeros((2, 4, 4, 3)),
        np.zeros((0, 4)),
        np.zeros((4, 4), complex),
        np.array([["a", "b"]]),
        np.array(None),
    ],
    ids=["flat", "2 channels", "5 channels", "4-D", "empty", "complex", "text", "nothing"],
)
def test_other_arrays_are_refused(array):
    with pytest.raises(InputError, match=r"image0: (the shape must be|must be a path, or an array of real)"):
        make_picture_of_array(array, "image0")


def test_working_pixels_map_back_to_picture_pixels():
    y, x = np.mgrid[:400, :600].astype(float)
    centre = np.array([317.3, 122.8])
    blob = 255 * np.exp(-((x - centre[0]) ** 2 + (y - centre[1]) ** 2) / (2 * 20.0**2))
    image = make_working_image(make_picture_of_array(np.rint(blob).astype(np.uint8)), 60_000)
    assert image.grey.size <= 60_500
    weight = image.grey.astype(float)
    row, column = np.indices(weight.shape)
    middle = np.array([[(column * weight).sum(), (row * weight).sum()]]) / weight.sum()
    found = to_picture(middle, image.step)
    assert np.abs(found - centre).max() < 0.1


def test_masks_shrink_with_the_picture():
    alpha = np.zeros((400, 600), np.uint8)
    alpha[:, :300] = 255
    rgb = skimage.data.coffee()[:400, :600]
    image = make_working_image(make_picture_of_array(np.dstack([rgb, alpha])), 60_000)
    assert image.mask.shape == image.grey.shape
    assert image.mask[:, : image.mask.shape[1] // 2].all()
    assert not image.mask[:, image.mask.shape[1] // 2 :].any()


def halves():
    """White left half (60, 90)."""
    mask = np.zeros(GREY.shape, np.uint8)
    mask[:, :45] = 255
    return mask


@pytest.mark.parametrize(
    "mask",
    [
        halves(),
        halves() > 0,
        halves() // 255,
        halves().astype(np.uint16) * 257,
        halves() / 255,
        np.dstack([halves()] * 3),
        np.dstack([np.full_like(RGB, 255), halves()]),
    ],
    ids=["uint8", "bool", "0 and 1", "uint16", "float", "RGB", "alpha"],
)
def test_masks_of_any_kind_are_read(tmp_path, mask):
    picture = make_picture_of_array(RGB)
    assert np.array_equal(add_mask(picture, mask).mask, halves() > 0)
    if mask.dtype.kind != "f":
        path = tmp_path / "mask.png"
        if mask.dtype == np.uint16:
            cv2.imwrite(str(path), mask)
        else:
            saved(tmp_path, mask, "mask.png")
        assert np.array_equal(add_mask(picture, path).mask, halves() > 0)
        assert np.array_equal(add_mask(picture, str(path)).mask, halves() > 0)


def test_lossy_and_uniform_masks_are_read():
    picture = make_picture_of_array(RGB)
    noisy = np.where(halves() > 0, 251, 4).astype(np.uint8)
    assert np.array_equal(add_mask(picture, noisy).mask, halves() > 0)
    assert add_mask(picture, np.full(GREY.shape, 65535, np.uint16)).mask is None
    assert not add_mask(picture, np.zeros(GREY.shape, np.uint8)).mask.any()


def test_masks_and_alpha_both_count():
    alpha = np.zeros(GREY.shape, np.uint8)
    alpha[:30] = 255
    picture = add_mask(make_picture_of_array(np.dstack([RGB, alpha])), halves())
    assert np.array_equal(picture.mask, (alpha > 0) & (halves() > 0))
    assert add_mask(picture, None) is picture


def test_masks_must_fit_their_picture(tmp_path):
    picture = make_picture_of_array(RGB)
    with pytest.raises(InputError, match=r"mask0: a mask must be as large .*, 90 x 60, got 60 x 90"):
        add_mask(picture, np.zeros((90, 60), np.uint8), "mask0")
    with pytest.raises(InputError, match=r"mask\.png: a mask must be as large"):
        add_mask(picture, saved(tmp_path, GREY[:30], "mask.png"))
    with pytest.raises(InputError, match=r"none\.png: no such file"):
        add_mask(picture, tmp_path / "none.png")


def test_a_mask_lies_on_the_picture_as_displayed(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = read_picture(saved(tmp_path, RGB, exif=exif))
    assert picture.orientation == 6
    white = np.zeros((90, 60), np.uint8)
    white[:20] = 255
    assert add_mask(picture, white).mask[:20].all()
    turned = saved(tmp_path, np.ascontiguousarray(np.rot90(white)), "mask.png", exif=exif)
    assert np.array_equal(add_mask(picture, turned).mask, white > 0)
