"""Does the test of evidence cost objects? Pairs of $GDL_DATA are matched with and without the test.

python scripts/measure/evaluate_evidence.py $GDL_DATA
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

from eval.common.options import exit_status
from matching import MatchConfig
from matching._common.threads import limit_threads
from matching.grouping import replace_clustering
from matching.pictures.images import make_picture
from matching.pipelines.description import describe_picture
from matching.pipelines.pair import find_candidates, find_objects, match_described
from synth.photographs import read_picture

N_SMALL = 30  # number of products on photographs, of each size
SIZES = (60, 90), (90, 180)  # pixels of the longer side
TURN = 40.0  # degrees, at most


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "data", type=Path, help="folder that holds models and scenes, and perhaps sfm, pairs and retrieval"
    )
    return exit_status(lambda: measure(parser.parse_args(argv).data))


def measure(data):
    print("| pairs | number | with objects | dismissed | other result | s | without the test, s |")
    print("|---" * 7 + "|")
    for name, pairs in kinds_of_pairs(data):
        print(f"| {name} | {' | '.join(compare(list(pairs)))} |", flush=True)


def kinds_of_pairs(data):
    """The name of each kind, and its pairs of pictures (paths or arrays)."""
    fronts, shelves, sfm = (sorted((data / f).glob("*.jpg")) for f in ("models", "scenes", "sfm"))
    if not fronts or not shelves:
        raise ValueError(f"{data} must hold models/*.jpg and scenes/*.jpg")
    yield (
        "two fronts, or a front and a shelf",
        [*itertools.combinations(fronts, 2), *itertools.product(fronts, shelves)],
    )
    yield "two shelves", itertools.combinations(shelves, 2)
    yield "two of `sfm`", itertools.combinations(sfm, 2)
    folders = sorted(p for p in (data / "pairs").glob("*") if p.is_dir())
    own = [itertools.combinations([*sorted(f.glob("*.jpg")), *sorted(f.glob("*.png"))], 2) for f in folders]
    yield "two of a folder of `pairs`", itertools.chain(*own)
    covers, photographs = (sorted((data / "retrieval" / f).glob("*.jpg")) for f in ("gallery", "queries"))
    number = {cover.stem: k for k, cover in enumerate(covers)}
    cover_of = [number[photograph.stem[:3]] for photograph in photographs]
    yield (
        "a photograph and its film cover",
        [(p, covers[k]) for p, k in zip(photographs, cover_of, strict=True)],
    )
    yield (
        "... and another",
        [(p, covers[(k + 7) % len(covers)]) for p, k in zip(photographs, cover_of, strict=True)],
    )
    tiles = sorted((data / "tiles").glob("*.jpg"))
    for low, high in SIZES:
        yield f"a front, and a photograph with it, {low} to {high} px", pasted(fronts, tiles, low, high)


def pasted(fronts, tiles, low, high):
    """Yield a front, and a photograph onto which it is pasted, smaller and turned."""
    rng = np.random.default_rng(0)
    for _ in range(N_SMALL):
        front, tile = (read_picture(files[rng.integers(len(files))]) for files in (fronts, tiles))
        scale = rng.integers(low, high) / max(front.shape)
        size = [max(round(side * scale), 1) for side in front.shape[1::-1]]
        small, turn = Image.fromarray(front).resize(size, Image.Resampling.LANCZOS), rng.uniform(-TURN, TURN)
        mask = Image.new("L", small.size, 255)
        small, mask = (i.rotate(turn, Image.Resampling.BICUBIC, expand=True) for i in (small, mask))
        scene = Image.fromarray(tile)
        room = max(scene.width - small.width, 1), max(scene.height - small.height, 1)
        scene.paste(small, tuple(int(rng.integers(side)) for side in room), mask)
        yield front, np.asarray(scene)


def compare(pairs):
    """Count pairs: all, with objects, dismissed, with another result; seconds with and without the test."""
    plain, described = MatchConfig().with_settings(evidence=0.0), {}
    n_found = n_quick = n_other = 0
    used = np.zeros(2)
    with limit_threads(1):
        for pair in pairs:
            both = [described_once(described, picture) for picture in pair]
            results = []
            for k, config in enumerate((MatchConfig(), plain)):
                start = time.process_time()
                results.append(match_described(*both, config))
                used[k] += time.process_time() - start
            tested, other = results
            n_found += len(other.objects) > 0
            n_quick += is_dismissed(both)
            n_other += not np.array_equal(tested.cluster, other.cluster)
    seconds = used / max(len(pairs), 1)
    return [str(n) for n in (len(pairs), n_found, n_quick, n_other)] + [f"{s:.3f}" for s in seconds]


def is_dismissed(described):
    """Whether the grouping of a pair ends with the test, so that nothing is clustered."""
    first, second = sorted(described, key=lambda d: d.digest)
    asked = []

    def cluster(correspondences, *_):
        asked.append(len(correspondences))
        return np.arange(len(correspondences))

    candidates = find_candidates(first.features, second.features, MatchConfig())
    find_objects(*candidates, MatchConfig(), replace_clustering(cluster))
    return not asked


def described_once(described, picture):
    """The described picture; those of files are kept."""
    if not isinstance(picture, Path):
        return describe_picture(make_picture(picture, "picture"))
    if picture not in described:
        described[picture] = describe_picture(make_picture(picture, "picture"))
    return described[picture]


if __name__ == "__main__":
    sys.exit(main())
