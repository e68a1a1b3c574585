"""The recall of the shortlist against matching everything: how many of the pairs with objects has it?

python scripts/match_collection.py --query DIR --gallery DIR --db all.db
python scripts/collection/evaluate_shortlist.py all.db --cache DIR
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

from eval.common.options import exit_status
from matching.collection import FeatureCache
from matching.collection.database.settings import read_config
from matching.collection.database.store import open_store
from matching.collection.retrieval.codes import encode, make_query
from matching.collection.retrieval.search import PROBES, find_neighbours, rank
from matching.collection.retrieval.segments import make_segment
from matching.collection.retrieval.shards import PER_PICTURE
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
    start = time.perf_counter()
    segment = make_segment(
        (number, encode(features(sources[number], settings), PER_PICTURE)) for number in gallery
    )
    built = time.perf_counter() - start
    wanted = defaultdict(dict)  # query -> gallery picture -> score, of pairs with objects
    for query, picture, n_objects, score in rows:
        if n_objects:
            wanted[query][picture] = score
    queries = sorted({row[0] for row in rows})
    start = time.perf_counter()
    place = {q: places(features(sources[q], settings), segment, q) for q in queries}
    looked = (time.perf_counter() - start) / len(queries)
    report(place, wanted, len(gallery))
    print(f"index {built:.1f} s, a query {looked:.2f} s")


def features(source, settings):
    return get_described(source, settings).described.features


def places(found, segment, itself):
    """Picture -> its place in the ranking of a query with these features, from 0."""
    query = make_query(found, PROBES)
    best = rank(query, find_neighbours(query, segment, [itself])).picture.tolist()
    return {picture: k for k, picture in enumerate(best)}


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
