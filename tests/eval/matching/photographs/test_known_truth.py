"""Experiments on pictures of known truth: small prints, logos, how often words are right, sequences."""

import json

import numpy as np
import pytest
import skimage.data
import skimage.io

from eval import door
from eval.matching.photographs import extreme_views, logos, reliability


def save(folder, **names):
    """Save pictures that scikit-image ships, by folder and name."""
    for below, name in names.items():
        (folder / below).mkdir(exist_ok=True)
        skimage.io.imsave(folder / below / f"{name}.jpg", getattr(skimage.data, name)())


@pytest.mark.slow
def test_a_small_print_in_a_large_photograph(tmp_path, capsys):
    save(tmp_path, models="coffee", tiles="chelsea")
    save(tmp_path, tiles="rocket")
    sizes = ["--widths", "90", "--prints", "1", "--megapixels", "4"]
    assert door.main(["details", "--data", str(tmp_path), *sizes]) == 0
    row = capsys.readouterr().out.splitlines()[2].strip("| ").split(" | ")
    assert row[:3] == ["90", "1", "1"]


def test_logos_are_found_in_their_boxes(tmp_path, capsys):
    for folder in ("references", "scenes"):
        (tmp_path / "logos" / folder).mkdir(parents=True)
    sign, wall = skimage.data.coffee()[:240, 100:340], skimage.data.brick()[:300, :400]
    scene = np.repeat(wall[..., None], 3, axis=2)
    skimage.io.imsave(tmp_path / "logos/scenes/wall.jpg", scene, check_contrast=False)
    scene[40:280, 150:390] = sign
    skimage.io.imsave(tmp_path / "logos/references/Cup.jpg", sign)
    skimage.io.imsave(tmp_path / "logos/scenes/cup.jpg", scene)
    labels = {"Cup": {"scenes": {"cup.jpg": [[150, 40, 390, 280]]}, "without": ["wall.jpg"]}}
    (tmp_path / "logos/labels.json").write_text(json.dumps(labels))
    assert door.main(["logos", "--data", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "| 200 to 300 | 1 | 1 | 1 |" in told
    assert "found 1 of 1, SIFT 1; false 0 of 1, SIFT 0" in told
    assert not logos.is_in_a_box(np.array([[10.0, 10], [20, 20]]), [[150, 40, 390, 280]])


def test_unrelated_pictures_must_be_two(tmp_path, capsys):
    save(tmp_path, a="chelsea")
    assert door.main(["unrelated", *2 * [str(tmp_path / "a")]]) == 2
    assert "must hold two different pictures" in capsys.readouterr().err


def test_objects_of_a_print_in_a_photograph_are_right(tmp_path):
    save(tmp_path, models="coffee", tiles="astronaut")
    front, tile = tmp_path / "models/coffee.jpg", tmp_path / "tiles/astronaut.jpg"
    found = reliability.pasted_objects(front, tile, 180, 0.4, np.array([0.3, 0.6]))
    assert [right for _, right in found] == [True]
    assert found[0][0] < -8


def test_reliability_of_one_kind(tmp_path):
    save(tmp_path, models="coffee", tiles="astronaut", scenes="rocket")
    (tmp_path / "scenes/labels.json").write_text('{"scenes": {}, "negatives": []}')
    options = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--only", "SIFT"]
    assert door.main(["reliability", *options]) == 0
    kinds = [row["kind"] for row in reliability.read_rows(tmp_path / "out/reliability.csv")]
    assert sorted(set(kinds)) == ["SIFT, mutual", "SIFT, nearest", "SIFT, ratio 0.9"]
    assert skimage.io.imread(tmp_path / "out/reliability.png").shape[:2] == (462, 880)


def test_right_objects_are_counted_by_kind_and_class():
    values = [("ORB, x", "1", -20.0, True), ("ORB, y", "1", -8.0, False), ("ORB, x", "3", -6.0, True)]
    values += [("ORB, x", "4", -1.0, False), ("ORB, x", "5", 3.0, False), ("SIFT", "1", np.nan, False)]
    values += [("covers", "1", -4.0, True), ("covers", "2", -3.9, True), ("covers", "3", np.inf, False)]
    rows = [dict(zip(("kind", "pair", "log_nfa", "right"), row, strict=True)) for row in values]
    table = reliability.format_table(rows).splitlines()
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]
    counts = ["1 of 2", "1 of 1", "0 of 0", "0 of 1", "0 of 0", "0 of 1", "0 of 0"]
    assert lines[-3] == ["ORB", "5", *counts]
    assert lines[-2] == ["SIFT", "1", *["0 of 0"] * 7]
    assert lines[-1] == ["covers", "3", "1 of 1", "1 of 1", "0 of 1", *[""] * 4]


def test_a_sequence_with_known_homographies(tmp_path):
    with pytest.raises(ValueError, match="must hold H1to2p"):
        list(extreme_views.read_sequence(tmp_path))
    np.savetxt(tmp_path / "H1to3p.txt", [[1, 0, -30], [0, 1, -40], [0, 0, 1]])
    with pytest.raises(ValueError, match="must hold img1"):
        list(extreme_views.read_sequence(tmp_path))
    coffee = skimage.data.coffee()
    skimage.io.imsave(tmp_path / "img1.png", coffee[:360, :560])
    skimage.io.imsave(tmp_path / "img3.png", coffee[40:, 30:])
    (row,) = extreme_views.measure(extreme_views.read_sequence(tmp_path), ["plain"])
    assert (row["pair"], row["solved"]) == ("1-3", True)
