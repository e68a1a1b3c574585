"""Files of rarer kinds; the usual ones are read in test_images.py."""

import os
import struct
import subprocess
import sys
from importlib.util import find_spec
from io import BytesIO

import cv2
import numpy as np
import pytest
import skimage.data
import tifffile
from PIL import Image

from matching.errors import InputError
from matching.pictures import decoding, formats
from matching.pictures.decoding import count_frames, decode, map_displayed_to_stored
from matching.pictures.images import add_mask, make_picture, read_picture

RGB = skimage.data.coffee()[100:160, 200:290].copy()  # (60, 90, 3)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_first_page_of_a_tiff_is_read(tmp_path, kind):
    pages = np.stack([RGB, 255 - RGB]).astype(kind)
    tifffile.imwrite(tmp_path / "a.tiff", pages, photometric="rgb")
    array = decode(tmp_path / "a.tiff").array
    assert array.dtype == kind
    assert np.array_equal(array, RGB)


@pytest.mark.parametrize("name", ["a.tiff", "a.jpg"])
def test_cmyk_is_converted(tmp_path, name):
    options = {"quality": 95} if name == "a.jpg" else {}
    Image.fromarray(RGB).convert("CMYK").save(tmp_path / name, **options)
    array = decode(tmp_path / name).array
    assert array.shape == RGB.shape
    assert np.abs(array.astype(int) - RGB).mean() < 8


def test_heic_is_read(tmp_path):
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.from_pillow(Image.fromarray(np.tile(RGB, (4, 4, 1)))).save(tmp_path / "a.heic", quality=95)
    picture = read_picture(tmp_path / "a.heic")
    assert np.abs(picture.rgb.astype(int) - np.tile(RGB, (4, 4, 1))).mean() < 6


HEIC_HEAD = struct.pack(">I", 24) + b"ftypheic" + bytes(12)


def test_missing_package_for_heic_is_reported(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    (tmp_path / "a.heic").write_bytes(HEIC_HEAD)
    message = r"a\.heic: HEIC needs pillow-heif: pip install pillow-heif"
    with pytest.raises(InputError, match=message):
        decode(tmp_path / "a.heic")


def test_too_large_size_in_header_is_refused_before_reading_pixels(tmp_path):
    (tmp_path / "a.hdr").write_bytes(b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 50000 +X 40000\n" + bytes(99))
    with pytest.raises(InputError, match="2000"):
        decode(tmp_path / "a.hdr")
    tifffile.imwrite(tmp_path / "a.tiff", RGB.astype(np.float32), photometric="rgb")
    data = (tmp_path / "a.tiff").read_bytes()
    for tag in (256, 257):  # ImageWidth, ImageLength: SHORT with the value in place
        at = data.index(struct.pack("<H", tag), 8)
        data = data[: at + 2] + struct.pack("<HII", 4, 1, 60_000) + data[at + 12 :]
    (tmp_path / "a.tiff").write_bytes(data)
    with pytest.raises(InputError, match="3600"):
        decode(tmp_path / "a.tiff")


@pytest.mark.parametrize("most", [999, 65535])
def test_deep_ppm_keeps_its_depth(tmp_path, most):
    values = np.random.default_rng(0).integers(0, 1000, (20, 30, 3)).astype(">u2")
    (tmp_path / "deep.ppm").write_bytes(b"P6\n30 20\n%d\n" % most + values.tobytes())
    found = decode(tmp_path / "deep.ppm")[0]
    assert found.dtype == np.uint16
    np.testing.assert_array_equal(found, values)


def test_deep_pgm_is_16_bit(tmp_path):
    (tmp_path / "white.pgm").write_bytes(b"P5\n30 20\n65535\n" + np.full((20, 30), 65535, ">u2").tobytes())
    found = decode(tmp_path / "white.pgm")[0]
    assert found.dtype == np.uint16
    assert (found == 65535).all()


def test_no_reader_starts_another_program(tmp_path, monkeypatch):
    started = []
    for name in ("Popen", "run", "check_call", "check_output"):
        monkeypatch.setattr(subprocess, name, lambda *command, **_: started.append(command))
    monkeypatch.setattr(os, "system", started.append)
    (tmp_path / "a.jpg").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 90 60\n%%EndComments\n0 0 moveto\nshowpage\n"
    )
    with pytest.raises(InputError, match=r"a\.jpg: is not a picture that can be read"):
        decode(tmp_path / "a.jpg")
    assert not started
    assert not {"BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF"} & set(formats.readable_formats())


@pytest.mark.parametrize("name", ["a.png", "a.webp", "a.jpg", "a.tiff"])
@pytest.mark.parametrize(
    "block", [b"junk", b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"MM\0*", bytes(99)]
)
def test_broken_exif_block_is_ignored(tmp_path, name, block):
    if name == "a.tiff":
        tifffile.imwrite(tmp_path / name, RGB, extratags=[(0x0112, "s", 0, "junk", True)])
    else:
        Image.fromarray(RGB).save(tmp_path / name, exif=block, **({} if name == "a.png" else {"quality": 95}))
    array, orientation = decode(tmp_path / name)[:2]
    assert orientation == 1
    assert np.abs(array.astype(int) - RGB).mean() < 6


def test_pillow_image_is_accepted():
    image = Image.fromarray(RGB)
    assert np.array_equal(make_picture(image).rgb, RGB)
    mask = Image.new("1", image.size, 1)
    mask.paste(0, (0, 0, 10, 10))
    kept = add_mask(make_picture(image), mask).mask
    assert not kept[:10, :10].any()
    assert kept.sum() == kept.size - 100


def test_damaged_pillow_image_is_reported(tmp_path):
    Image.fromarray(RGB).save(tmp_path / "a.png")
    cut = BytesIO((tmp_path / "a.png").read_bytes()[:2000])
    with Image.open(cut) as image, pytest.raises(InputError, match="image1: damaged picture"):
        make_picture(image, "image1")


DEEP = np.dstack([RGB, RGB[:, ::-1], RGB[::-1, :, :1]])  # (60, 90, 7) bands


def write_bands(path, bands, *, planar="contig", alpha=False, **options):
    """Write bands (h, w, n) as TIFF; the last is declared as alpha if alpha is true."""
    colours = 3 if options.get("photometric", "rgb") == "rgb" else 1
    extra = ["unspecified"] * (bands.shape[2] - colours)
    if alpha:
        extra[-1] = "unassalpha"
    array = bands if planar == "contig" else np.moveaxis(bands, 2, 0)
    array = array[:, :, 0] if bands.shape[2] == 1 else array
    planes = None if bands.shape[2] == 1 else planar
    options = {"photometric": "rgb", "extrasamples": extra or None, "planarconfig": planes} | options
    tifffile.imwrite(path, np.ascontiguousarray(array), **options)


@pytest.mark.parametrize(
    ("n", "photometric", "alpha"),
    [
        *((n, "rgb", alpha) for n, alpha in [(3, False), (4, False), (4, True), (5, False), (7, True)]),
        *((n, "minisblack", False) for n in (1, 2, 3, 7)),
        (2, "minisblack", True),
    ],
)
@pytest.mark.parametrize("kind", ["u1", ">u2", ">f4", "i8"])
def test_bands_of_a_tiff_are_read(tmp_path, kind, n, photometric, alpha):
    bands = (DEEP[:, :, :n] * (1.0 if kind == "u1" else 97.0)).astype(kind)
    colours = bands[:, :, :3] if n - alpha >= 3 else bands[:, :, :1]
    shape = (60, 90, 3 if alpha or n - alpha >= 3 else 1)
    for compression in (None, "zlib", "lzma"):
        for layout in ({"rowsperstrip": 7}, {"tile": (16, 32)}, *([{"planar": "separate"}] if n > 1 else [])):
            options = {"compression": compression, "byteorder": ">" if kind[0] == ">" else "<", **layout}
            write_bands(tmp_path / "a.tiff", bands, alpha=alpha, photometric=photometric, **options)
            found = decode(tmp_path / "a.tiff")[0].reshape(60, 90, -1)
            if (n, kind) == (2, "u1") and not alpha:
                found = found[:, :, :1]  # Pillow gives it three times
            assert found.shape[2] == shape[2] + alpha
            np.testing.assert_array_equal(found[:, :, : shape[2]], np.broadcast_to(colours, shape))
            if alpha:
                np.testing.assert_array_equal(found[:, :, 3], bands[:, :, -1])


@pytest.mark.parametrize(("kind", "planar"), [("u1", "contig"), ("u1", "separate"), ("u2", "contig")])
def test_inks_of_a_tiff_are_converted(tmp_path, kind, planar):
    most = np.iinfo(kind).max
    black = np.minimum(RGB[:, :, :1], 128)
    inks = (np.dstack([255 - RGB, black]) / 255 * most).astype(kind)
    write_bands(tmp_path / "a.tiff", inks, photometric="separated", planar=planar, extrasamples=None)
    shown, true = decode(tmp_path / "a.tiff")[0], RGB / 255 * (255 - black)
    assert np.corrcoef(shown.ravel(), true.ravel())[0, 1] > 0.999


@pytest.mark.parametrize("codec", ["LZW", "ADOBE_DEFLATE", "PACKBITS"])
@pytest.mark.parametrize(("kind", "predictor"), [(np.uint16, 2), (np.float32, 3), (np.float64, 3)])
@pytest.mark.parametrize("n", [1, 3])
def test_codecs_and_predictors_of_a_tiff_are_read(tmp_path, n, kind, predictor, codec):
    array = (RGB[:, :, :n] * 97.0).astype(kind)
    options = [cv2.IMWRITE_TIFF_COMPRESSION, getattr(cv2, f"IMWRITE_TIFF_COMPRESSION_{codec}")]
    options += [cv2.IMWRITE_TIFF_PREDICTOR, predictor, cv2.IMWRITE_TIFF_ROWSPERSTRIP, 7]
    cv2.imwrite(str(tmp_path / "a.tiff"), array[:, :, ::-1], options)
    np.testing.assert_array_equal(decode(tmp_path / "a.tiff")[0], array if n == 3 else array[:, :, 0])


@pytest.mark.skipif(find_spec("imagecodecs") is not None, reason="imagecodecs has these compressions")
@pytest.mark.parametrize(
    ("codec", "number"), [("LZW", 5), ("JPEG2000", 34712), ("PNG", 34933), ("WEBP", 50001)]
)
def test_missing_compression_is_named(tmp_path, codec, number):
    write_bands(tmp_path / "a.tiff", DEEP, compression="zlib")
    with tifffile.TiffFile(tmp_path / "a.tiff", mode="r+b") as file:
        file.pages.first.tags["Compression"].overwrite(number)
    text = rf"a\.tiff: .* compression {codec} \({number}\) needs imagecodecs: pip install imagecodecs"
    with pytest.raises(InputError, match=text):
        decode(tmp_path / "a.tiff")


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_signed_bytes_keep_their_order(tmp_path, compression):
    grey = (RGB[:, :, 0].astype(int) - 128).astype(np.int8)
    tifffile.imwrite(tmp_path / "a.tiff", grey, photometric="minisblack", compression=compression)
    assert np.array_equal(decode(tmp_path / "a.tiff")[0], grey)


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_truncated_deep_tiff_is_reported_as_damaged(tmp_path, compression, share):
    write_bands(tmp_path / "a.tiff", DEEP.astype(np.float32), compression=compression, rowsperstrip=7)
    content = (tmp_path / "a.tiff").read_bytes()
    (tmp_path / "a.tiff").write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"a\.tiff: damaged picture"):
        decode(tmp_path / "a.tiff")


def test_undeclared_fourth_band_is_not_alpha(tmp_path):
    for kind in (np.uint8, np.uint16):
        write_bands(tmp_path / "a.tiff", DEEP[:, :, :4].astype(kind))
        data = bytearray((tmp_path / "a.tiff").read_bytes())
        at = data.index(struct.pack("<HH", 338, 3))
        data[at : at + 2] = struct.pack("<H", 65001)  # the tag of the extra samples is gone
        (tmp_path / "a.tiff").write_bytes(data)
        assert np.array_equal(decode(tmp_path / "a.tiff")[0], RGB)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["u1", "u2", "f8"])
def test_orientation_of_a_tiff_is_read(tmp_path, kind, orientation):
    tag = (0x0112, "H", 1, orientation, True)
    tifffile.imwrite(tmp_path / "a.tiff", RGB.astype(kind), photometric="rgb", extratags=[tag])
    shown, found = decode(tmp_path / "a.tiff")[:2]
    assert found == orientation
    assert kind == "f8" or decoding.read_orientation(tmp_path / "a.tiff") == orientation
    h, w = shown.shape[:2]
    y, x = np.mgrid[:h, :w].reshape(2, -1)
    column, row, _ = map_displayed_to_stored(found, w, h) @ np.stack([x, y, np.ones_like(x)])
    assert np.array_equal(RGB[row, column], shown[y, x])


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    ("kind", "nodata"),
    [
        *[("u1", "0"), ("u2", "0"), ("u2", "65535"), ("i2", "-9999"), ("i2", "-32768"), ("f8", "nan")],
        *(("f4", nodata) for nodata in ("-9999", "nan", "-3.40282346638528898e+38", "1e+20", "-inf")),
    ],
)
def test_missing_data_is_masked_and_does_not_reduce_contrast(tmp_path, kind, nodata, n):
    bands = RGB[:, :, :n].astype(kind) // 4 + np.array(50, kind)
    whole = make_picture(bands if n == 3 else bands[:, :, 0])
    bands[10:30, 20:60] = float(nodata)
    extra = [(42113, "s", 0, nodata, True)]
    write_bands(tmp_path / "a.tiff", bands, photometric="rgb" if n == 3 else "minisblack", extratags=extra)
    picture = read_picture(tmp_path / "a.tiff")
    assert not picture.mask[10:30, 20:60].any()
    assert picture.mask.sum() == 60 * 90 - 20 * 40
    assert np.abs(picture.rgb[picture.mask].astype(int) - whole.rgb[picture.mask]).mean() < 12


@pytest.mark.parametrize("kind", ["u1", "u2", "f4", "f8"])
@pytest.mark.parametrize("n", [1, 3])
def test_unstored_tiles_are_missing_data(tmp_path, kind, n):
    bands = RGB[:, :, :n].astype(kind) // 2 + np.array(60, kind)
    extra = [(42113, "s", 0, "7", True)]
    photometric = "rgb" if n == 3 else "minisblack"
    write_bands(tmp_path / "a.tiff", bands, photometric=photometric, tile=(32, 32), extratags=extra)
    with tifffile.TiffFile(tmp_path / "a.tiff", mode="r+b") as file:
        tags = file.pages.first.tags
        for name in ("TileOffsets", "TileByteCounts"):
            tags[name].overwrite((0, *tags[name].value[1:]))
    picture = read_picture(tmp_path / "a.tiff")
    assert not picture.mask[:32, :32].any()
    assert picture.mask.sum() == 60 * 90 - 32 * 32
    assert kind == "u1" or picture.rgb[picture.mask].min() < 5  # all contrast is that of the rest


def test_missing_data_of_a_palette_is_an_index(tmp_path):
    number = (RGB[:, :, 0] // 64 + 1).astype(np.uint8)
    number[10:30, 20:60] = 0
    colours = np.zeros((3, 256), np.uint16)
    colours[:, :5] = np.array([65535, 0, 20000, 30000, 40000])  # 0 is white, and 1 black
    extra = [(42113, "s", 0, "0", True)]
    tifffile.imwrite(tmp_path / "a.tiff", number, photometric="palette", colormap=colours, extratags=extra)
    assert np.array_equal(read_picture(tmp_path / "a.tiff").mask, number > 0)


@pytest.mark.parametrize("kind", ["u1", "u2"])
def test_missing_data_is_found_where_white_is_zero(tmp_path, kind):
    grey = RGB[:, :, :1].astype(kind) // 2 + np.array(1, kind)
    grey[10:30, 20:60] = 0
    write_bands(tmp_path / "a.tiff", grey, photometric="miniswhite", extratags=[(42113, "s", 0, "0", True)])
    assert np.array_equal(read_picture(tmp_path / "a.tiff").mask, grey[:, :, 0] > 0)


def test_frames_and_pages_are_counted_from_the_headers(tmp_path):
    pages = [Image.fromarray(np.full((9, 9), value, np.uint8)) for value in (0, 100, 200)]
    for name in ("a.gif", "b.tif", "c.png", "d.jpg"):
        more = {} if name == "d.jpg" else {"save_all": True, "append_images": pages[1:]}
        pages[0].save(tmp_path / name, **more)
    (tmp_path / "e.gif").write_bytes((tmp_path / "a.gif").read_bytes()[:20])
    counts = [count_frames(path) for path in sorted(tmp_path.iterdir())]
    assert counts == [3, 3, 3, 1, 1]
    assert count_frames(tmp_path / "missing.gif") == 1


@pytest.mark.parametrize(
    ("head", "kind"), [(b"%PDF-1.7\n", "PDF"), (b'<?xml version="1.0"?>\n<svg width="9">', "SVG")]
)
def test_drawings_are_refused_by_name(head, kind):
    with pytest.raises(InputError, match=f"it is {kind}; save it as PNG"):
        decode(head)


def test_thumbnail_of_a_raw_photograph_is_refused(tmp_path):
    path, grey = tmp_path / "a.dng", np.zeros((8, 8), np.uint8)
    with tifffile.TiffWriter(path) as file:
        file.write(grey, subfiletype=1, subifds=1)
        file.write(np.zeros((32, 32), np.uint16), subfiletype=0)
    with pytest.raises(InputError, match=r"a\.dng: is a raw photograph with a thumbnail"):
        decode(path)
