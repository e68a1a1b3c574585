"""Objects found in pairs of unrelated fine textures, which have none in common, and what such pairs cost."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from eval.common.tables import format_markdown
from matching import match
from synth.photographs import Photographs, Picture, read_folder, read_shipped
from synth.textures import random_screen, texture

COLUMNS = ("kind", "pair", "itself", "objects", "score", "seconds", "megabytes")


def photographs_to_print(folder: Path | None) -> tuple[Picture, ...]:
    """The photographs for halftones: the pictures of a folder, or those of installed packages."""
    return read_folder(folder) if folder else _all(read_shipped())


def _all(photographs: Photographs) -> tuple[Picture, ...]:
    return photographs.models + photographs.tiles


def texture_pair(
    kind: str, seed: int, itself: bool, size: tuple[int, int], photographs: tuple[Picture, ...]
) -> tuple[Picture, Picture]:
    """Two textures of a kind, or halftones of two photographs, drawn independently; or one of them twice.

    If the seed is even, both have the same screen.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(photographs))[:2]
    screens = [random_screen(rng)] * 2 if seed % 2 == 0 else [random_screen(rng), random_screen(rng)]
    first, second = (
        texture(kind, size, own, screen, photographs[k] if kind == "halftone" else None)
        for own, screen, k in zip(rng.spawn(2), screens, chosen, strict=True)
    )
    return (first, first) if itself else (first, second)


def measure_texture(pair: tuple[Picture, Picture]) -> dict:
    """How many objects the program finds in a pair, the best of their scores, and the time in seconds."""
    start = time.perf_counter()
    objects = match(*pair).objects
    seconds = round(time.perf_counter() - start, 2)
    return {
        "objects": len(objects),
        "score": round(max((item.score for item in objects), default=0.0), 2),
        "seconds": seconds,
    }


def summary(rows: Iterable[dict]) -> str:
    """A line for each kind: unrelated pairs, and textures with themselves; the most seconds and megabytes."""
    head = ("kind", "", "pairs", "with objects", "objects", "best score", "most seconds", "most MB")
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["itself"]), []).append(row)
    lines = []
    for (kind, itself), own in groups.items():
        objects = [row["objects"] for row in own]
        most = [f"{max(row[column] for row in own):g}" for column in ("score", "seconds", "megabytes")]
        name = "itself" if itself else "unrelated"
        lines.append([kind, name, str(len(own)), str(np.count_nonzero(objects)), str(sum(objects)), *most])
    return format_markdown(head, lines)
