"""The recall of the shortlist against matching everything: how many of the pairs with objects has it?

python scripts/match_collection.py --query DIR --gallery DIR --db all.db
python scripts/collection/evaluate_shortlist.py all.db --cache DIR
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from eval.common.options import exit_status
from matching.collection import FeatureCache
from matching.collection.database.settings import read_config
from matching.collection.database.store import open_store
from matching.collection.retrieval import _inverted
from matching.collection.retrieval._codes import PER_QUERY, encode
from matching.collection.retrieval._exact import find_exact, sort_entries
from matching.collection.retrieval._votes import rank
from matching.collection.work import Settings, Source, get_described

LENGTHS = (1, 2, 3, 5, 10, 20)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("db", type=Path, help="a collection of queries and a gallery, all pairs matched")
    parser.add_argument("--cache", type=Path, required=True, help="the collection's folder for features")
    arguments = parser.parse_args(argv)
    return exit_status(lambda: measure(arguments))


def measure(arguments):
    with open_store(arguments.db) as store:
        settings = Settings(read_config(store.settings()), FeatureCache(arguments.cache, 10**12))
        rows = store.rows("SELECT image0, image1, n_objects, score FROM pairs WHERE status = 'matched'")
        images = store.rows("SELECT id, path, sha256 FROM images WHERE status = 'described'")
    if not any(row[2] for row in rows):
        raise ValueError(f"{arguments.db} must hold matched pairs with objects in common, found none")
    sources = {number: Source(path, content) for number, path, content in images}
    gallery = sorted({row[1] for row in rows})
    entries = np.concatenate([encode(features(sources[k], settings), picture=k) for k in gallery])
    wanted = defaultdict(dict)  # query -> gallery picture -> score, of pairs with objects
    for query, picture, n_objects, score in rows:
        if n_objects:
            wanted[query][picture] = score
    queries = sorted({row[0] for row in rows})
    asked = {q: encode(features(sources[q], settings), PER_QUERY) for q in queries}
    with tempfile.TemporaryDirectory() as folder:
        cells = _inverted.make_cells(settings.config)
        _inverted.write_segment(Path(folder, "a.seg"), cells, [_inverted.assign(entries, cells)])
        segment, ordered = _inverted.open_segment(Path(folder, "a.seg")), sort_entries(entries)
        searches = {
            "exact, as in collections": lambda q: find_exact(asked[q], ordered, q),
            "inverted lists, as in a kept index": lambda q: _inverted.find_neighbours(asked[q], segment, [q]),
        }
        for name, search in searches.items():
            start = time.process_time()
            best = {q: rank(asked[q]["id"], search(q)) for q in queries}
            looked = (time.process_time() - start) / len(queries)
            print(f"{name}: {looked:.2f} s a query")
            report({q: {p: k for k, (p, _) in enumerate(b)} for q, b in best.items()}, wanted, len(gallery))


def features(source, settings):
    return get_described(source, settings).described.features


def report(place, wanted, n_gallery):
    """Recall by the length of the shortlist, and the most that any list so short can have."""
    n_pairs = sum(map(len, wanted.values()))
    print(f"{len(place)} queries, {n_gallery} gallery pictures, {n_pairs} pairs with objects in common")
    print("| shortlist | pairs matched | recall | best possible |\n|---|---|---|---|")
    for n in LENGTHS:
        found = sum(place[q].get(p, n) < n for q, pictures in wanted.items() for p in pictures)
        most = sum(min(n, len(pictures)) for pictures in wanted.values())
        print(f"| {n} | {min(n / n_gallery, 1):.0%} | {found / n_pairs:.3f} | {most / n_pairs:.3f} |")


if __name__ == "__main__":
    sys.exit(main())
