"""The recall of shortlists for photographs of shelves: how many of the products that they show are listed?

The queries are the shelf photographs in scenes/; the gallery consists of product fronts and of other
photographs. Labels say which products a shelf shows.
"""

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from eval.common.measuring import Clock
from eval.common.options import add_options
from eval.common.tables import format_markdown
from matching import MatchConfig
from matching._common.threads import limit_threads
from matching.collection.retrieval import _inverted
from matching.collection.retrieval._codes import encode, encode_query
from matching.collection.retrieval._votes import rank
from matching.pictures.images import read_picture
from matching.searches.source import describe_picture

GALLERY = "models/*.jpg", "tiles/*.jpg", "pairs/*/img[2-9].*"
LENGTHS = (1, 3, 5, 10, 20)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data")


def run(args: argparse.Namespace) -> None:
    data = args.data
    labels = data / "scenes" / "labels.json"
    if not labels.exists():
        raise ValueError(f"{data} must hold scenes/labels.json")
    scenes = json.loads(labels.read_text("utf-8"))["scenes"]
    files = sorted(path for pattern in GALLERY for path in data.glob(pattern))
    names = [path.relative_to(data).as_posix() for path in files]
    wanted = {
        scene: {names.index(instance["model"]) for instance in shown["instances"]}
        for scene, shown in scenes.items()
    }
    with limit_threads(1), tempfile.TemporaryDirectory() as folder:
        entries = np.concatenate([encode(features(path), picture=k) for k, path in enumerate(files)])
        asked = {scene: encode_query(features(data / scene)) for scene in wanted}
        columns = {"recall": _inverted.CLASS_CELLS, "kept index": _inverted.make_cells(MatchConfig())}
        recall = {}
        for name, cells in columns.items():
            path = Path(folder, f"{name}.seg")
            _inverted.write_segment(path, cells, entries, _inverted.assign(entries, cells))
            search = partial(_inverted.find_neighbours, segment=_inverted.open_segment(path), n=len(files))
            recall[name] = recall_of(search, asked, wanted)
    n = sum(map(len, wanted.values()))
    print(f"{len(wanted)} queries, {len(files)} gallery pictures, {n} pairs")
    rows = []
    for k, length in enumerate(LENGTHS):
        most = sum(min(length, len(pictures)) for pictures in wanted.values()) / n
        rows.append([str(length), *(f"{value:.3f}" for value in (*(r[k] for r in recall.values()), most))])
    print(format_markdown(("shortlist", *recall, "best possible"), rows))


def features(path):
    """The features of a picture file."""
    return describe_picture(read_picture(path)).features


def recall_of(search, asked, wanted):
    """The recall of shortlists of LENGTHS."""
    clock = Clock()
    best = {scene: [p for p, _ in rank(query["id"], search(query))] for scene, query in asked.items()}
    print(f"{clock.seconds().cpu / len(asked):.2f} s a query")
    n = sum(map(len, wanted.values()))
    return [sum(len(wanted[s] & {*best[s][:length]}) for s in wanted) / n for length in LENGTHS]
