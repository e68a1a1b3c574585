"""How often is each word for an object right? Writes reliability.csv and reliability.png.

The table has the objects of pairs whose truth is known, each with its number of false alarms, by its pixels
or, of given matches, by its points, and whether it is right:

* small prints: a front pasted into a photograph, 30 to 90 pixels large and turned; an object is right if it
  moves as the print does
* covers: photographed film covers with their own cover, where all objects are right, and with another one
* shelves: products on shelves, where objects inside a labelled instance are right, and other shelves
* SIFT, ORB, AKAZE: the same with `group_matches` on matches of OpenCV's detectors, by nearest neighbours, by
  mutual ones, and by a ratio test of 0.9; and pairs with nothing in common: products and photographs,
  packets of food and shelves of cereals

On shelves with the product, objects outside it are not counted, because other boxes share its logos. Of given
matches, objects with up to 10^8 false alarms are listed, to show where they are wrong. Rows that the file
already has are kept, so a stopped run can continue; --only restricts the run to some kinds of pairs.
"""

import argparse
import csv
from itertools import pairwise, product

import cv2
import numpy as np
from PIL import Image

from eval.common.options import add_options
from eval.common.tables import format_markdown
from eval.matching.photographs.shelves import find_owners, read_shelves
from matching import MatchConfig, group_matches
from matching.drivers.pair import match_pair
from matching.grouping.methods import MANY
from matching.objects.confidence import LIKELY_LOG_NFA, SURE_LOG_NFA, SURE_PIXELS_LOG_NFA, WORDS
from matching.pictures.images import make_picture
from matching.searches.source import ImageSource
from synth.photographs import read_picture

N_SMALL, SMALL, TURN = 400, (30, 90), 40.0  # prints; pixels of the longer side; degrees at most
N_UNRELATED = 60  # pairs for the detectors
WITHIN, SHARE = 5.0, 0.8  # pixels from the truth, and share of a small print's matches that are
DETECTORS = {
    "SIFT": (cv2.SIFT_create(4000), cv2.NORM_L2),
    "ORB": (cv2.ORB_create(4000), cv2.NORM_HAMMING),
}
if hasattr(cv2, "AKAZE_create"):  # OpenCV 5 no longer has it
    DETECTORS["AKAZE"] = cv2.AKAZE_create(), cv2.NORM_HAMMING
WAYS = "nearest", "mutual", "ratio 0.9"
FIELDS = "kind", "pair", "object", "log_nfa", "right"
ANY = MatchConfig().with_settings(max_log_nfa=8.0)  # also objects that are not significant by default
# Log10 of false alarms where classes begin: three have the words, the others are no objects by default. What
# lies between the matches of pictures leaves no other class.
BY_POINTS = np.array([-np.inf, SURE_LOG_NFA, LIKELY_LOG_NFA, MatchConfig().objects.max_log_nfa, 0, 2, 4, 8])
BY_PIXELS = np.array([-np.inf, SURE_PIXELS_LOG_NFA, 0, np.inf])
CLASSES = *WORDS, "to 1", "to 10^2", "to 10^4", "to 10^8"
DRAWN = {  # a marker, a colour, and the kinds of each curve
    "products and covers": ("o", "#0072b2", "covers", "shelves"),
    "small prints": ("s", "#e69f00", "small prints"),
    "given matches, SIFT": ("d", "#009e73", "SIFT"),
    "given matches, ORB": ("^", "#cc79a7", "ORB"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", out="reliability")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=("small prints", "covers", "shelves", *DETECTORS),
        metavar="KIND",
        help="only these: small prints, covers, shelves, SIFT, ORB, AKAZE",
    )


def run(args: argparse.Namespace) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    path, pairs = args.out / "reliability.csv", list(list_pairs(args.data))
    rows = read_rows(path)
    done = {(row["kind"], row["pair"]) for row in rows}
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not rows:
            writer.writeheader()
        for number in np.random.default_rng(2).permutation(len(pairs)):  # so that a part has all kinds
            kind, pair, find = pairs[number]
            if (kind, pair) in done or (args.only and kind.split(",")[0] not in args.only):
                continue
            found = find() or [(None, None)]  # a pair without objects also has a row
            for k, (log_nfa, right) in enumerate(found):
                writer.writerow(dict(zip(FIELDS, (kind, pair, k, log_nfa, right), strict=True)))
            file.flush()
    rows = read_rows(path)
    print(format_table(rows))
    draw(rows, args.out / "reliability.png")


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
    sources = [ImageSource(make_picture(p, "picture")) for p in (front, scene)]
    found = []
    for item in match_pair(*sources, MANY).objects:
        expected = ((item.points0 + 0.5) * scaled - 0.5) @ linear.T + shift
        near = np.linalg.norm(expected - item.points1, axis=1) <= WITHIN
        found.append((count_false_alarms(item), near.mean() >= SHARE))
    return found


def count_false_alarms(found):
    """Log10 of the number of false alarms of an object; infinite if its pixels tell nothing."""
    return np.inf if found.log_nfa is None else float(found.log_nfa)


def covers(data, described):
    """Pairs of a photographed cover and its own cover, or another one."""
    gallery, queries = (sorted((data / "retrieval" / f).glob("*.jpg")) for f in ("gallery", "queries"))
    number = {cover.stem: k for k, cover in enumerate(gallery)}
    for query in queries:
        for step in (0, 7):
            cover = gallery[(number[query.stem[:3]] + step) % len(gallery)]

            def find(asked=(cover, query), right=step == 0):
                return [(count_false_alarms(o), right) for o in match_once(asked, described)]

            yield "covers", f"{cover.stem} {query.stem}", find


def match_once(paths, sources):
    """Objects of two files, each described once."""
    for path in paths:
        if path not in sources:
            sources[path] = ImageSource(make_picture(path, "picture"))
    return match_pair(*(sources[path] for path in paths), MANY).objects


def judge(objects, pair):
    """Whether objects are right; those outside all instances of a product that the shelf has are left out."""
    if pair is None or not pair.instances:
        return [(count_false_alarms(item), False) for item in objects]
    owners = [find_owners(pair, item.points1, np.zeros(item.n_matches, int))[0] for item in objects]
    return [
        (count_false_alarms(item), True) for item, owner in zip(objects, owners, strict=True) if owner >= 0
    ]


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
    return judge(group_matches(xy0, xy1, config=ANY).objects, pair)


def format_table(rows):
    """Count the right ones of the objects of each class, by kind."""
    lines = []
    for kind in dict.fromkeys(map(kind_of, rows)):
        own = [row for row in rows if kind_of(row) == kind]
        counts = [f"{right.sum()} of {len(right)}" for right in sort_out(own)]
        empty = [""] * (len(CLASSES) - len(counts))
        lines.append([kind, str(len({(row["kind"], row["pair"]) for row in own})), *counts, *empty])
    return format_markdown(["kind", "pairs", *CLASSES], lines)


def kind_of(row):
    """The kind of a row, without the way of matching."""
    return row["kind"].split(",")[0]


def sort_out(rows):
    """Whether the objects of each class are right: one (n,) bool for each of CLASSES, or for three by pixels.

    The rows are all by their points, or all by their pixels.
    """
    bounds = BY_POINTS if any(kind_of(row) in DETECTORS for row in rows) else BY_PIXELS
    log_nfa, right = (np.array([row[key] for row in rows]) for key in ("log_nfa", "right"))
    return [right[(log_nfa > low) & (log_nfa <= high)] for low, high in pairwise(bounds)]


def draw(rows, path):
    """Draw the share of right ones among the objects of each class, by kind, with 95 % intervals (Wilson)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from scipy.stats import binomtest

    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    axes.axvline(len(WORDS) - 0.5, color="0.5", ls="--", lw=1)
    axes.text(len(WORDS) - 0.45, -0.05, "no objects by default", color="0.35", va="center")
    for k, (name, (marker, color, *own)) in enumerate(DRAWN.items()):
        found = sort_out([row for row in rows if kind_of(row) in own])
        if not sum(map(len, found)):
            continue
        bars = [(n, right.mean(), right.sum(), len(right)) for n, right in enumerate(found) if len(right)]
        bounds = np.array([binomtest(*bar[2:]).proportion_ci(method="wilson") for bar in bars])
        x, share = np.array([(n + 0.16 * (k - 1.5), mean) for n, mean, *_ in bars]).T
        off = np.maximum([share - bounds[:, 0], bounds[:, 1] - share], 0)
        label = f"{name} ({sum(map(len, found))} objects)"
        axes.errorbar(x, share, off, fmt=marker, color=color, capsize=3, label=label)
        for place, high, (*_, n) in zip(x, bounds[:, 1], bars, strict=True):
            axes.annotate(str(n), (place, high), (0, 5), textcoords="offset points", ha="center", fontsize=7)
    axes.set_xticks(np.arange(len(CLASSES)), [name_class(k) for k in range(len(CLASSES))])
    axes.set(
        xlabel="number of false alarms by points (by pixels)", ylabel="share that is right", ylim=(-0.1, 1.12)
    )
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    figure.savefig(path, dpi=110)


def name_class(k):
    """A class with its bounds: by points and, of the words, by pixels."""
    by_points = name_bounds(BY_POINTS, k)
    return f"{CLASSES[k]}\n{by_points}\n({name_bounds(BY_PIXELS, k)})" if k < len(WORDS) else by_points


def name_bounds(bounds, k):
    """The bounds of class k."""
    low, high = (f"$10^{{{value:g}}}$" for value in bounds[k : k + 2])
    if np.isinf(bounds[k + 1]):
        return f"above {low}"
    return f"{low} to {high}" if k else f"at most {high}"
