"""How often is each word for an object right? evaluate_reliability.py $GDL_DATA --out rows.csv [--figure F]

The table has the objects of pairs whose truth is known, each with its number of false alarms and whether it
is right:

* small prints: a front pasted into a photograph, 50 to 120 pixels large and turned; an object is right if it
  moves as the print does
* covers: photographed film covers with their own cover, where all objects are right, and with another one
* shelves: products on shelves, where objects inside a labelled instance are right, and other shelves
* SIFT, ORB, AKAZE: the same with `group_matches` on matches of OpenCV's detectors, by nearest neighbours, by
  mutual ones, and by a ratio test of 0.9; and pairs with nothing in common: products and photographs,
  packets of food and shelves of cereals

On shelves with the product, objects outside it are not counted, because other boxes share its logos. The
pairs are split alternately into two halves, which the table counts separately. Rows that the file already has
are kept, so a stopped run can continue; --only restricts the run to some kinds of pairs.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import csv
import sys
from itertools import pairwise, product
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from eval.common.options import exit_status
from eval.common.tables import format_markdown
from eval.matching.photographs.shelves import find_owners, read_shelves
from matching import MatchConfig, group_matches
from matching.objects.confidence import WORDS, confidence
from matching.pictures.images import make_picture
from matching.pipelines.description import describe_picture
from matching.pipelines.pair import match_described
from synth.photographs import read_picture

N_SMALL, SMALL, TURN = 60, (50, 120), 40.0  # prints; pixels of the longer side; degrees at most
N_UNRELATED = 60  # pairs for the detectors
WITHIN, SHARE = 5.0, 0.8  # pixels from the truth, and share of a small print's matches that are
DETECTORS = {
    "SIFT": (cv2.SIFT_create(4000), cv2.NORM_L2),
    "ORB": (cv2.ORB_create(4000), cv2.NORM_HAMMING),
}
if hasattr(cv2, "AKAZE_create"):  # OpenCV 5 no longer has it
    DETECTORS["AKAZE"] = cv2.AKAZE_create(), cv2.NORM_HAMMING
WAYS = "nearest", "mutual", "ratio 0.9"
FIELDS = "kind", "pair", "half", "object", "log_nfa", "right"
ANY = MatchConfig().with_settings(max_log_nfa=0.0)  # also objects that are not significant enough by default


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder that holds models, tiles, scenes and retrieval")
    parser.add_argument("--out", type=Path, required=True, help="CSV table of objects")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="KIND",
        help="only these: small prints, covers, shelves, SIFT, ORB, AKAZE",
    )
    parser.add_argument("--figure", type=Path, help="also draw this figure of how often objects are right")
    return exit_status(lambda: measure(parser.parse_args(argv)))


def measure(options):
    pairs = list(list_pairs(options.data))
    kinds = {kind.split(",")[0] for kind, *_ in pairs}
    if unknown := sorted({*(options.only or ())} - kinds):
        raise ValueError(f"--only must be among {', '.join(sorted(kinds))}, got {unknown[0]}")
    rows = read_rows(options.out)
    done = {(row["kind"], row["pair"]) for row in rows}
    with options.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not rows:
            writer.writeheader()
        for number in np.random.default_rng(2).permutation(len(pairs)):  # so that a part has all kinds
            kind, pair, find = pairs[number]
            if (kind, pair) in done or (options.only and kind.split(",")[0] not in options.only):
                continue
            found = find() or [(None, None)]  # a pair without objects also has a row
            for k, (log_nfa, right) in enumerate(found):
                values = kind, pair, number % 2, k, log_nfa, right
                rows.append(dict(zip(FIELDS, values, strict=True)))
                writer.writerow(rows[-1])
            file.flush()
    rows = read_rows(options.out)
    print(format_table(rows))
    if options.figure:
        draw(rows, options.figure)


def read_rows(path):
    """The rows of a table; a row without an object has no number."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            {**row, "log_nfa": float(row["log_nfa"] or "nan"), "right": row["right"] == "True"}
            for row in csv.DictReader(file)
        ]


def list_pairs(data):
    """Kind, name and a function that finds [(log_nfa, right), ...] of each pair; right None if unknown."""
    described = {}
    yield from small_prints(data)
    yield from covers(data, described)
    shelves = [(pair.model, pair.scene, pair) for pair in read_shelves(data)]
    for model, scene, pair in shelves:

        def find(asked=(model, scene), own=pair):
            return judge(match_once(asked, described), own)

        yield "shelves", f"{model.stem} {scene.stem}", find
    features = {}
    unrelated = [(a, b, None) for a, b in list_unrelated(data)]
    for (model, scene, pair), name, way in product([*shelves, *unrelated], DETECTORS, WAYS):

        def find(asked=(name, way, model, scene, pair)):
            return given_objects(*asked, features)

        yield f"{name}, {way}", f"{model.stem} {scene.stem}", find


def list_unrelated(data):
    """Pairs of a product and a photograph, and pairs of a packet of food and a shelf of cereals."""
    tiles, models, scenes = (sorted((data / f).glob("*.jpg")) for f in ("tiles", "models", "scenes"))
    foods = [path for path in models if path.stem.startswith("food")]
    rng = np.random.default_rng(0)
    for own, others in ((models, tiles), (foods, scenes)):
        possible = list(product(own, others))
        yield from (possible[k] for k in rng.permutation(len(possible))[: N_UNRELATED // 2])


def small_prints(data):
    """Pairs of a front and a photograph with it."""
    fronts, tiles = (sorted((data / f).glob("*.jpg")) for f in ("models", "tiles"))
    if not fronts or not tiles:
        raise ValueError(f"{data} must hold models/*.jpg and tiles/*.jpg")
    rng = np.random.default_rng(5)
    for k in range(N_SMALL):
        front, tile = (files[rng.integers(len(files))] for files in (fronts, tiles))
        side, turn, place = rng.integers(*SMALL), np.radians(rng.uniform(-TURN, TURN)), rng.uniform(size=2)
        yield "small prints", str(k), lambda asked=(front, tile, side, turn, place): pasted_objects(*asked)


def pasted_objects(front, tile, side, turn, place):
    """Objects of a front and a photograph onto which it is pasted."""
    front, tile = read_picture(front), read_picture(tile)
    scale = side / max(front.shape)
    size = np.array(front.shape[1::-1])
    linear = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    room = np.maximum(np.array(tile.shape[1::-1]) - 2 * side, 0)
    centre = side + place * room
    small = Image.fromarray(front).resize(
        tuple(np.maximum(np.round(size * scale), 1).astype(int)), Image.LANCZOS
    )
    scaled = np.array(small.size) / size
    shift = centre - linear @ (np.array(small.size) - 1) / 2
    warp = np.column_stack([linear, shift])
    around = tuple(int(n) for n in tile.shape[1::-1])
    own = cv2.warpAffine(np.asarray(small), warp, around, flags=cv2.INTER_CUBIC)
    mask = cv2.warpAffine(np.full(small.size[::-1], 255, np.uint8), warp, around)
    scene = np.where((mask > 127)[..., None], own, tile)
    described = [describe_picture(make_picture(p, "picture")) for p in (front, scene)]
    found = []
    for item in match_described(*described, ANY).objects:
        expected = ((item.points0 + 0.5) * scaled - 0.5) @ linear.T + shift
        near = np.linalg.norm(expected - item.points1, axis=1) <= WITHIN
        found.append((item.log_nfa, near.mean() >= SHARE))
    return found


def covers(data, described):
    """Pairs of a photographed cover and its own cover, or another one."""
    gallery, queries = (sorted((data / "retrieval" / f).glob("*.jpg")) for f in ("gallery", "queries"))
    number = {cover.stem: k for k, cover in enumerate(gallery)}
    for query in queries:
        for step in (0, 7):
            cover = gallery[(number[query.stem[:3]] + step) % len(gallery)]

            def find(asked=(cover, query), right=step == 0):
                return [(o.log_nfa, right) for o in match_once(asked, described)]

            yield "covers", f"{cover.stem} {query.stem}", find


def match_once(paths, described):
    """Objects of two files, each described once."""
    for path in paths:
        if path not in described:
            described[path] = describe_picture(make_picture(path, "picture"))
    return match_described(*(described[path] for path in paths), ANY).objects


def judge(objects, pair):
    """Whether objects are right; those outside all instances of a product that the shelf has are left out."""
    if pair is None or not pair.instances:
        return [(item.log_nfa, False) for item in objects]
    owners = [find_owners(pair, item.points1, np.zeros(item.n_matches, int))[0] for item in objects]
    return [(item.log_nfa, True) for item, owner in zip(objects, owners, strict=True) if owner >= 0]


def given_objects(name, way, model, scene, pair, features):
    """Objects that `group_matches` makes of the matches of a detector."""
    detector, norm = DETECTORS[name]
    for path in (model, scene):
        if (name, path) not in features:
            features[name, path] = detector.detectAndCompute(
                cv2.imread(str(path), cv2.IMREAD_GRAYSCALE), None
            )
    (points0, words0), (points1, words1) = features[name, model], features[name, scene]
    if way == "ratio 0.9":
        two = cv2.BFMatcher(norm).knnMatch(words0, words1, k=2)
        matches = [pair[0] for pair in two if len(pair) == 2 and pair[0].distance < 0.9 * pair[1].distance]
    else:
        matches = cv2.BFMatcher(norm, crossCheck=way == "mutual").match(words0, words1)
    if len(matches) < 4:
        return []
    xy0 = np.array([points0[m.queryIdx].pt for m in matches])
    xy1 = np.array([points1[m.trainIdx].pt for m in matches])
    return judge(group_matches(xy0, xy1).objects, pair)


def format_table(rows):
    """Count the right ones of all objects with each word, by kind and half."""
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        line = [kind, str(len({row["pair"] for row in own}))]
        for word in (*WORDS, "none"):
            for half in "01":
                of_word = [row for row in own if row["half"] == half and tell(row["log_nfa"]) == word]
                line.append(f"{sum(row['right'] for row in of_word)} of {len(of_word)}")
        lines.append(line)
    head = ["kind", "pairs"] + [f"{word}, half {half}" for word in (*WORDS, "less") for half in (1, 2)]
    return format_markdown(head, lines)


def tell(log_nfa):
    """The word for an object; "none" for one that is not significant, None for no object."""
    if np.isnan(log_nfa):
        return None
    return confidence(log_nfa) if log_nfa <= MatchConfig().objects.max_log_nfa else "none"


def draw(rows, path):
    """Draw the share of right ones among objects with as many false alarms or more, by kind."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    edges = np.array([-20.5, -14, -8, -5, -2, 0])
    kinds = {
        "own candidates": lambda kind: "," not in kind,
        **{n: lambda kind, n=n: kind.startswith(n) for n in DETECTORS},
    }
    for marker, (name, belongs) in zip("osd^", kinds.items(), strict=False):
        own = [row for row in rows if belongs(row["kind"]) and np.isfinite(row["log_nfa"])]
        log_nfa, right = (np.array([row[key] for row in own]) for key in ("log_nfa", "right"))
        shares = [
            (np.median(log_nfa[at]), right[at].mean())
            for low, high in pairwise(edges)
            if (at := (log_nfa > low) & (log_nfa <= high)).sum() >= 5
        ]
        axes.plot(*np.array(shares).reshape(-1, 2).T, marker=marker, label=f"{name} ({len(own)} objects)")
    for bound, word in ((-8, "sure"), (-5, "likely"), (-2, "look at it")):
        axes.axvline(bound, color="0.7", lw=1)
        axes.text(bound - 0.1, 0.02, word, ha="left", color="0.4")  # on the side of fewer false alarms
    axes.set(xlabel="false alarms, decimal logarithm", ylabel="share that is right", ylim=(0, 1.03))
    axes.invert_xaxis()
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    sys.exit(main())
