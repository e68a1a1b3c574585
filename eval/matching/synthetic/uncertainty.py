"""Do intervals from the covariance of transforms cover the truth as often as they say?

Tiles that overlap, prints on photographs and boards that are photographed again are drawn from photographs:
as they are, with the second picture blurred, and small, so that there are few matches. The corners of what
both pictures show are mapped by the transform of the first object. The table has the median error at them,
and how many of their coordinates lie within one and within 1.96 standard deviations. The constants were
chosen on photographs of even number; those of odd number are drawn from, unless --even is given.
"""

import argparse
from itertools import product

import cv2
import numpy as np

from eval.common.options import add_options, choose_photographs
from eval.common.tables import format_markdown
from matching import match
from matching.objects.transforms import apply_transform
from synth.known_maps import KINDS, SIZE, VARIANTS, draw_pair

HEADER = "kind", "pictures", "found", "median error, px", "within 68 %", "within 95 %"
MAX_ERROR = 25.0  # pixels at a corner; more is another object


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "models", "tiles", pairs=24)
    parser.add_argument("--even", action="store_true", help="photographs of even number")


def run(args: argparse.Namespace) -> None:
    read = choose_photographs(args).tiles[0 if args.even else 1 :: 2]
    photographs = [cv2.resize(photograph, SIZE, interpolation=cv2.INTER_AREA) for photograph in read]
    rows = []
    for kind, variant in product(KINDS, VARIANTS):
        errors, ratios = [], []
        for seed in range(args.pairs):
            rng = np.random.default_rng([seed, KINDS.index(kind), VARIANTS.index(variant)])
            first, second, truth, corners = draw_pair(kind, variant, photographs, rng)
            objects = match(first, second).objects
            if objects and np.abs(offset := map_errors(objects[0], truth, corners)).max() < MAX_ERROR:
                errors.append(np.linalg.norm(offset, axis=1))
                ratios.append(np.abs(offset) / measure_deviations(objects[0], corners))
        found, median = len(errors), np.median(errors)
        shares = [np.mean(np.concatenate(ratios) < bound) for bound in (1, 1.96)]
        rows.append([kind, variant, str(found), f"{median:.3f}", *(f"{share:.0%}" for share in shares)])
    print(format_markdown(HEADER, rows))


def map_errors(found, truth: np.ndarray, points: np.ndarray) -> np.ndarray:
    """By how much the transform of an object maps points (k, 2) elsewhere than the true map."""
    return apply_transform(found.transform, points) - apply_transform(truth, points)


def measure_deviations(found, points: np.ndarray) -> np.ndarray:
    """The standard deviations (k, 2) of mapped points (k, 2), by the covariance of the transform."""
    homogeneous = np.column_stack([points, np.ones(len(points))])
    mapped, derivative = apply_transform(found.transform, points), np.zeros((len(points), 2, 8))
    for k in range(2):
        derivative[:, k, 3 * k : 3 * k + 3] = homogeneous
        derivative[:, k, 6:] = -mapped[:, k : k + 1] * points
    derivative /= (homogeneous @ found.transform[2])[:, None, None]
    return np.sqrt(np.einsum("pki,ij,pkj->pk", derivative, found.transform_covariance, derivative))
