"""The whole matcher and the usual alternative on the same composites: SIFT, the ratio test, and one
homography after another by MAGSAC. Each method is judged on the matches that it finds itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eval.common.tables import format_markdown
from eval.matching.baselines.ransac import sift_ransac
from eval.matching.synthetic.methods import Labelling
from eval.matching.synthetic.trials import measures
from matching import match
from synth.composite import composite_pair, true_instance
from synth.photographs import Photographs

SETTINGS = ((1, 5.0), (3, 5.0), (5, 5.0), (3, 0.0), (3, 15.0), (1, 15.0), (2, 10.0), (5, 0.0))  # M, sigma_n
CELL = 4.0  # px: true matches that share a cell in both images count as one place


def methods() -> dict:
    """Name -> function of two images that gives xy0, xy1 (m, 2) and cluster (m,), -1 for outliers."""
    return {
        "match": _match,
        "SIFT, ratio 0.8, sequential MAGSAC": _ordinary,
    }


def compare(photographs: Photographs, seeds: range, copies: int = 1) -> Iterator[dict]:
    """A row for each method and pair; the second image shows each object `copies` times."""
    for seed in seeds:
        n_common, sigma = SETTINGS[seed % len(SETTINGS)]
        pair = composite_pair(photographs, min(n_common, max(9 // copies, 1)), sigma, seed, copies=copies)
        for name, method in methods().items():
            start = time.perf_counter()
            xy0, xy1, cluster = method(pair.image0, pair.image1)
            seconds = time.perf_counter() - start
            instance = true_instance(pair, xy0, xy1)
            row = measures(instance, Labelling(cluster, seconds), pair)
            right = (cluster >= 0) & (instance >= 0)
            yield {"method": name, "copies": copies, "sigma": sigma, "seed": seed, **row} | {
                "places": places(xy0[right], xy1[right])
            }


def places(xy0: NDArray, xy1: NDArray) -> int:
    """Matches (n, 2) that differ by more than a cell of 4 px in one of the images.

    >>> places(np.array([[1.0, 1], [2, 3], [9, 1]]), np.array([[5.0, 5], [6, 6], [5, 5]]))
    2
    """
    return len(np.unique(np.floor(np.hstack([xy0, xy1]) / CELL), axis=0))


HEAD = ("copies", "method", "mean F", "found", "clusters each", "mixed", "true matches", "places", "s")


def format_table(rows: list[dict]) -> str:
    """A line for each number of copies and method."""
    keys = list(dict.fromkeys((row["copies"], row["method"]) for row in rows))
    groups = [[row for row in rows if (row["copies"], row["method"]) == key] for key in keys]
    lines = [[str(key[0]), key[1], *_sums(own)] for key, own in zip(keys, groups, strict=True)]
    return format_markdown(HEAD, lines)


def _sums(rows):
    total = {name: sum(row[name] for row in rows) for name in rows[0] if name not in ("method", "copies")}
    return (
        f"{total['f'] / len(rows):.3f}",
        f"{total['objects_found']} of {total['objects']}",
        f"{total['clusters'] / max(total['objects_found'], 1):.2f}",
        str(total["mixed"]),
        str(total["true_matches"]),
        str(total["places"]),
        f"{total['seconds'] / len(rows):.1f}",
    )


def _match(image0, image1):
    result = match(image0, image1)
    return result.xy0, result.xy1, result.cluster


def _ordinary(image0, image1):
    matches, labels = sift_ransac(image0, image1)
    return matches.xy0, matches.xy1, labels
