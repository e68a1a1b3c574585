"""The index entries of a picture: 256 bits for each descriptor, and its place, direction, size and kind.

The bits say which values exceed the 64th smallest, and which exceed the 96th (Zhou, Lu, Li, Tian, "Scalar
quantization for large scale image search", ACM Multimedia 2012). Nothing is learned, so a picture has the
same bits in every index. The distance of two entries is the number of bits in which they differ.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from matching._common.types import Array
from matching.errors import InputError
from matching.features.extraction import FeatureConfig, Features, mirrored_features
from matching.features.thinning import choose_strongest
from matching.searches.source import DescribedPicture
from matching.settings import REGIONS

ENTRY = np.dtype([("id", "<i8"), ("bits", "u1", 32)])  # id: the picture's number * 2**SHAPE_BITS + shape
ENTRIES_PER_PICTURE = 1300  # of an indexed picture, and of each part of a large one of that size: 52 kB
ENTRIES_PER_QUERY = 8000  # many, because each object has few of the descriptors of a crowded scene
ENTRIES_PER_MIRRORED_QUERY = 650  # a few are enough to find a mirrored copy
THRESHOLD_RANKS = 63, 95  # all values of a descriptor are compared with those of these two ranks
SHAPE_BITS = 36  # the lower bits of an id hold a shape; the higher ones, the number of the picture
STEPS_PER_OCTAVE = 4  # of the size of a shape
PLACE_STEP_PIXELS = 4  # pixels per step of a place, which has 10 bits: places end at 4096 pixels
INDEXED_KINDS = REGIONS  # kinds of features that a shape tells apart
N_CLASSES = 2 * len(INDEXED_KINDS)  # only descriptors of one kind and polarity, a class, are compared


class EntryLists(NamedTuple):
    """Entries in lists: list k has the entries first[k] to first[k + 1]. They may be in a mapped file."""

    bits: Array  # (m, 4) uint64
    ids: Array  # (m,) int64
    first: Array  # (n + 1,) int64


def check_indexed(config: FeatureConfig) -> None:
    """Check that an index can hold the kinds of features of these settings."""
    for kind in config.regions:
        if kind not in INDEXED_KINDS:
            indexed = " and ".join(INDEXED_KINDS)
            raise InputError(
                f"{kind} features can't be indexed, only {indexed} can: leave {kind} out of regions"
            )


def encode(features: Features, max_entries: int = ENTRIES_PER_PICTURE, picture: int = 0) -> Array:
    """Encode the largest features in every part of a picture -> (n,) ENTRY; copies and crops share these."""
    chosen = _choose_largest(features, max_entries)
    entries = np.empty(len(chosen), ENTRY)
    entries["id"] = (picture << SHAPE_BITS) + pack_shapes(chosen)
    levels = np.sort(chosen.descriptors, axis=1)[:, THRESHOLD_RANKS]  # (n, 2), faster than np.partition
    larger = chosen.descriptors[:, None] > levels[:, :, None]  # (n, 2, 128)
    entries["bits"] = np.packbits(larger.reshape(-1, 2 * larger.shape[2]), axis=1)
    return entries


def encode_indexed(described: DescribedPicture, picture: int) -> Array:
    """Encode a picture of an index -> (n,) ENTRY: more for a large one, because a query may show a detail."""
    max_entries = int(ENTRIES_PER_PICTURE * max(float(described.step.prod()), 1.0))
    return encode(described.features, min(max_entries, ENTRIES_PER_QUERY), picture)


def encode_query(features: Features) -> Array:
    """Encode a query -> (n,) ENTRY: the picture as number 0, and its mirror image as number 1."""
    mirrored = mirrored_features(_choose_largest(features, ENTRIES_PER_MIRRORED_QUERY))
    flip = np.array([-1.0, 1.0])
    xy = mirrored.xy * flip + np.array([mirrored.xy[:, 0].max(initial=0), 0])
    mirrored = replace(mirrored, xy=xy, frames=mirrored.frames * flip[:, None])
    return np.concatenate([encode(features, ENTRIES_PER_QUERY), encode(mirrored, picture=1)])


def pack_shapes(features: Features) -> Array:
    """Pack y and x in 10 bits each, direction in 8, log size in 6, kind and polarity in 1 -> (n,) int64."""
    size = np.rint(STEPS_PER_OCTAVE * np.log2(np.maximum(features.radius, 1e-9))).clip(0, 63).astype(np.int64)
    turn = np.arctan2(features.frames[:, 1, 0], features.frames[:, 0, 0]) / (2 * np.pi)
    direction = np.rint(256 * turn).astype(np.int64) % 256
    x, y = (features.xy / PLACE_STEP_PIXELS).clip(0, 1023).astype(np.int64).T
    packed: Array = (y << 26) | (x << 16) | (direction << 8) | (size << 2)
    packed |= 2 * features.kind.astype(np.int64) + features.bright
    return packed


def classes(entries: Array) -> Array:
    """Return the class of each entry, its kind and polarity -> (n,) int64 below N_CLASSES."""
    return np.asarray(entries["id"] & (N_CLASSES - 1))


def _choose_largest(features: Features, max_features: int) -> Features:
    """Choose the features of the largest regions in every part of a picture."""
    return features[choose_strongest(features.xy, features.radius, max_features)]
