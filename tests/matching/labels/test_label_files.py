"""Label files as other programs write them: every thing in them is a reference, or is counted as left out."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from matching.errors import InputError
from matching.labels import read_references

WHOLE = [[4, 2], [20, 2], [20, 12], [4, 12]]  # of a picture of 40 x 20
UPPER, LOWER = [[4, 2], [20, 2], [20, 6], [4, 6]], [[4, 8], [20, 8], [20, 12], [4, 12]]


@pytest.fixture(autouse=True)
def picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.new("L", (40, 20)).save("a.png")


def read(name, content):
    Path(name).write_text(content if isinstance(content, str) else json.dumps(content))
    return read_references([Path(name)])


def box(reference):
    return [*(np.min(reference.polygon, axis=0) + 0.5), *(np.max(reference.polygon, axis=0) + 0.5)]


def coco(*annotations, **size):
    return {
        "images": [{"id": 1, "file_name": "a.png", **size}],
        "categories": [{"id": 7, "name": "a"}],
        "annotations": [{"image_id": 1, "category_id": 7, **entry} for entry in annotations],
    }


def labelme(*shapes, **others):
    return {"imagePath": "a.png", "shapes": [{"label": "a", **shape} for shape in shapes], **others}


def mask_text():
    file = io.BytesIO()
    Image.fromarray(np.ones((10, 16), bool)).save(file, "png")
    return base64.b64encode(file.getvalue()).decode()


def run_lengths():
    mask = np.zeros((20, 40), bool)
    mask[2:12, 4:20] = True
    edges = np.flatnonzero(np.diff(mask.T.ravel(), prepend=False))
    return {"size": [20, 40], "counts": np.diff([0, *edges, mask.size]).tolist()}


BOX_ENTRY = {"bbox": [4, 2, 16, 10]}


@pytest.mark.parametrize(
    "content",
    [
        coco({"segmentation": [np.ravel(UPPER).tolist(), np.ravel(LOWER).tolist()]}),
        coco({"segmentation": [[]], **BOX_ENTRY}),
        coco({"bbox": ["4", "2", "16", "10"]}),
        coco({"segmentation": run_lengths(), "iscrowd": 1}),
        coco({"bbox": [2, 1, 8, 5]}, width=20, height=10),
        labelme({"points": UPPER, "group_id": 3}, {"points": LOWER, "group_id": 3}),
        labelme({"points": WHOLE, "shape_type": "rotation"}),
        labelme({"points": WHOLE, "shape_type": "oriented_rectangle"}),
        labelme({"points": [[4, 2], [19, 11]], "shape_type": "mask", "mask": mask_text()}),
        labelme({"points": np.multiply(WHOLE, 2).tolist()}, imageWidth=80, imageHeight=40),
    ],
)
def test_each_thing_is_a_reference_with_all_of_its_parts(content):
    (reference,) = read("labels.json", content)
    assert reference.name == "a"
    assert box(reference) == pytest.approx([4, 2, 20, 12], abs=0.6)
    inside = reference.read().mask
    assert inside[3:5, 5:19].all()
    assert inside[9:11, 5:19].all()
    assert inside[7, 10] == (len(reference.parts) == 0)


@pytest.mark.parametrize(
    ("orientation", "expected"), [(5, [2, 4, 12, 20]), (6, [8, 4, 18, 20]), (8, [2, 20, 12, 36])]
)
def test_labels_of_stored_pixels_are_turned_like_their_picture(orientation, expected):
    """A photograph of 20 x 40 that is stored on its side, as many programs label it."""
    image = Image.new("L", (40, 20))
    exif = image.getexif()
    exif[0x0112] = orientation
    image.save("a.png", exif=exif)
    (reference,) = read("a.json", coco(BOX_ENTRY, width=40, height=20))
    assert box(reference) == pytest.approx(expected)
    (reference,) = read("a.json", coco({"bbox": [2, 4, 10, 16]}, width=20, height=40))
    assert box(reference) == pytest.approx([2, 4, 12, 20])  # of the upright picture


@pytest.mark.parametrize(
    "columns",
    [
        "0.3 0.35 0.4 0.5",
        "0.3 0.35 0.4 0.5 0.91",
        "0.3 0.35 0.4 0.5 0.91 4",
        "0.3 0.35 0.4 0.5 0.1 0.2 2 0.4 0.3 1 0.2 0.2 0",
        "0.1 0.1 0.5 0.1 0.5 0.6 0.1 0.6",
        "0.1 0.1 0.5 0.1 0.5 0.6 0.1 0.6 0.9",
        "0.1 0.1 0.5 0.1 0.5 0.6 0.1 0.6 0.9 12",
    ],
)
def test_columns_after_a_yolo_box_or_polygon_are_no_corners(columns):
    (reference,) = read("a.txt", f"0 {columns}\n")
    assert box(reference) == pytest.approx([4, 2, 20, 12])


def test_box_may_reach_beyond_the_picture():
    (reference,) = read("a.txt", "0 0.1 0.5 0.4 0.5\n")
    assert box(reference) == pytest.approx([-4, 5, 12, 15])


def test_key_points_of_yolo_are_no_corners():
    Path("data.yaml").write_text("kpt_shape: [2, 2]\nnames: {'0': cup}\n")
    (reference,) = read("a.txt", "0 0.3 0.35 0.4 0.5 0.1 0.2 0.4 0.3\n")
    assert reference.name == "cup"
    assert box(reference) == pytest.approx([4, 2, 20, 12])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "0 12 7 16 10\n", "coordinates must be from 0 to 1, got 12 7 16 10"),
        ("a.json", coco(BOX_ENTRY, width=20, height=40), "a picture of 20 x 40, but .* has 40 x 20"),
        ("a.json", [{"annotations": [], "data": {"image": "a.png"}}], "is a project of Label Studio"),
        ("a.json", {"a.png123": {"filename": "a.png", "regions": []}}, "is a project of VIA"),
        ("a.json", labelme({"points": [[1, 1]], "shape_type": "point"}), "no polygons, but 1 of kind point"),
    ],
)
def test_label_file_that_cannot_be_used_is_refused_with_the_reason(name, content, message):
    with pytest.raises(InputError, match=message):
        read(name, content)


def test_labels_without_an_area_are_counted():
    points = {"points": [[1, 1]], "shape_type": "point"}
    with pytest.warns(UserWarning, match="labels without an area are left out: 2 of kind point"):
        assert len(read("a.json", labelme({"points": WHOLE}, points, points))) == 1


def test_picture_from_another_folder_than_the_named_one_is_reported():
    with pytest.warns(UserWarning, match=r"its picture not in the folder it names: .*a\.png instead of b/a"):
        read("a.json", labelme({"points": WHOLE}) | {"imagePath": "b\\a.png"})


def test_turned_box_of_cvat():
    (found,) = read("turned.json", coco({**BOX_ENTRY, "attributes": {"rotation": 90.0}}))
    assert box(found) == pytest.approx([7, -1, 17, 15])  # turned about 12, 7
    assert found.polygon[0] == pytest.approx((16.5, -1.5))  # clockwise


def test_ids_may_be_texts_and_numbers():
    content = coco({**BOX_ENTRY, "image_id": "1"})
    content["categories"][0]["id"] = "7"
    assert [one.name for one in read("texts.json", content)] == ["a"]


def test_picture_inside_a_file_of_labelme():
    content = labelme({"points": UPPER}, imageData=base64.b64encode(Path("a.png").read_bytes()).decode())
    (found,) = read("inside.json", {**content, "imagePath": "gone.png"})
    assert found.path == "inside.json"
    picture = found.read()
    assert (picture.width, picture.height) == (40, 20)
    assert picture.mask[2:6, 4:20].all()


VOC = """<annotation><filename>a.png</filename><size><width>20</width><height>10</height></size>
<object><name>a</name><bndbox><xmin>2</xmin><ymin>1</ymin><xmax>10</xmax><ymax>6</ymax></bndbox></object></annotation>"""
TABLE = "filename,width,height,class,xmin,ymin,xmax,ymax\na.png,40,20,a,4,2,20,12\n"


@pytest.mark.parametrize(("name", "content"), [("a.xml", VOC), ("a.csv", TABLE)])
def test_boxes_of_pascal_voc_and_of_tables(name, content):
    (found,) = read(name, content)
    assert (found.name, box(found)) == ("a", [4, 2, 20, 12])
    for broken in (content[:60], content.replace("xmin", "left"), content.replace("2", "two")):
        with pytest.raises(InputError, match=r"is not a label file of COCO|has no boxes"):
            read(name, broken)
