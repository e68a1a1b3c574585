"""What a result offers in Python."""

import inspect
import io
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from planting import crops, object_pair

from matching import InputError, MatchConfig, MatchResult, find_repeats, match
from matching.drivers.pair import list_steps
from matching.grouping import config
from matching.objects.description import describe_object
from matching.output.figures.drawing import draw_result


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    paths = [folder / name for name in ("left.png", "right.png")]
    for path, pixels in zip(paths, object_pair(), strict=True):
        Image.fromarray(pixels).save(path)
    return paths


@pytest.fixture(scope="module")
def reports():
    return []


@pytest.fixture(scope="module")
def found(files, reports):
    return match(*files, max_matches=1500, progress=lambda *words: reports.append(words))


def test_settings_are_changed_by_name(found):
    assert found.config == MatchConfig().with_settings(max_matches=1500)
    assert found.config.candidates.max_matches == 1500
    assert len(found.xy0) == 1500


def test_progress_is_reported_step_by_step(found, reports):
    steps = list_steps(found.config)
    assert reports == [(step, k, len(steps)) for k, step in enumerate(steps, 1)]
    assert list(found.timings) == list(steps)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"max_match": 5}, TypeError, r"there is no setting 'max_match' \(did you mean 'max_matches'\?\)"),
        ({"rounds": 2}, TypeError, "graph__rounds or objects__rounds"),
        ({"graph__bandwidth": 2}, TypeError, "there is no setting 'graph__bandwidth'"),
        ({"suppression__shar": 1}, TypeError, r"\(did you mean 'suppression__share'\?\)"),
        ({"max_matches": 0}, InputError, "max_matches must be at least 1, got 0"),
        ({"max_matches": "many"}, InputError, "max_matches must be a whole number from .*, got 'many'"),
        ({"max_distance": np.ones(2)}, InputError, "max_distance must be a number from 0 to 2, got array"),
        ({"max_pixels": None}, InputError, "max_pixels must be a whole number from .*, got None"),
        ({"regions": None}, InputError, "regions must be some of .*, got None"),
        ({"max_pixels": 0}, InputError, "max_pixels must be at least 1, got 0"),
    ],
)
def test_impossible_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        match(np.zeros((9, 9)), np.zeros((9, 9)), **settings)


def test_ambiguous_setting_names_mean_clustering():
    changed = MatchConfig().with_settings(n_neighbors=20)
    assert changed == replace(changed, clustering=replace(MatchConfig().clustering, n_neighbors=20))


def test_repr_of_settings_shows_changes_from_defaults():
    assert repr(MatchConfig()) == "MatchConfig()"
    changed = MatchConfig(mirrored=True).with_settings(n_clusters=9)
    assert repr(changed) == "MatchConfig(mirrored=True, clustering=ClusteringConfig(n_clusters=9))"
    assert eval(repr(MatchConfig.paper()), vars(config)) == MatchConfig.paper()
    assert len(str(inspect.signature(match))) < 400


def test_object_has_its_points_and_confidence(found):
    for one in found.objects:
        rows = found.cluster == one.id
        assert np.array_equal(one.points0, found.xy0[rows])
        assert np.array_equal(one.points1, found.xy1[rows])
        assert one.confidence == "sure"
    assert found.confidence == "sure"


def test_representations_are_one_short_line(found):
    kept = (found.cluster >= 0).sum()
    assert repr(found) == f"<MatchResult: 2 objects, sure, {kept} of 1500 candidates>"
    one = found.objects[0]
    words = f"{one.n_matches} matches, score {one.score:.2f}, same size, moved by 0, 220"
    assert repr(one) == f"<MatchedObject 0: sure, {words}, {one.sameness}>"


def test_a_result_is_drawn_and_saved(found, tmp_path):
    drawn = found.draw()
    assert np.array_equal(drawn, draw_result(*found.inputs.pictures(), found))
    folder = found.save(tmp_path / "out", html=True, crops=True)
    assert {path.name for path in folder.iterdir()} == {
        *("matches.npz", "matches.json", "matches.png", "matches.html"),
        *(f"object{k}-crop{side}.png" for k in range(2) for side in range(2)),
    }
    with Image.open(folder / "matches.png") as image:
        assert np.array_equal(np.asarray(image), drawn)


def test_arrays_and_masks_are_drawn():
    pair = object_pair()
    mask = np.zeros(pair[0].shape[:2], bool)
    mask[:, :220] = True
    result = match(*pair, mask0=mask, max_matches=500)
    assert result.draw().shape[0] == 440
    assert np.array_equal(result.inputs.pictures()[0].mask, mask)


def test_changed_file_is_not_drawn(found, files, tmp_path):
    changed = tmp_path / "changed.png"
    Image.new("L", (30, 20)).save(changed)
    now = replace(found, inputs=replace(found.inputs, images=(changed, files[1])))
    with pytest.raises(InputError, match=r"changed.png: is now 30 x 20, but was 440 x 220"):
        now.draw()
    gone = replace(found, inputs=replace(found.inputs, images=(tmp_path / "gone.png", files[1])))
    with pytest.raises(InputError, match=r"gone.png: no such file"):
        gone.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_changed_pixels_are_not_drawn(tmp_path):
    pair = object_pair()
    for k, array in enumerate(pair):
        Image.fromarray(array).save(tmp_path / f"{k}.png")
    mask = np.ones(pair[1].shape[:2], bool)
    found = match(tmp_path / "0.png", pair[1], mask1=mask, max_matches=500)
    found.draw()
    changed = pair[0].copy()
    changed[5, 5] ^= 1
    Image.fromarray(changed).save(tmp_path / "0.png")
    with pytest.raises(InputError, match=r"0\.png: the picture or its mask has changed since it was matched"):
        found.save(tmp_path / "out")
    Image.fromarray(pair[0]).save(tmp_path / "0.png")
    for array in (pair[1], mask):
        before = array[0, 0].copy()
        array[0, 0] = ~before
        with pytest.raises(InputError, match="image1: the picture or its mask has changed"):
            found.draw()
        array[0, 0] = before
    found.save(tmp_path / "out")


def test_result_without_pictures_reports_it():
    xy = np.random.default_rng(0).uniform(0, 90, (30, 2))
    one = describe_object(0, xy, xy, 0.35, log_nfa=-6.0)
    result = MatchResult(xy, xy, np.zeros(30, int), np.zeros(30), (one,))
    assert repr(result) == "<MatchResult: 1 object, likely, 30 of 30 candidates>"
    with pytest.raises(InputError, match="no pictures to draw on; give them to group_matches as image0"):
        result.draw()


def test_contents_of_files_and_open_files_are_accepted(found, files, tmp_path):
    content, second = files[0].read_bytes(), io.BytesIO(b"??" + files[1].read_bytes())
    second.seek(2)  # a file is read from where it stands
    taken = match(content, second, max_matches=1500)
    assert np.array_equal(taken.xy1, found.xy1)
    assert np.array_equal(taken.cluster, found.cluster)
    assert taken.draw().shape == found.draw().shape  # the file has been read to its end, once
    mask = io.BytesIO()
    Image.fromarray(np.full((220, 440), 255, np.uint8)).save(mask, "PNG")
    mask.seek(0)
    assert len(match(bytearray(content), files[1], mask0=mask, max_matches=1500).objects) == 2


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (b"", "image0: is empty"),
        (b"no picture", "image0: is not a picture that can be read"),
        (io.StringIO("text"), "image0: a file must be opened in binary mode, got str"),
    ],
)
def test_contents_that_are_not_a_picture_are_refused(image, message):
    with pytest.raises(InputError, match=message):
        match(image, np.zeros((60, 60)))


def test_boxes_and_polygons_lie_in_the_second_picture(found):
    polygons, boxes = found.polygons(), found.boxes()
    for one, polygon, box in zip(found.objects, polygons, boxes, strict=True):
        assert np.array_equal(polygon, one.outline1)
        assert np.array_equal(box, [*polygon.min(axis=0), *polygon.max(axis=0)])
    # either object covers a quarter of picture 0 or more: its frame, cut at the edges of picture 1
    assert np.allclose(
        found.boxes(frame=True), [[-0.5, 219.5, 439.5, 439.5], [-0.5, -0.5, 439.5, 219.5]], atol=0.1
    )
    nothing = replace(found, objects=())
    assert nothing.boxes().shape == (0, 4)
    small = replace(found.objects[0], motion=replace(found.objects[0].motion, share=0.1))
    assert np.array_equal(replace(found, objects=(small,)).polygons(frame=True)[0], small.outline1)
    unknown = replace(found, inputs=None).boxes(frame=True)  # the size of the picture
    assert np.allclose(unknown[0], [-0.5, 219.5, 439.5, 439.5], atol=0.1)


def test_objects_are_listed_in_a_data_frame(found, monkeypatch):
    table = found.to_dataframe()
    assert len(table) == 2
    assert table.n_matches.tolist() == [one.n_matches for one in found.objects]
    assert table.confidence.tolist() == ["sure", "sure"]
    assert table.log_nfa.tolist() == [one.log_nfa for one in found.objects]
    assert np.array_equal(table[["left", "top", "right", "bottom"]], found.boxes())
    assert table.scale.round(2).tolist() == [1.0, 1.0]
    unmoved = replace(found, objects=(replace(found.objects[0], motion=None),)).to_dataframe()
    assert unmoved.turn.isna().all()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="to_dataframe needs pandas"):
        found.to_dataframe()


def test_a_notebook_shows_picture_and_table(found):
    shown = found._repr_html_()
    assert shown.count("<img") == 1
    assert 'src="data:image/jpeg;base64,' in shown
    assert "2 objects in both" in shown
    cells = re.findall("<td>(.*?)</td>", shown)
    assert cells[1] == str(found.objects[0].n_matches)
    assert cells[3] == "sure"
    assert "<script" not in shown
    assert "<details><summary>Rejected matches, and why</summary>" in shown
    without = replace(found, inputs=None)._repr_html_()
    assert "<img" not in without
    assert re.findall("<td>(.*?)</td>", without) == cells


def test_a_notebook_shows_repeats_and_why_there_is_nothing():
    pictures = crops()
    repeats = find_repeats(np.hstack([pictures["coffee"], pictures["chelsea"], pictures["coffee"]]))
    assert repeats.is_single_picture
    shown = repeats._repr_html_()
    assert "1 thing that appears more than once" in shown
    assert shown.count("<th>places</th>") == 1
    flat = match(np.zeros((60, 80)), np.zeros((60, 80)))._repr_html_()
    assert "No common object" in flat
    assert "no features" in flat
    assert "<table>" not in flat
    assert "<details>" not in flat
