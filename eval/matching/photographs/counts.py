"""Are copies of a product counted correctly?

The parts are "shelves": each product in each photograph of a shelf, against the labels of scenes/labels.json;
"covers": phone photographs of covers, each of which shows one whole copy, despite bends, reflections and
light; "stock": drawn shelves, on which three of eight fronts have one to forty copies each. A drawn shelf
also has siblings: other fronts that carry the upper part of one of the three, its logo. Its copies differ in
light and size, and are turned a little; a price tag hides a part of some.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from tqdm import tqdm

from eval.common.options import add_options
from eval.matching.photographs.shelves import find_standing, read_scenes, read_uncertain
from matching import match
from matching.drivers.pair import match_pair
from matching.grouping.methods import MANY
from matching.objects.copies import count_copies
from matching.pictures.images import read_picture
from matching.searches.source import ImageSource
from synth.pages import crop_front, draw_stock
from synth.photographs import read_folder

FRONTS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", "seeds", "quiet")
    parser.add_argument("--only", choices=PARTS, help="only this part")


def run(args: argparse.Namespace) -> None:
    for name in [args.only] if args.only else PARTS:
        PARTS[name](args)


def count_shelves(args: argparse.Namespace) -> None:
    """Print the counts of products on shelves that differ from the labels, and sums."""
    rows = list(tqdm(measure_shelves(args.data), desc="pairs", disable=args.quiet))
    for row in rows:
        if row["missed"] or row["strangers"] or row["twice"]:
            print("{pair}: {counted} counted, {exact} present, and {promo} with another print".format(**row))
    print(format_counts(rows))


def count_covers(args: argparse.Namespace) -> None:
    """Print how many phone photographs show one copy of the cover; NNN_phone.jpg shows NNN.jpg."""
    folder = args.data / "retrieval"
    queries = sorted((folder / "queries").glob("*.jpg"))
    if not queries:
        raise ValueError(f"{folder / 'queries'} must hold pictures, found none")
    right = 0
    for query in tqdm(queries, desc="covers", disable=args.quiet):
        cover = folder / "gallery" / f"{query.stem.split('_')[0]}.jpg"
        objects = match_pair(ImageSource(read_picture(cover)), ImageSource(read_picture(query))).objects
        n = len(count_copies(objects).copies)
        right += n == 1
        if n != 1:
            values = [round(o.completeness.value, 2) for o in objects if o.completeness]
            print(f"{query.name}: {n} copies, completeness {values}")
    print(f"{right} of {len(queries)} photographs show one copy")


def count_stock(args: argparse.Namespace) -> None:
    """Print the counts of fronts on drawn shelves, and sums."""
    models = read_folder(args.data / "models")
    if len(models) < FRONTS:
        raise ValueError(f"{args.data / 'models'} must hold {FRONTS} pictures, found {len(models)}")
    off = []
    for seed in args.seeds:
        rng = np.random.default_rng(seed)
        fronts = [crop_front(models[k]) for k in rng.permutation(len(models))[:FRONTS]]
        picture, truth = draw_stock(fronts, rng)
        for k, (front, n) in enumerate(zip([*fronts[:3], *fronts[6:]], truth, strict=True)):
            counted = len(count_copies(match(front, picture).objects).copies)
            print(f"seed {seed}, front {k}: {counted} counted, {n} present", flush=True)
            off.append(counted - n)
    under, right, over = (np.count_nonzero(np.sign(off) == k) for k in (-1, 0, 1))
    print(f"{right} of {len(off)} counts right, {under} under and {over} over")


PARTS = {"shelves": count_shelves, "covers": count_covers, "stock": count_stock}


def measure_shelves(data: Path) -> Iterator[dict]:
    """A row for each product and scene: copies counted, and how many are right by the labels.

    exact : copies of the exact print in the scene, all of which are to be counted
    promo : copies with another print, each of which may be counted or not
    counted, strangers : copies counted, and how many of these are at places without such a copy
    Products whose presence in a scene could not be decided are left out.
    """
    scenes, uncertain = read_scenes(data), read_uncertain(data)
    models = sorted({instance.model for instances in scenes.values() for instance in instances})
    paths = {data / name for name in models} | scenes.keys()
    sources = {path: ImageSource(read_picture(path)) for path in paths}
    for (scene, instances), model in product(scenes.items(), models):
        if Path(model).stem in uncertain[scene.name]:
            continue
        objects = match_pair(sources[data / model], sources[scene], MANY).objects
        own = [instance for instance in instances if instance.model == model]
        frames = [objects[ids[0]].frame1 for ids in count_copies(objects).copies]
        at = [find_standing(frame, own) for frame in frames]
        n_exact = sum(instance.variant == "exact" for instance in own)
        found = sum(own[k].variant == "exact" for k in set(at) - {-1})
        yield {
            "pair": f"{Path(model).stem} in {scene.stem}",
            "exact": n_exact,
            "promo": len(own) - n_exact,
            "counted": len(frames),
            "missed": n_exact - found,
            "strangers": at.count(-1),
            "twice": len(at) - at.count(-1) - len(set(at) - {-1}),
        }


def format_counts(rows: list[dict]) -> str:
    """Sums over all pairs, in words."""
    wrong = [row for row in rows if row["missed"] or row["strangers"] or row["twice"]]
    under, over = (
        sum(any(row[name] for name in names) for row in wrong)
        for names in (("missed",), ("strangers", "twice"))
    )
    total = {name: sum(row[name] for row in rows) for name in ("exact", "missed", "strangers", "twice")}
    return (
        f"{len(rows) - len(wrong)} of {len(rows)} counts right, {under} under and {over} over;\n"
        "{exact} copies: {missed} missed, {twice} counted twice, {strangers} others counted".format(**total)
    )
