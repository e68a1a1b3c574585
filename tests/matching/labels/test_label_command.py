"""Labels as a user makes them: what is found, in files that other programs read, and going on."""

import csv
import json
import os
from contextlib import nullcontext
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest
import yaml
from PIL import Image

from matching.errors import InputError
from matching.labels import read_references, run

BOTH = "photos/both.png"
THERE = {"astronaut": [0, 220, 220, 440], "cup": [220, 0, 440, 220]}  # in both.png


def boxes(rows):
    return {row["class"]: [float(row[side]) for side in ("left", "top", "right", "bottom")] for row in rows}


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_things_are_found_and_pictures_without_are_listed(label, tmp_path):
    status, output, error = label("astronaut.png", "cup.png", "--out", "labels", "--format", "csv")
    assert (status, error) == (0, "")
    assert output.splitlines() == [
        "class      labels  pictures",
        "astronaut       1         1",
        "cup             1         1",
        "2 pictures, 1 without labels",
    ]
    rows = read_csv(tmp_path / "labels" / "labels.csv")
    assert [row["picture"] for row in rows] == ["both.png", "both.png", "cat.png"]
    assert rows[2]["class"] == ""
    for name, box in boxes(rows[:2]).items():
        assert box == pytest.approx(THERE[name], abs=1)
    assert rows[0]["how sure"] == "sure"
    assert rows[0]["track"] == ""


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools itself
def test_coco_opens_in_pycocotools(label, tmp_path):
    coco = pytest.importorskip("pycocotools.coco")
    assert label("astronaut.png", "cup.png", "--out", "labels", "--tracks")[0] == 0
    opened = coco.COCO(tmp_path / "labels" / "annotations.json")
    assert [opened.imgs[k]["file_name"] for k in opened.getImgIds()] == ["both.png", "cat.png"]
    assert [entry["name"] for entry in opened.loadCats(opened.getCatIds())] == ["astronaut", "cup"]
    for annotation in opened.anns.values():
        name = opened.cats[annotation["category_id"]]["name"]
        left, top, right, bottom = THERE[name]
        assert annotation["bbox"] == pytest.approx([left, top, right - left, bottom - top], abs=1)
        mask = opened.annToMask(annotation)
        assert mask[top + 2 : bottom - 2, left + 2 : right - 2].all()
        assert mask.sum() == pytest.approx(220**2, rel=0.02)
        assert annotation["track_id"] in (1, 2)
    assert opened.getAnnIds(imgIds=[2]) == []


@pytest.mark.parametrize("form", ["coco", "yolo", "voc"])
def test_labels_open_in_supervision(label, begin, form):
    dataset = pytest.importorskip("supervision").DetectionDataset
    begin("labels")
    assert label("astronaut.png", "cup.png", "--out", "labels", "--format", form)[0] == 0
    read = {
        "coco": lambda: dataset.from_coco("photos", "labels/annotations.json"),
        "yolo": lambda: dataset.from_yolo("photos", "labels/labels", "labels/data.yaml"),
        "voc": lambda: dataset.from_pascal_voc("photos", "labels/Annotations"),
    }
    opened = read[form]()
    found = {Path(path).name: labels for path, labels in opened.annotations.items()}
    assert len(found["cat.png"]) == 0
    both = found["both.png"]
    assert {opened.classes[k] for k in both.class_id} == set(THERE)
    for box, k in zip(both.xyxy, both.class_id, strict=True):
        assert box == pytest.approx(THERE[opened.classes[k]], abs=1.5)


def test_polygons_open_in_labelme(label, tmp_path):
    assert label("astronaut.png", "--out", "labels/deep", "--format", "labelme")[0] == 0
    path = tmp_path / "labels" / "deep" / "both.json"
    told = json.loads(path.read_text())
    assert (path.parent / told["imagePath"]).resolve() == (tmp_path / BOTH).resolve()
    assert (told["imageWidth"], told["imageHeight"]) == (440, 440)
    (shape,) = told["shapes"]
    assert (shape["label"], shape["shape_type"]) == ("astronaut", "polygon")
    assert np.min(shape["points"], axis=0) == pytest.approx([0, 220], abs=1)
    assert json.loads((path.parent / "cat.json").read_text())["shapes"] == []
    labelme = pytest.importorskip("labelme")
    assert labelme.LabelFile(str(path)).shapes[0]["points"] == shape["points"]


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize(
    ("form", "name"),
    [("coco", "annotations.json"), ("labelme", "both.json"), ("yolo", "labels/both.txt")],
)
@pytest.mark.slow
def test_written_labels_can_be_references(label, begin, tmp_path, form, name, moved):
    """They name the folder of their pictures; if it is gone, these are in the folder to label."""
    begin("first")
    assert label("astronaut.png", "cup.png", "--out", "first", "--format", form)[0] == 0
    folder = Path("photos").rename("moved") if moved else Path("photos")
    names_a_folder = moved and form == "labelme"
    with pytest.warns(UserWarning, match="moved/both.png instead of") if names_a_folder else nullcontext():
        references = read_references([Path("first", name)], folder=folder)
    assert {reference.name for reference in references} == set(THERE)
    for reference in references:
        assert Path(reference.path).resolve() == tmp_path / folder / "both.png"
        corners = [*np.min(reference.polygon, axis=0), *np.max(reference.polygon, axis=0)]
        assert np.array(corners) + 0.5 == pytest.approx(THERE[reference.name], abs=1)


@pytest.mark.parametrize(
    ("folder", "picture"),
    [("set", "set/images"), ("set/labels", "set/images"), ("set/labels/train", "set/images/train")],
)
def test_picture_of_yolo_file_is_found_in_images(tmp_path, monkeypatch, folder, picture):
    for made in (folder, picture):
        (tmp_path / made).mkdir(parents=True, exist_ok=True)
    Image.new("L", (40, 20)).save(tmp_path / picture / "both.PNG")
    (tmp_path / folder / "both.txt").write_text("0 0.25 0.75 0.5 0.5\n")
    monkeypatch.chdir(tmp_path / folder)  # a relative path, without the name of the folder
    (reference,) = read_references([Path("both.txt")])
    assert reference.name == "class 0"
    (tmp_path / picture / "both.PNG").unlink()
    with pytest.raises(InputError, match="no picture both beside it, in images, in the folder above"):
        read_references([Path("both.txt")])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("classes.txt", "red box\r\ncup\n"),
        ("data.yaml", "path: ../photos\nnc: 2\nnames: ['red box', \"cup\"]\n"),
        ("data.yaml", "names:\n  0: red box\n  1: cup\ntrain: images\n"),
        ("data.yaml", "names:\n- red box # a comment\n- cup\n"),
        ("data.yaml", "names: {0: red box, 1: cup}\n"),
    ],
)
def test_yolo_class_names_are_read(tmp_path, name, text):
    (tmp_path / "set" / "labels").mkdir(parents=True)
    pictures = tmp_path / ("photos" if "path" in text else "set")
    pictures.mkdir(exist_ok=True)
    Image.new("L", (40, 20)).save(pictures / "a.png")
    (tmp_path / "set" / name).write_text(text)
    labels = tmp_path / "set" / "labels" / "a.txt"
    labels.write_text("1 0.5 0.5 1 1\n0 0.1 0.1 0.9 0.1 0.5 0.5\n")
    assert [reference.name for reference in read_references([labels])] == ["cup", "red box"]
    (tmp_path / "set" / "data.yaml").write_text("names: [")
    with pytest.raises(InputError, match=r"data\.yaml: is not YAML"):
        read_references([labels])


def test_mask_and_folder_are_references(label, tmp_path):
    mask = np.zeros((220, 220), np.uint8)
    mask[20:200, 20:200] = 255
    Image.fromarray(mask).save("mask.png")
    assert label("astronaut.png", "--mask", "mask.png", "--out", "masked", "--format", "csv")[0] == 0
    (row, _) = read_csv(tmp_path / "masked" / "labels.csv")
    assert boxes([row])["astronaut"] == pytest.approx([20, 240, 200, 420], abs=1)
    (tmp_path / "things").mkdir()
    for name in ("astronaut.png", "cup.png"):
        (tmp_path / name).rename(tmp_path / "things" / name)
    status, output, _ = label("things", "--out", "labels")
    assert status == 0
    assert output.splitlines()[1].split() == ["things", "2", "1"]


def test_stopped_run_continues(label, tmp_path, monkeypatch):
    looked, look = [], run._label_file

    def watch(number, path, *others):
        if len(looked) == 1 and not (tmp_path / "go").exists():
            raise KeyboardInterrupt
        looked.append(Path(path).name)
        return look(number, path, *others)

    monkeypatch.setattr(run, "_label_file", watch)
    status, _, error = label("astronaut.png", "--out", "labels")
    assert status == 130
    assert "run the same command again to continue" in error
    assert not (tmp_path / "labels" / "annotations.json").exists()
    with (tmp_path / "labels" / "labels.jsonl").open("a") as file:
        file.write('{"picture": {"na')  # killed while it wrote
    (tmp_path / "go").touch()
    assert label("astronaut.png", "--out", "labels")[0] == 0
    assert looked == ["both.png", "cat.png"]
    Image.fromarray(np.asarray(Image.open(BOTH))[::-1]).save("photos/cat.png")  # another picture by now
    assert label("astronaut.png", "--out", "labels")[0] == 0
    assert looked == ["both.png", "cat.png", "cat.png"]


def test_video_is_labelled_frame_by_frame(label, tmp_path):
    """The cup stands still, then is gone."""
    both, cat = (np.asarray(Image.open(f"photos/{name}.png").resize((440, 440))) for name in ("both", "cat"))
    writer = cv2.VideoWriter("clip.avi", cv2.VideoWriter_fourcc(*"MJPG"), 10, (440, 440))
    for k in range(40):
        writer.write(np.ascontiguousarray((both if k < 25 else cat)[:, :, ::-1]))
    writer.release()
    call = ("cup.png", "--in", "clip.avi", "--every", "1", "--out", "labels")
    assert label(*call)[:2] == (
        0,
        "class  labels  pictures\ncup         3         3\n4 pictures, 1 without labels\n",
    )
    told = json.loads((tmp_path / "labels" / "annotations.json").read_text())
    assert [image["file_name"] for image in told["images"]] == [f"frame0000{k}0.jpg" for k in range(4)]
    assert [label["track_id"] for label in told["annotations"]] == [1, 1, 1]
    frame = tmp_path / "labels" / "frames" / "frame000000.jpg"
    before = frame.stat().st_mtime_ns
    (frame.parent / f".{'0a' * 16}.jpg").touch()  # as if killed while it wrote
    assert label(*call)[0] == 0  # goes on: the frames are there
    assert frame.stat().st_mtime_ns == before
    status, _, error = label(*call[:4], "2", *call[5:])
    assert (status, "has frames of another video, or other frames of this one" in error) == (2, True)
    status, _, error = label("cup.png", "--every", "1", "--out", "other")
    assert (status, "--every requires a video" in error) == (2, True)
    (tmp_path / "third" / "frames").mkdir(parents=True)
    (tmp_path / "third" / "frames" / "frame.txt").touch()
    status, _, error = label(*call[:-1], "third")
    assert (status, "holds other files" in error) == (2, True)


def test_foreign_files_are_not_replaced(label, tmp_path):
    assert label("astronaut.png", "--out", "labels")[0] == 0
    path = tmp_path / "labels" / "annotations.json"
    path.write_text(path.read_text() + " ")
    status, _, error = label("astronaut.png", "--out", "labels")
    assert status == 2
    assert "annotations.json: was not written by gdl-match label, or has been changed since" in error
    status, _, error = label("cup.png", "--out", "labels")
    assert (status, "belongs to a run with other references" in error) == (2, True)
    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "labels.jsonl")
    status, _, error = label("cup.png", "--out", "pipes")
    assert (status, "labels.jsonl: is not a file" in error) == (2, True)
    status, _, error = label("cup.png", "--out", "photos")
    assert (status, "holds both.png, which gdl-match label did not write" in error) == (2, True)
    assert sorted(entry.name for entry in (tmp_path / "photos").iterdir()) == ["both.png", "cat.png"]


def test_unusable_input_is_rejected(label, tmp_path):
    Image.new("L", (60, 60)).save("flat.png")
    (tmp_path / "empty.json").write_text('{"shapes": [], "imagePath": "cup.png"}')
    (tmp_path / "gone.json").write_text(
        '{"shapes": [{"label": "a", "points": [[0, 0]]}], "imagePath": "no.png"}'
    )
    (tmp_path / "wrong.json").write_text("[1]")
    (tmp_path / "other.json").write_text("{}")
    for arguments, message in (
        (["none.png"], "none.png: no such file"),
        (["flat.png"], "flat.png: flat has no features, so it can't be found"),
        (["empty.json"], "empty.json: has no boxes and no polygons"),
        (["gone.json"], "gone.json: there is no picture no.png beside it, in images, in the folder above"),
        (["wrong.json"], "wrong.json: is not a label file of COCO, LabelMe, YOLO or Pascal VOC"),
        (
            ["other.json"],
            "Pascal VOC, or a table of boxes ('categories' is missing)",
        ),
        (["cup.png", "astronaut.png", "--mask", "cup.png"], "astronaut.png: has no --mask"),
        (
            ["cup.png", "--mask", "a.png", "--mask", "b.png"],
            "--mask b.png: there are more masks than pictures",
        ),
    ):
        status, _, error = label(*arguments, "--out", "labels")
        assert (status, error.count("\n")) == (2, 1), error
        assert message in error
        assert not (tmp_path / "labels").exists()
    (tmp_path / "photos" / "both.jpg").write_bytes(b"damaged")
    status, _, error = label("cup.png", "--out", "labels", "--format", "yolo")
    assert status == 2
    assert "both.jpg and both.png would have the same label file" in error
    status, output, error = label("cup.png", "--out", "labels")
    assert status == 0
    assert "gdl-match label: error: photos/both.jpg: is not a picture that can be read" in error
    assert "2 pictures, 1 without labels" in output


def test_several_formats_are_written_as_each_alone(label, begin, tmp_path):
    things = "astronaut.png", "cup.png"
    assert label(*things, "--out", "both", "--format", "csv,yolo", "--format", "coco")[0] == 0
    files = [name for name in list_files(tmp_path / "both") if name != "labels.jsonl"]
    assert {"labels.csv", "data.yaml", "annotations.json"} < set(files)
    for form in ("csv", "yolo", "coco"):
        begin(form)
        assert label(*things, "--out", form, "--format", form)[0] == 0
        for name in (name for name in list_files(tmp_path / form) if name != "labels.jsonl"):
            assert (tmp_path / form / name).read_bytes() == (tmp_path / "both" / name).read_bytes()
            files.remove(name)
    assert files == []
    assert label(*things, "--out", "both", "--format", "csv,none")[0] == 2


def list_files(folder):
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def test_labels_below_the_smallest_score_are_left_out(label, tmp_path):
    """They are counted, and the same record gives them again without the option."""
    arguments = ["astronaut.png", "cup.png", "--out", "labels", "--format", "csv"]
    assert label(*arguments)[0] == 0
    rows = read_csv(tmp_path / "labels" / "labels.csv")[:2]
    scores = [float(row["score"]) for row in rows]
    assert all(score >= 0.75 for score in scores)
    assert [row["how sure"] for row in rows] == ["sure", "sure"]
    assert [row["same"] for row in rows] == ["yes", "yes"]
    status, output, _ = label(*arguments, "--min-score", "1")
    assert status == (0 if 1 in scores else 1)
    left_out = sum(score < 1 for score in scores)
    noun = "label" if left_out == 1 else "labels"
    assert f"{left_out} more {noun} left out, with a score below --min-score 1" in output
    assert label(*arguments)[0] == 0
    assert read_csv(tmp_path / "labels" / "labels.csv")[:2] == rows
    assert "must be a number from 0 to 1" in label(*arguments, "--min-score", "x")[2]


def test_nothing_found_gives_status_1(label, tmp_path):
    (tmp_path / BOTH).unlink()
    assert label("cup.png", "--out", "labels")[0] == 1
    assert json.loads((tmp_path / "labels" / "annotations.json").read_text())["annotations"] == []


def test_odd_names_of_classes_leave_files_readable(label, tmp_path):
    Path("cup.png").rename("=cup\x07\x85.png")
    assert label("=cup\x07\x85.png", "--out", "labels", "--format", "voc,yolo,csv")[0] == 0
    root = ElementTree.parse(tmp_path / "labels" / "Annotations" / "both.xml").getroot()
    assert root.findtext("object/name") == "=cup??"
    assert yaml.safe_load((tmp_path / "labels" / "data.yaml").read_text())["names"] == ["=cup??"]
    assert read_csv(tmp_path / "labels" / "labels.csv")[0]["class"].startswith("'=cup")


def test_picture_that_cannot_be_searched_is_not_counted_as_nothing_found(label, monkeypatch):
    monkeypatch.setattr(run, "match_pair", raise_memory_error)
    assert label("cup.png", "--out", "labels")[0] == 2


def raise_memory_error(*_):
    raise MemoryError
