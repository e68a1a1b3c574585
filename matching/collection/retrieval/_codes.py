"""The index entries of a picture: 256 bits for each descriptor, and its place, direction, size and kind.

The bits say which values exceed the 64th smallest, and which exceed the 96th (Zhou, Lu, Li, Tian, "Scalar
quantization for large scale image search", ACM Multimedia 2012). Nothing is learned, so a picture has the
same bits in every index. The distance of two entries is the number of bits in which they differ.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from matching._common.types import Array, Floats
from matching.core.source import DescribedPicture
from matching.errors import InputError
from matching.features.extraction import FeatureConfig, Features, mirrored_features
from matching.features.thinning import choose_strongest
from matching.settings import REGIONS

ENTRY = np.dtype([("id", "<i8"), ("bits", "u1", 32)])  # id: the picture's number * 2**PICTURE + shape
PER_PICTURE = 1300  # entries of a picture that is searched, and of each such part of a large one: 52 kB
PER_QUERY = 8000  # descriptors that are looked up: in a scene of many objects, each object has few of them
TURNED = 650  # and descriptors of the mirrored query: a few are enough for a mirrored copy
RANKS = 63, 95  # ranks of those two values of a descriptor with which all are compared
PICTURE = 36  # bits of a shape; the higher bits of an id are the picture's number
SCALE_STEPS = 4  # steps of a shape's size per octave
PLACE_STEP = 4  # pixels: step of a shape's places, which end at 4096
INDEXED = REGIONS  # kinds of features that a shape tells apart
N_CLASSES = 2 * len(INDEXED)  # a class is a kind and polarity: only descriptors of one class are compared


class EntryLists(NamedTuple):
    """Entries in lists: list k has the entries first[k] to first[k + 1]. They may be in a mapped file."""

    bits: Array  # (m, 4) uint64
    ids: Array  # (m,) int64
    first: Array  # (n + 1,) int64


def check_indexed(config: FeatureConfig) -> None:
    """Check that an index can hold the kinds of features of these settings."""
    for kind in config.regions:
        if kind not in INDEXED:
            held = " and ".join(INDEXED)
            raise InputError(
                f"{kind} features can't be indexed, only {held} can: leave {kind} out of regions"
            )


def encode(features: Features, most: int = PER_PICTURE, picture: int = 0) -> Array:
    """Encode the largest features in every part of a picture -> (n,) ENTRY; copies and crops share these."""
    chosen = _choose_largest(features, most)
    entries = np.empty(len(chosen), ENTRY)
    entries["id"] = (picture << PICTURE) + pack_shapes(chosen)
    levels = np.sort(chosen.descriptors, axis=1)[:, RANKS]  # (n, 2), faster than np.partition
    larger = chosen.descriptors[:, None] > levels[:, :, None]  # (n, 2, 128)
    entries["bits"] = np.packbits(larger.reshape(-1, 2 * larger.shape[2]), axis=1)
    return entries


def encode_indexed(described: DescribedPicture, picture: int) -> Array:
    """The (n,) ENTRY of a picture of an index: more for a large one, since a query may be a detail of it."""
    most = int(PER_PICTURE * max(float(described.step.prod()), 1.0))
    return encode(described.features, min(most, PER_QUERY), picture)


def encode_query(features: Features) -> Array:
    """The (n,) ENTRY that a query looks up: of the picture, as number 0, and of its mirror image, as 1."""
    turned = mirrored_features(_choose_largest(features, TURNED))
    over = np.array([-1.0, 1.0])
    xy = turned.xy * over + np.array([turned.xy[:, 0].max(initial=0), 0])
    turned = replace(turned, xy=xy, frames=turned.frames * over[:, None])
    return np.concatenate([encode(features, PER_QUERY), encode(turned, picture=1)])


def pack_shapes(features: Features) -> Array:
    """(n,) int64: 10 bits for y, 10 for x, 8 for direction, 6 for log size, 1 for kind, 1 for polarity."""
    size = np.rint(SCALE_STEPS * np.log2(np.maximum(_size(features), 1e-9))).clip(0, 63).astype(np.int64)
    turn = np.arctan2(features.frames[:, 1, 0], features.frames[:, 0, 0]) / (2 * np.pi)
    direction = np.rint(256 * turn).astype(np.int64) % 256
    x, y = (features.xy / PLACE_STEP).clip(0, 1023).astype(np.int64).T
    packed: Array = (y << 26) | (x << 16) | (direction << 8) | (size << 2)
    packed |= 2 * features.kind.astype(np.int64) + features.bright
    return packed


def classes(entries: Array) -> Array:
    """(n,) int64: the class of each entry, its kind and polarity, below N_CLASSES."""
    return np.asarray(entries["id"] & (N_CLASSES - 1))


def _choose_largest(features: Features, most: int) -> Features:
    return features[choose_strongest(features.xy, _size(features), most)]


def _size(features: Features) -> Floats:
    return np.asarray(np.sqrt(np.abs(np.linalg.det(features.frames))))
