"""Are logos found in photographs from Flickr?

Each of logos/references is matched with photographs that show the logo, and with others. The logo
is found if half of the matches of an object are in a labelled box, enlarged by a tenth; an object elsewhere
is false. The rival is OpenCV's SIFT, with a ratio test of 0.8, MAGSAC at 3 pixels, and at least 8 different
points. Seconds are CPU time.
"""

import argparse
import json
from itertools import pairwise

import cv2
import numpy as np
from tqdm import tqdm

from eval.common.measuring import Clock
from eval.common.options import add_options, at_least
from eval.common.tables import format_markdown
from matching import match

SIDES = 0, 30, 50, 100, 200, 300, 500  # pixels, of the longer side of the largest box
MARGIN = 0.1  # of the longer side of a box
FEWEST, RATIO, TOLERANCE = 8, 0.8, 3.0  # of the rival: fewest points, ratio test, tolerance in pixels
SIFT = cv2.SIFT_create()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data")
    parser.add_argument(
        "--every", type=at_least(1), default=1, help="use only every nth photograph of a logo (default: 1)"
    )


def run(args: argparse.Namespace) -> None:
    folder = args.data / "logos"
    labels = json.loads((folder / "labels.json").read_text())
    asked = [
        (name, scene, entry["scenes"].get(scene))
        for name, entry in labels.items()
        for group in ("scenes", "without")
        for scene in list(entry[group])[:: args.every]
    ]
    rows, false, seconds = [], np.zeros(2, int), np.zeros(2)
    for name, scene, boxes in tqdm(asked):
        paths = folder / "references" / f"{name}.jpg", folder / "scenes" / scene
        of_each = []
        for k, find in enumerate((find_by_match, find_by_sift)):
            clock = Clock()
            of_each.append(find(*paths))
            seconds[k] += clock.seconds().cpu
        if boxes is None:
            false += [len(objects) > 0 for objects in of_each]
        else:
            sides = [max(x1 - x0, y1 - y0) for x0, y0, x1, y1 in boxes]
            found = [any(is_in_a_box(points, boxes) for points in objects) for objects in of_each]
            rows.append((name, max(sides), *found))
    report(rows, false, len(asked) - len(rows), seconds / len(asked))


def report(rows, false, n_without, seconds):
    """Print tables by size and by logo; each row is (name, longer side, found, found by SIFT)."""
    groups = {
        f"{low} to {high}": [row for row in rows if low <= row[1] < high] for low, high in pairwise(SIDES)
    }
    names = sorted({row[0] for row in rows})
    by_name = {name: [row for row in rows if row[0] == name] for name in names}
    for what, own in (("longer side, px", groups), ("logo", by_name)):
        cells = [
            (key, *map(str, (len(of), *(sum(row[k] for row in of) for k in (2, 3)))))
            for key, of in own.items()
        ]
        print(format_markdown((what, "photographs", "found", "SIFT"), cells), "\n")
    total = [sum(row[k] for row in rows) for k in (2, 3)]
    print(
        f"found {total[0]} of {len(rows)}, SIFT {total[1]}; false {false[0]} of {n_without}, SIFT {false[1]}"
    )
    print(f"{seconds[0]:.2f} s a pair, SIFT {seconds[1]:.2f} s")


def find_by_match(reference, scene):
    """Points (n, 2) in the scene of each object."""
    return [item.points1 for item in match(reference, scene).objects]


def find_by_sift(reference, scene):
    """The same by the rival, which finds at most one object."""
    seen = [SIFT.detectAndCompute(cv2.imread(str(path), 0), None) for path in (reference, scene)]
    (keys0, words0), (keys1, words1) = seen
    if words0 is None or words1 is None or len(keys1) < 2:
        return []
    nearest = cv2.BFMatcher().knnMatch(words0, words1, k=2)
    good = [first for first, second in nearest if first.distance < RATIO * second.distance]
    if len(good) < FEWEST:
        return []
    xy0 = np.float32([keys0[m.queryIdx].pt for m in good])
    xy1 = np.float32([keys1[m.trainIdx].pt for m in good])
    homography, kept = cv2.findHomography(xy0, xy1, cv2.USAC_MAGSAC, TOLERANCE, maxIters=5000)
    points = xy1[:0] if homography is None else np.unique(xy1[kept.ravel() > 0], axis=0)
    return [points] if len(points) >= FEWEST else []


def is_in_a_box(points, boxes):
    """Whether half of points (n, 2) or more are in one of the boxes (x0, y0, x1, y1)."""
    for box in np.array(boxes, float).reshape(-1, 2, 2):
        margin = MARGIN * np.ptp(box, axis=0).max()
        if ((points > box[0] - margin) & (points < box[1] + margin)).all(axis=1).mean() >= 0.5:
            return True
    return False
