import os
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from PIL import Image

from eval.matching.photographs.homography import corner_error, measure, sequence

DATA = Path(os.environ["GDL_DATA"]) if os.environ.get("GDL_DATA") else None


def test_corners_are_pixel_centres():
    double = np.diag([2.0, 2, 1])
    assert corner_error(double, np.eye(3), 101, 1) == pytest.approx(50)  # 0 and 100 px, two corners each


def test_a_scale_of_the_matrix_does_not_matter():
    truth = np.array([[1.1, 0.2, 30], [-0.15, 0.9, 60], [4e-4, -2e-4, 1]])
    assert corner_error(-3 * truth, truth, 640, 480) == pytest.approx(0, abs=1e-9)


def test_a_planted_sequence(tmp_path):
    coffee = skimage.data.coffee()
    Image.fromarray(coffee[:360, :560]).save(tmp_path / "img1.png")
    Image.fromarray(coffee[40:, 30:]).save(tmp_path / "img3.png")
    np.savetxt(tmp_path / "H1to3p.txt", [[1, 0, -30], [0, 1, -40], [0, 0, 1]])
    (row,) = measure(tmp_path)
    assert (row["pair"], row["objects"]) == ("1-3", 1)
    assert row["error"] < 0.5
    assert row["ransac_error"] < 0.5


def test_folders_without_a_sequence_are_told(tmp_path):
    with pytest.raises(ValueError, match="must hold H1to2p"):
        list(sequence(tmp_path))
    np.savetxt(tmp_path / "H1to2p.txt", np.eye(3))
    with pytest.raises(ValueError, match="must hold img1"):
        list(sequence(tmp_path))


def test_the_graffiti_wall():
    if DATA is None or not (DATA / "pairs" / "graf").is_dir():
        pytest.skip("needs GDL_DATA with pairs/graf")
    rows = list(islice(measure(DATA / "pairs" / "graf"), 3))
    assert [row["pair"] for row in rows] == ["1-2", "1-3", "1-4"]
    for row, limit in zip(rows, (5, 10, 20), strict=True):
        assert row["error"] < limit
