"""Time a match, step by step, and in the same run what OpenCV alone needs for the same pair.

OpenCV's part is SIFT.detectAndCompute on both pictures and a brute-force 2-nearest-neighbour match: the least
that a user could do. Without pictures, the pair is a composite, 960 px, of shipped photographs or of those in
--models and --tiles. Prints Markdown. Times are medians of warm runs; CPU times are summed over
all threads. Run it on a quiet machine, with Linux or macOS.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

from eval.common.measuring import Clock, peak_megabytes
from eval.common.options import add_options, at_least, choose_photographs
from matching import match
from matching.pictures.images import make_picture_of_array, read_picture
from synth.composite import composite_pair


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pictures", nargs="*", type=Path, metavar="PICTURE", help="two pictures, or none")
    add_options(parser, "models", "tiles")
    parser.add_argument(
        "--repeats",
        type=at_least(1),
        default=7,
        help="number of runs; times are their medians (default: 7)",
    )


def run(options: argparse.Namespace) -> None:
    if len(options.pictures) not in (0, 2):
        raise ValueError(f"two pictures are needed, or none, got {len(options.pictures)}")
    pictures = [read_picture(path) for path in options.pictures] or _composite(choose_photographs(options))
    if options.pictures:  # first: Linux counts a process's memory as that of its children
        print_command(options.pictures, options.repeats)
    print_stages(*_seconds_side_by_side(pictures, options.repeats))
    print(f"\nload average of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def _composite(photographs):
    pair = composite_pair(photographs, 3, 5.0, 0)
    return [
        make_picture_of_array(image, name)
        for image, name in ((pair.image0, "first"), (pair.image1, "second"))
    ]


def _seconds_side_by_side(pictures, repeats):
    """Seconds of OpenCV's part and of the steps of a match, (wall, CPU) each.

    Both run in turn, after a first run of each to warm up.
    """
    greys = [picture.grey for picture in pictures]
    opencv_alone(greys)
    match(*pictures)
    theirs, ours = [], []
    for _ in range(repeats):
        clock = Clock()
        opencv_alone(greys)
        theirs.append(clock.seconds())
        clock, ends = Clock(), [(0.0, 0.0)]
        result = match(*pictures, progress=lambda *_: ends.append(clock.seconds()))  # noqa: B023
        _ = result.objects
        ends.append(clock.seconds())
        ours.append(dict(zip([*result.timings, "objects read"], np.diff(ends, axis=0), strict=True)))
    return theirs, ours


def opencv_alone(greys):
    """SIFT of both pictures, and the two nearest neighbours of each descriptor."""
    sift = cv2.SIFT_create()
    first, second = (sift.detectAndCompute(grey, None)[1] for grey in greys)
    return cv2.BFMatcher(cv2.NORM_L2).knnMatch(first, second, k=2)


def print_stages(theirs, ours):
    """Print medians of the steps, of the match, and of OpenCV's part."""
    peer, total = np.median(theirs, axis=0), np.median([sum(t.values()) for t in ours], axis=0)
    print("| step | seconds | of CPU |\n|---|---|---|")
    for stage in ours[0]:
        _print_row(stage, np.median([t[stage] for t in ours], axis=0))
    _print_row("match, in all", total)
    _print_row("OpenCV alone", peer)
    _print_row("ratio", total / peer)


def _print_row(name, values):
    print(f"| {name} | {values[0]:.3f} | {values[1]:.3f} |")


# The shortest script that reads, matches, fits and draws: what a user would write.
OPENCV_SCRIPT = """
import sys
import cv2
import numpy as np
first, second = (cv2.imread(path) for path in sys.argv[1:3])
sift = cv2.SIFT_create()
(points0, near0), (points1, near1) = (
    sift.detectAndCompute(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), None) for image in (first, second)
)
found = cv2.BFMatcher(cv2.NORM_L2).knnMatch(near0, near1, k=2)
good = [m for m, n in found if m.distance < 0.8 * n.distance]
ends = [np.float32([points[i].pt for i in rows]) for points, rows in (
    (points0, [m.queryIdx for m in good]), (points1, [m.trainIdx for m in good])
)]
_, mask = cv2.findHomography(*ends, cv2.USAC_MAGSAC, 5.0)
drawn = cv2.drawMatches(first, points0, second, points1, good, None, matchesMask=mask.ravel().tolist())
cv2.imwrite(sys.argv[3], drawn)
"""


def print_command(paths, repeats):
    """Time the whole command and an OpenCV script, in turn, after a first run of each that fills caches."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(__file__).parents[2] / "scripts" / "match.py"
        ours = [sys.executable, here, *paths, "--out", folder, "--quiet"]
        theirs = [sys.executable, "-c", OPENCV_SCRIPT, *paths, Path(folder, "opencv.png")]
        runs = [(_run(ours), _run(theirs)) for _ in range(repeats + 1)][1:]
    (seconds, memory), (peer, peer_memory) = np.median(runs, axis=0)
    print(f"The command, figure included: {seconds:.2f} s, {memory:.0f} MB at most")
    print(f"A script with OpenCV alone: {peer:.2f} s, {peer_memory:.0f} MB; ratio {seconds / peer:.1f}\n")


def _run(command):
    """Seconds and peak memory in MB of one run."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()  # the first run compiles modules and keeps them, as usual
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) > 1:
        raise RuntimeError(f"{' '.join(map(str, command))} failed")
    return time.perf_counter() - start, peak_megabytes(usage)
