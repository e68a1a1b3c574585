"""Photographs outside the project: the folder that GDL_DATA names holds pairs/ and tiles/."""

import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from eval.matching import command
from matching import match
from matching.objects.transforms import apply_transform
from matching.pictures.images import read_picture

DATA = Path(os.environ["GDL_DATA"]) if os.environ.get("GDL_DATA") else None


def path(name):
    if DATA is None or not (DATA / name).exists():
        pytest.skip(f"needs GDL_DATA with {name}")
    return DATA / name


def ransac_homography(grey0, grey1):
    """What OpenCV's SIFT, ratio test and RANSAC give."""
    sift = cv2.SIFT_create()
    (points0, d0), (points1, d1) = (sift.detectAndCompute(g, None) for g in (grey0, grey1))
    pairs = [a for a, b in cv2.BFMatcher().knnMatch(d0, d1, k=2) if a.distance < 0.75 * b.distance]
    xy0 = np.float32([points0[m.queryIdx].pt for m in pairs])
    xy1 = np.float32([points1[m.trainIdx].pt for m in pairs])
    return cv2.findHomography(xy0, xy1, cv2.RANSAC, 3.0)[0]


def test_box_in_scene():
    box, scene = (read_picture(path(f"pairs/opencv/{name}.png")) for name in ("box", "box_in_scene"))
    result = match(box, scene)
    assert len(result.objects) == 1
    corners = np.array([[0, 0], [box.width, 0], [box.width, box.height], [0, box.height]], float)
    expected = apply_transform(ransac_homography(box.grey, scene.grey), corners)
    found = apply_transform(result.objects[0].transform, corners)
    assert np.linalg.norm(found - expected, axis=1).max() < 5


def test_unrelated_photographs_have_no_common_object(tmp_path, capsys):
    tiles = sorted(path("tiles").glob("*.jpg"))[:2]
    status = command.main([*map(str, tiles), "--out", str(tmp_path), "--quiet", "--no-figure"])
    assert status == 1
    assert capsys.readouterr().out == "no common object\n"
