"""Are things that a picture shows several times counted correctly? Synthetic pages, with a box for each copy.

The pages are panels of a comic with a face in three or five of them, boards of a shelf with one to four
copies of each product, a wall of 36 tiles, and a page with one icon 40 times. A thing is counted correctly if
it has as many places as there are copies, and at least one place lies in the box of a copy, to within a tenth
of the box; it is placed correctly if each place lies in the box of a different copy. (The unit of a wall may
begin anywhere in a tile, so a wall is rarely placed correctly.) A page is exact if all things are placed
correctly and nothing else is counted; textures are not counted.
"""

import argparse
from collections import defaultdict

import numpy as np

from eval.common.options import add_options, choose_photographs
from eval.common.tables import format_markdown
from matching import find_repeats
from synth.pages import draw_comic, draw_icons, draw_shelf, draw_wallpaper


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "models", "tiles", "seeds")


def run(args: argparse.Namespace) -> None:
    photographs = choose_photographs(args)
    totals: dict = defaultdict(lambda: np.zeros(6, int))
    for seed in args.seeds:
        for name, page in draw_pages(photographs, seed):
            counts, extra = count_places(find_repeats(page.picture).things, page.things)
            right = sum(n == counted and own > 0 for n, counted, own in counts)
            placed = sum(n == counted == own for n, counted, own in counts)
            print(f"{name} {seed}: {counts}, {extra} others", flush=True)
            totals[name] += [1, placed == len(counts) and not extra, len(counts), right, placed, extra]
    rows = [
        (name, f"{exact} of {pages}", f"{right} of {things}", f"{placed} of {things}", str(extra))
        for name, (pages, exact, things, right, placed, extra) in totals.items()
    ]
    head = ("page", "exact", "things counted correctly", "placed correctly", "others")
    print(format_markdown(head, rows))


def draw_pages(photographs, seed):
    """The pages of a seed, with their names."""
    rng = np.random.default_rng(seed)
    models = [photographs.models[k] for k in rng.permutation(len(photographs.models))]
    tiles = [photographs.tiles[k] for k in rng.permutation(len(photographs.tiles))]
    yield "three faces", draw_comic(tiles[1:], tiles[0], rng)
    yield "five faces", draw_comic(tiles[1:], tiles[0], rng, 5)
    yield "shelf", draw_shelf(models, rng, n_rows=min(3, len(models) // 8))
    yield "36 tiles", draw_wallpaper(tiles[0])
    yield "40 icons", draw_icons(models[0], rng)


def count_places(things, truth):
    """For each true thing: its copies, the counted places, and its copies among these; also other things."""
    counts, used = [], set()
    for boxes in truth:
        best, thing = (0, 0), None  # of things at equally many copies, the one with the fewest other places
        for found in things:
            at = {k for place in found.places for k, box in enumerate(boxes) if is_within(place, box)}
            best, thing = max((best, thing), ((len(at), -len(found.places)), found), key=lambda item: item[0])
        counts.append((len(boxes), -best[1], best[0]))
        used.add(id(thing))
    return counts, sum(not found.periodic and id(found) not in used for found in things)


def is_within(place, box) -> bool:
    """Whether an outline (k, 2) lies in a box, to within a tenth of the box."""
    x, y, *size = box
    low, high = (place.min(axis=0) - (x, y)) / size, (place.max(axis=0) - (x, y)) / size
    return bool((low >= -0.1).all() and (high <= 1.1).all())
