"""Masks of moving objects for COLMAP's feature extraction, which ignores black pixels.

The mask of a/b.jpg is a/b.jpg.png. An object moved in a pair if less than half of it is part of the pair's
static scene. A pixel is masked if it moved in more than half of the pairs that have an object there. Within a
pair, moving objects take precedence, because the outlines of things around them enclose them.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

from matching._common import opencv
from matching._common.types import Bools, Floats
from matching.errors import InputError, OneLineErrors
from matching.interchange.records import Grouped
from matching.interchange.two_views import count_groups, find_static
from matching.objects.description import draw_outlines
from matching.output.folders import make_temporary_folder, place_files
from matching.pictures.names import exists

Outlines = list[tuple[list[Floats], list[Floats]]]  # of a pair: polygons (k, 2) that moved, and others


def check_masks_folder(folder: Path) -> None:
    """Check that masks can be written into a folder, which must be new or empty."""
    if exists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"--masks {folder}: is not empty; choose a new or empty folder")


def write_masks(folder: Path, pairs: Iterable[Grouped]) -> int:
    """Write the masks of all images of some pairs, (matches, labels (n,)) each: all masks or none."""
    sizes: dict[str, tuple[int, int]] = {}
    outlines: dict[str, Outlines] = defaultdict(list)  # of each image in all pairs that have a static scene
    for pair, cluster in pairs:
        if pair.names is None or pair.sizes is None:
            continue
        sizes |= dict(zip(pair.names, pair.sizes, strict=True))
        static = find_static(pair.xy0, pair.xy1, cluster)
        for name in pair.names if static.any() else ():
            outlines[name].append(([], []))
        for k in range(count_groups(cluster) if static.any() else 0):
            rows = cluster == k
            kind = 0 if static[rows].mean() < 0.5 else 1
            for name, polygon in zip(pair.names, draw_outlines(pair.xy0[rows], pair.xy1[rows]), strict=True):
                outlines[name][-1][kind].append(polygon)
    with OneLineErrors(f"--masks {folder}", "can't be written"):
        if folder.exists():
            folder.rmdir()
        with make_temporary_folder(folder) as part:
            for name, size in sizes.items():
                path = part / f"{name}.png"
                if Path(name).is_absolute() or ".." in Path(name).parts:
                    raise InputError(f"{name}: must be a relative name of a picture")
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(np.uint8(255) * ~draw_moved(size, outlines[name])).save(path)
            place_files(part, folder, [])
    return len(sizes)


def draw_moved(size: tuple[int, int], outlines: Outlines) -> Bools:
    """Draw what moved in one image: size (h, w); outlines: pairs of lists of (k, 2) -> (h, w) bool."""
    votes = np.zeros(size, np.int32)
    for moved, others in outlines:
        inside = opencv.fill_polygons(size, moved)
        votes += inside
        votes -= opencv.fill_polygons(size, others) & ~inside
    return np.asarray(votes > 0)
