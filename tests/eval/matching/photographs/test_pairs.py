import os
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from eval import door
from eval.common.tables import read_csv
from eval.matching.photographs.pairs import LabelledPair, find_pairs, nearest_label, read_pair, score_pair
from synth.composite import composite_pair
from synth.photographs import read_shipped

EMPTY = np.zeros((4, 4, 3), np.uint8)


def labelled(n=20):
    """Object 1 near x = 0, object 2 near x = 500, the same places in both images; some outliers."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(0, 100, (n, 2)), rng.uniform(0, 100, (n, 2)) + np.array([500, 0])])
    points = np.concatenate([points, rng.uniform(0, 600, (5, 2))])
    return LabelledPair("p", EMPTY, EMPTY, np.hstack([points, points]), np.repeat([1, 2, 0], [n, n, 5]))


def score(pair, cluster, shift=0.0):
    inlier = pair.label > 0
    return score_pair(pair, pair.points[inlier, :2] + shift, pair.points[inlier, 2:], np.asarray(cluster))


def test_two_objects_found():
    s = score(labelled(), np.repeat([0, 1], 20))
    assert (s.objects, s.found, s.clusters, s.mixed, s.spurious, s.purity) == (2, 2, 2, 0, 0, 1.0)


def test_split_object_counts_once():
    s = score(labelled(), np.repeat([0, 2, 1], [10, 10, 20]))
    assert (s.found, s.clusters, s.mixed) == (2, 3, 0)


def test_mixed_cluster_finds_nothing():
    s = score(labelled(), np.zeros(40, int))
    assert (s.found, s.mixed, s.purity) == (0, 1, 0.5)


def test_cluster_on_nothing_labelled_is_spurious():
    s = score(labelled(), np.zeros(40, int), shift=300.0)
    assert (s.found, s.mixed, s.spurious, s.matches) == (0, 0, 1, 40) and np.isnan(s.purity)


def test_nothing_kept():
    s = score(labelled(), np.full(40, -1))
    assert (s.objects, s.found, s.matches) == (2, 0, 0)


def test_nearness_counts_in_both_images():
    pair = LabelledPair("p", EMPTY, EMPTY, np.array([[10.0, 10, 50, 50]]), np.array([3]))
    xy0 = np.array([[10.0, 10], [10, 10], [18, 10]])
    xy1 = np.array([[50.0, 50], [50, 70], [50, 58]])
    assert nearest_label(pair, xy0, xy1).tolist() == [3, 0, 3]


@pytest.fixture
def data(tmp_path):
    """A composite as a real pair: its objects' true points are the labelled ones."""
    pair = composite_pair(read_shipped(), 2, sigma=3, seed=1, side=160)
    rng = np.random.default_rng(0)
    xy1 = rng.uniform(0, 479, (4000, 2))
    flat = pair.warp(xy1)
    owner = pair.instance_map[tuple(np.clip(np.rint(flat[:, ::-1]).astype(int), 0, 479).T)]
    on = owner >= 0
    xy0 = flat[on] - pair.affine[owner[on], :, 2]
    folder = tmp_path / "data" / "one"
    folder.mkdir(parents=True)
    for name, image in (("img1.png", pair.image0), ("img2.png", pair.image1)):
        cv2.imwrite(str(folder / name), image[..., ::-1])
    np.savez(folder / "gt.npz", x1=xy0, x2=xy1[on], label=owner[on] + 1)
    return tmp_path / "data"


def run(*options):
    return door.main(["pairs", *options, "--jobs", "1", "--quiet"])


@pytest.mark.slow
def test_command(data, tmp_path, capsys):
    names = ("agdl", "acc", "sift-ransac")
    assert run("--data", str(data), "--out", str(tmp_path / "o"), "--methods", *names) == 0
    rows = read_csv(tmp_path / "o/pairs.csv")
    assert [r["method"] for r in rows] == list(names)
    assert {"pair", "method", "objects", "found", "mixed", "spurious", "seconds"} <= rows[0].keys()
    assert all(r["pair"] == "one" and r["objects"] == 2 and r["found"] <= 2 for r in rows)
    assert rows[0]["found"] == rows[2]["found"] == 2
    assert "| agdl | 2 | 2 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: (d / "one/gt.npz").unlink(), "must hold folders with two images and gt.npz, found none"),
        (lambda d: (d / "one/img2.png").unlink(), "one must hold two images, found 1"),
        (
            lambda d: (d / "one/gt.npz").write_bytes(b"x"),
            r"gt\.npz must be an \.npz file with arrays x1, x2 and label",
        ),
        (
            lambda d: (d / "one/gt.npz").write_bytes((d / "one/gt.npz").read_bytes()[:500]),
            r"gt\.npz must be an \.npz file with arrays x1, x2 and label: File is not a zip file",
        ),
        (
            lambda d: np.savez(d / "one/gt.npz", x1=[[0, np.nan]], x2=[[0, 0]], label=[1]),
            r"gt\.npz must hold finite numbers in x1, x2 and label",
        ),
        (lambda d: (d / "one/img1.png").write_bytes(b"x"), r"img1\.png must be an image file"),
        (
            lambda d: np.savez(d / "one/gt.npz", x1=np.zeros((3, 2)), x2=np.zeros((3, 2)), label=np.zeros(2)),
            "n, 2",
        ),
    ],
)
def test_bad_data(data, tmp_path, capsys, spoil, message):
    spoil(data)
    assert run("--data", str(data), "--out", str(tmp_path / "o")) == 2
    error = capsys.readouterr().err
    assert (
        re.search(message, error) and len(error.strip().splitlines()) == 1 and not (tmp_path / "o").exists()
    )


@pytest.mark.skipif("GDL_DATA" not in os.environ, reason="GDL_DATA names no folder of data")
def test_labelled_pairs_can_be_read():
    folders = find_pairs(Path(os.environ["GDL_DATA"]) / "pairs")
    pair = read_pair(folders[0])
    assert pair.image0.ndim == 3 and (pair.label > 0).sum() > 10
