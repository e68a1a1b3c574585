"""How many labels of `gdl-match label` does a person have to correct, on shelf photographs and on covers?

The parts are "shelves": all products, with pictures of their fronts as references; "other shelves": all
products, with one labelled place in another photograph as the reference of each; "covers": phone photographs
of 50 covers.

A correction is a label that has to be dropped, because the thing is not there or is labelled already, or one
that has to be drawn, because the thing was missed.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from eval.common.options import add_options
from eval.matching.photographs.shelves import Instance, find_standing, read_scenes, read_uncertain
from matching import MatchConfig
from matching.collection import FeatureCache
from matching.labels import Reference, label_pictures
from matching.labels.record import LabelledPicture

CACHE = 10**9  # bytes
Show = Callable[..., Iterable[Any]]  # like tqdm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", "quiet")
    parser.add_argument("--only", choices=PARTS, help="only this part")


def run(args: argparse.Namespace) -> None:
    for name in [args.only] if args.only else PARTS:
        with tempfile.TemporaryDirectory() as out:
            found = PARTS[name](args.data, Path(out), partial(tqdm, disable=args.quiet))
        for own in found:
            if own.to_drop or own.to_draw:
                print(f"{own.picture}: {own.to_draw} to draw, {own.to_drop} to drop", flush=True)
        print(f"{name}: {format_corrections(found)}", flush=True)


@dataclass(frozen=True)
class Corrections:
    """Corrections of one picture.

    there : things that have to be labelled
    right : labels of these
    to_drop, to_draw : corrections
    """

    picture: str
    there: int
    right: int
    to_drop: int
    to_draw: int


def label(references: Sequence[Reference], folder: Path, out: Path, show: Show) -> list[LabelledPicture]:
    """Label the pictures of a folder."""
    (cache := out / "cache").mkdir(parents=True, exist_ok=True)
    labels = label_pictures(
        references,
        folder,
        out / "labels",
        MatchConfig(),
        cache=FeatureCache(cache, CACHE),
        form="csv",
        progress=show,
    )
    return labels.pictures


def measure_shelves(data: Path, out: Path, show: Show) -> list[Corrections]:
    """Find all products on the shelf photographs; the references are pictures of their fronts."""
    scenes = read_scenes(data)
    models = sorted({instance.model for instances in scenes.values() for instance in instances})
    references = [Reference(Path(model).stem, str(data / model)) for model in models]
    pictures = label(references, data / "scenes", out, show)
    return correct_scenes(pictures, scenes, read_uncertain(data))


def measure_other_shelves(data: Path, out: Path, show: Show) -> list[Corrections]:
    """Find all products; the reference of each is its first labelled place, in the order of the scenes.

    Labels of a product in the scene of its reference are not counted, nor is a product without a reference.
    """
    scenes, references = read_scenes(data), dict[str, Reference]()
    left_out = read_uncertain(data)
    for scene, instances in scenes.items():
        for instance in instances:
            name = Path(instance.model).stem
            if instance.variant == "exact" and name not in references:
                polygon = tuple((float(x), float(y)) for x, y in instance.quads[0])
                references[name] = Reference(name, str(scene), polygon)
                left_out[scene.name] |= {name}
    for instances in scenes.values():
        instances[:] = [i for i in instances if Path(i.model).stem in references]
    pictures = label(list(references.values()), data / "scenes", out, show)
    return correct_scenes(pictures, scenes, left_out)


def correct_scenes(
    pictures: Sequence[LabelledPicture], scenes: dict[Path, list[Instance]], left_out: dict[str, set[str]]
) -> list[Corrections]:
    """Corrections by the instances of scenes; instances with another print may be labelled or not.

    `left_out` has the classes that are not counted, by the name of the scene.
    """
    standing, found = {path.name: instances for path, instances in scenes.items()}, []
    for picture in pictures:
        out = left_out[picture.name]
        own = [i for i in standing[picture.name] if Path(i.model).stem not in out]
        seen, to_drop = set[int](), 0
        for place in (place for place in picture.places if place.name not in out):
            mine = [k for k, i in enumerate(own) if Path(i.model).stem == place.name]
            at = find_standing(np.array(place.polygon), [own[k] for k in mine])
            if at < 0 or mine[at] in seen:
                to_drop += 1
            else:
                seen.add(mine[at])
        exact = {k for k, instance in enumerate(own) if instance.variant == "exact"}
        found.append(Corrections(picture.name, len(exact), len(exact & seen), to_drop, len(exact - seen)))
    return found


def measure_covers(data: Path, out: Path, show: Show) -> list[Corrections]:
    """Find covers in phone photographs, one in each; the places of the labels are not judged."""
    references = [
        Reference(path.stem, str(path)) for path in sorted((data / "retrieval" / "gallery").glob("*.jpg"))
    ]
    found = []
    for picture in label(references, data / "retrieval" / "queries", out, show):
        right = any(place.name == picture.name.split("_")[0] for place in picture.places)
        found.append(Corrections(picture.name, 1, int(right), len(picture.places) - right, 1 - right))
    return found


PARTS = {"shelves": measure_shelves, "other shelves": measure_other_shelves, "covers": measure_covers}


def format_corrections(found: Sequence[Corrections]) -> str:
    """The sums, and the corrections per hundred pictures."""
    there, right, to_drop, to_draw = (
        sum(getattr(own, name) for own in found) for name in ("there", "right", "to_drop", "to_draw")
    )
    rate = 100 * (to_drop + to_draw) / len(found)
    return (
        f"{len(found)} pictures with {there} things: {right} labelled correctly, {to_draw} to draw,"
        f" {to_drop} to drop;\n{rate:.0f} corrections in 100 pictures,"
        f" {100 * there / len(found):.0f} labels by hand"
    )
