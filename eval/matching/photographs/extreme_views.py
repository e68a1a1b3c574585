"""Surfaces seen from very different directions: plain matching, simulated views, and OpenCV's ASIFT.

Three kinds of pairs with known homographies, all in the folder of the data: photographs of EVD (pairs/evd_*
with img1, img2, H1to2.txt), Oxford's graffiti (pairs/graf with img1, img2, ..., H1to2p.txt, ...), and
pictures of tiles/, foreshortened by factors of 1 to 8. Writes views.csv; prints the pairs that each method
solves, and CPU times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from eval.common.options import add_options, at_least
from eval.common.tables import format_markdown, write_csv
from matching import MatchConfig, match
from matching.objects.transforms import apply_transform
from synth.photographs import SUFFIXES, read_folder, read_picture

TILTS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
NEAR = 8.0  # largest error of a right match, in pixels of either image
LEAST_RIGHT, LEAST_SHARE = 10, 0.6  # right matches of a solved pair, and their share of all matches kept
NOISE = 3.0  # standard deviation of the grey levels of a tilted picture
RATIO, ASIFT_TOLERANCE, LEAST_ASIFT = 0.75, 4.0, 12  # the rival's ratio test, MAGSAC, inliers
METHODS = ("plain", "views", "ASIFT")
COLUMNS = ("data", "pair", "method", "solved", "matches", "seconds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", out="views")
    parser.add_argument("--pictures", type=at_least(1), default=10, help="pictures of tiles (default: 10)")


def run(args: argparse.Namespace) -> None:
    pairs = chain(
        read_photographed(args.data / "pairs"),
        read_sequence(args.data / "pairs" / "graf"),
        make_tilted(args.data / "tiles", args.pictures),
    )
    rows = []
    for row in tqdm(measure(pairs), desc="pairs and methods"):
        rows.append(row)
        write_csv(args.out / "views.csv", COLUMNS, rows)  # after each pair and method, because all take long
    print(format_table(rows))


@dataclass(frozen=True, eq=False)
class PlanePair:
    """Two pictures (h, w, 3) of a plane; `homography` (3, 3) takes the first to the second."""

    data: str
    name: str
    image0: NDArray[np.uint8]
    image1: NDArray[np.uint8]
    homography: NDArray[np.float64]


def read_photographed(folder: Path) -> Iterator[PlanePair]:
    """The pairs of all folders that begin with evd_. Raises ValueError if there is none."""
    scenes = sorted(folder.glob("evd_*/H1to2.txt"))
    if not scenes:
        raise ValueError(f"{folder} must hold folders evd_* with img1, img2 and H1to2.txt, found none")
    for path in scenes:
        pictures = (read_picture(next(path.parent.glob(f"img{k}.*"))) for k in (1, 2))
        yield PlanePair("EVD", path.parent.name, *pictures, np.loadtxt(path))


def read_sequence(folder: Path) -> Iterator[PlanePair]:
    """The pairs of a sequence in Oxford's layout. Raises ValueError if there is none."""
    found = sorted((int(path.stem[4:-1]), path) for path in folder.glob("H1to*p.txt"))
    if not found:
        raise ValueError(f"{folder} must hold H1to2p.txt, H1to3p.txt, ... (homographies), found none")
    for number, path in found:
        pictures = (_read_numbered(folder, k) for k in (1, number))
        yield PlanePair(folder.name, f"1-{number}", *pictures, np.loadtxt(path))


def _read_numbered(folder, number):
    found = sorted(p for p in folder.glob(f"img{number}.*") if p.suffix.lower() in SUFFIXES)
    if not found:
        raise ValueError(f"{folder} must hold img{number} as a picture, found none")
    return read_picture(found[0])


def make_tilted(folder: Path, n_pictures: int, seed: int = 0) -> Iterator[PlanePair]:
    """Pictures of a folder, each paired with itself at each of TILTS, in a random direction."""
    rng = np.random.default_rng(seed)
    pictures = read_folder(folder)
    chosen = np.linspace(0, len(pictures) - 1, min(n_pictures, len(pictures))).astype(int)
    for tilt in TILTS:
        for k in chosen:
            image, matrix = tilt_picture(pictures[k], tilt, rng.uniform(0, np.pi), rng)
            yield PlanePair(f"tilt {tilt:g}", str(k), pictures[k], image, matrix)


def tilt_picture(
    image: NDArray[np.uint8], tilt: float, angle: float, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """A picture as a weak-perspective camera sees it from the side, and the homography to it.

    The picture is squeezed `tilt` times in the direction of `angle` (it is blurred as by a lens, then
    sampled), turned by a random angle, and put on a background of noise.
    """
    height, width = image.shape[:2]
    c, s = np.cos(angle), np.sin(angle)
    axes = np.array([[c, s], [-s, c]])
    turn = rng.uniform(-np.pi / 6, np.pi / 6)
    upright = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    linear = upright @ axes.T @ np.diag([1 / tilt, 1]) @ axes
    corners = np.array([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]]) @ linear.T
    margin = 40
    offset = margin - corners.min(axis=0)
    size = np.ceil(np.ptp(corners, axis=0)).astype(int) + 1 + 2 * margin
    matrix = np.vstack([np.column_stack([linear, offset]), [0, 0, 1]])
    blurred = _blur_along(image, (c, s), 0.8 * np.sqrt(tilt**2 - 1))
    warped = cv2.warpPerspective(blurred, matrix, tuple(size.tolist()), flags=cv2.INTER_CUBIC)
    inside = cv2.warpPerspective(np.ones((height, width), np.uint8), matrix, tuple(size.tolist()))
    shown = np.where(inside[:, :, None] > 0, warped, 128).astype(float)
    noisy = shown + rng.normal(0, NOISE, shown.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8), matrix


def _blur_along(image, direction, sigma):
    """A picture blurred by a Gaussian along one direction."""
    if sigma < 0.1:
        return image
    reach = int(np.ceil(3 * sigma))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    along = x * direction[0] + y * direction[1]
    across = -x * direction[1] + y * direction[0]
    kernel = np.exp(-(along**2) / (2 * sigma**2) - across**2 / (2 * 0.3**2))
    return cv2.filter2D(image, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REPLICATE)


def solve(method: str, pair: PlanePair) -> tuple[NDArray, NDArray]:
    """The points (n, 2) of the two images that a method keeps."""
    if method == "ASIFT":
        return asift(pair.image0, pair.image1)
    config = replace(MatchConfig(), view_synthesis=method == "views")
    result = match(pair.image0, pair.image1, config)
    kept = result.cluster >= 0
    return result.xy0[kept], result.xy1[kept]


def asift(image0: NDArray[np.uint8], image1: NDArray[np.uint8]) -> tuple[NDArray, NDArray]:
    """OpenCV's ASIFT, the ratio test, and one homography by MAGSAC."""
    detector = cv2.AffineFeature_create(cv2.SIFT_create())
    greys = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in (image0, image1)]
    (points0, words0), (points1, words1) = (detector.detectAndCompute(grey, None) for grey in greys)
    search = cv2.FlannBasedMatcher({"algorithm": 1, "trees": 4}, {"checks": 64})
    good = [m for m, n in search.knnMatch(words0, words1, k=2) if m.distance < RATIO * n.distance]
    x = np.float64([points0[m.queryIdx].pt for m in good]).reshape(-1, 2)
    y = np.float64([points1[m.trainIdx].pt for m in good]).reshape(-1, 2)
    none = x[:0], y[:0]
    if len(x) < 8:
        return none
    found = cv2.findHomography(x, y, cv2.USAC_MAGSAC, ASIFT_TOLERANCE, maxIters=10_000, confidence=0.9999)[1]
    inlier = np.zeros(len(x), bool) if found is None else found.ravel() > 0
    return (x[inlier], y[inlier]) if np.count_nonzero(inlier) >= LEAST_ASIFT else none


def is_solved(xy0: NDArray, xy1: NDArray, homography: NDArray) -> bool:
    """Whether enough matches, and most of them, are right in both images.

    >>> points = np.random.default_rng(0).uniform(0, 99, (20, 2))
    >>> is_solved(points, points, np.eye(3)), is_solved(points, points + 9, np.eye(3))
    (True, False)
    """
    if len(xy0) == 0:
        return False
    there = np.linalg.norm(apply_transform(homography, xy0) - xy1, axis=1)
    back = np.linalg.norm(apply_transform(np.linalg.inv(homography), xy1) - xy0, axis=1)
    right = np.count_nonzero(np.maximum(there, back) < NEAR)
    return bool(right >= LEAST_RIGHT and right >= LEAST_SHARE * len(xy0))


def measure(pairs: Iterator[PlanePair], methods: Sequence[str] = METHODS) -> Iterator[dict]:
    """A row for each pair and method: data, pair, method, solved, matches, CPU seconds."""
    for pair in pairs:
        for method in methods:
            start = time.process_time()
            xy0, xy1 = solve(method, pair)
            seconds = time.process_time() - start
            yield {
                "data": pair.data,
                "pair": pair.name,
                "method": method,
                "solved": is_solved(xy0, xy1, pair.homography),
                "matches": len(xy0),
                "seconds": seconds,
            }


def format_table(rows: list[dict], methods: Sequence[str] = METHODS) -> str:
    """A line for each set of pairs: solved pairs, and seconds per pair of each method."""
    lines = []
    for data in dict.fromkeys(row["data"] for row in rows):
        cells = [data]
        for method in methods:
            own = [row for row in rows if row["data"] == data and row["method"] == method]
            seconds = np.mean([row["seconds"] for row in own])
            cells.append(f"{sum(row['solved'] for row in own)} of {len(own)}, {seconds:.1f} s")
        lines.append(cells)
    return format_markdown(["pairs", *methods], lines)
