"""Numbers for the things in the frames of a video: a thing near its previous place keeps its number."""

import re
from collections.abc import Sequence

import numpy as np
import scipy

from matching.labels.places import Place

MAX_MISSED_FRAMES = 5  # in a row, after which a thing that is seen again has a new number


def sort_frames(names: Sequence[str]) -> list[int]:
    """Sort the names of frames by the numbers in them -> rows in this order."""

    def key(row: int) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", names[row])]

    return sorted(range(len(names)), key=key)


def number_tracks(frames: Sequence[Sequence[Place]]) -> list[list[int]]:
    """Number things in consecutive frames by the assignment with the smallest sum of relative distances.

    A thing moves by at most its size from one frame to the next.
    """
    last: dict[int, tuple[int, Place]] = {}  # for each track, the last frame and the place there
    numbers, n = [], 0
    for k, places in enumerate(frames):
        tracks = [number for number, (seen, _) in last.items() if k - seen <= MAX_MISSED_FRAMES + 1]
        distance = np.array([[_distance(last[t][1], place) for place in places] for t in tracks])
        distance = distance.reshape(len(tracks), len(places))
        row = [0] * len(places)
        for i, j in zip(*scipy.optimize.linear_sum_assignment(np.minimum(distance, 2)), strict=True):
            if distance[i, j] <= 1:
                row[j] = tracks[i]
        for j, place in enumerate(places):
            if not row[j]:
                n += 1
                row[j] = n
            last[row[j]] = k, place
        numbers.append(row)
    return numbers


def _distance(a: Place, b: Place) -> float:
    """The distance of two places, in sizes of the thing; infinite if they show different things."""
    if a.name != b.name:
        return np.inf
    low, high = np.array([a.box, b.box]).reshape(2, 2, 2).swapaxes(0, 1)
    size = np.linalg.norm(high - low, axis=1).mean()
    return float(np.linalg.norm(np.diff((low + high) / 2, axis=0)) / max(size, 1e-9))
