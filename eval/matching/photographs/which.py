"""Which of many alike references does a place show, and does a place whose thing is no reference stay empty?

The parts are "cards": photographs of drawn cards on tables, with the whole deck as references; "cards left
out": the same without a third of them, drawn by lot; "siblings left out": shelf photographs of products,
several of one brand, where each half of the products is left out once.

A label is right if its place shows the thing of its class. Things without a place that shows them (missed)
are counted separately: the matches of no reference found them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image
from tqdm import tqdm

from eval.common.options import add_options
from eval.matching.photographs.labelling import Show, label
from eval.matching.photographs.shelves import Instance, find_standing, read_scenes, read_uncertain
from matching.labels import Reference
from matching.labels.record import LabelledPicture
from synth.cards import COLUMNS, ROWS, draw_deck, photograph_cards

FIRST_SEED = 10  # of the tables that are reported; numbers were chosen on those below
N_LEFT_OUT = 17  # cards
Truth = Mapping[str, Sequence[Instance]]  # what stands where, by the name of the picture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", "quiet")
    parser.add_argument("--tables", type=int, default=6, help="photographs of cards (default: 6)")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="of the first (default: %(default)s)")
    parser.add_argument("--only", choices=("cards", "siblings"), help="only these")


def run(args: argparse.Namespace) -> None:
    show = partial(tqdm, disable=args.quiet)
    if args.only != "siblings":
        with tempfile.TemporaryDirectory() as folder:
            measure_cards(range(args.seed, args.seed + args.tables), Path(folder), show)
    if args.only != "cards":
        measure_siblings(args.data, show)


@dataclass(frozen=True)
class Counts:
    """What the labels of some pictures say.

    there : places of things that are among the references
    right, wrong : labels; those on places of other things are wrong
    other : places of things that are not among the references
    """

    there: int
    right: int
    wrong: int
    other: int


def count_labels(pictures: Iterable[LabelledPicture], truth: Truth, names: set[str]) -> Counts:
    """Count the labels that are right, and say which are wrong; names: the classes of the references."""
    right = wrong = 0
    for picture in pictures:
        standing, seen = list(truth[picture.name]), set[int]()
        for place in picture.places:
            k = find_standing(np.array(place.polygon), standing)
            if k >= 0 and k not in seen and standing[k].model == place.name:
                seen.add(k)
            else:
                wrong += 1
                there = "nothing" if k < 0 else standing[k].model
                print(f"{picture.name}: {place.name} on {there}, score {place.score}", flush=True)
        right += len(seen)
    known = [one.model in names for instances in truth.values() for one in instances]
    return Counts(sum(known), right, wrong, len(known) - sum(known))


def measure_cards(seeds: range, folder: Path, show: Show) -> None:
    """Label tables with a deck, and with a part of it."""
    cards, truth = draw_deck(), dict[str, list[Instance]]()
    for part in ("deck", "tables"):
        (folder / part).mkdir()
    for name, card in cards.items():
        Image.fromarray(card).save(folder / "deck" / f"{name}.png")
    for seed in seeds:
        rng = np.random.default_rng(seed)
        names = rng.choice(list(cards), ROWS * COLUMNS, replace=False).tolist()
        photograph, quads = photograph_cards(cards, names, rng)
        Image.fromarray(photograph).save(folder / "tables" / f"{seed}.jpg", quality=92)
        truth[f"{seed}.jpg"] = [
            Instance(*row, (quad,)) for *row, quad in zip(names, names, quads, strict=True)
        ]
    left_out = set(np.random.default_rng(min(seeds)).choice(list(cards), N_LEFT_OUT, replace=False).tolist())
    kept = [name for name in cards if name not in left_out]
    for title, chosen in (("cards", list(cards)), ("cards left out", kept)):
        references = [Reference(name, str(folder / "deck" / f"{name}.png")) for name in chosen]
        pictures = label(references, folder / "tables", folder / title, show)
        print(f"{title}: {format_counts(count_labels(pictures, truth, set(chosen)))}", flush=True)


def measure_siblings(data: Path, show: Show) -> None:
    """Label shelves with each half of the products."""
    scenes, uncertain = read_scenes(data), read_uncertain(data)
    models = sorted({instance.model for instances in scenes.values() for instance in instances})
    truth = {
        path.name: [Instance(Path(one.model).stem, one.variant, one.quads) for one in instances]
        for path, instances in scenes.items()
    }
    for half in (0, 1):
        references = [Reference(Path(model).stem, str(data / model)) for model in models[half::2]]
        with tempfile.TemporaryDirectory() as out:
            pictures = label(references, data / "scenes", Path(out), show)
        certain = [
            LabelledPicture(
                one.id,
                one.name,
                None,
                places=tuple(p for p in one.places if p.name not in uncertain[one.name]),
            )
            for one in pictures
        ]
        counts = count_labels(certain, truth, {reference.name for reference in references})
        print(f"siblings left out, half {half}: {format_counts(counts)}", flush=True)


def format_counts(counts: Counts) -> str:
    """The counts in words."""
    n = counts.right + counts.wrong
    return (
        f"{n} labels, {counts.right} right, {counts.wrong} wrong; {counts.there} things are there, and"
        f" {counts.other} that are no references"
    )
