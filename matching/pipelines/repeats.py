"""What stands in one picture more than once: its features are matched with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.threads import default_threads, single_blas_thread
from matching._common.types import Array, Bools, Floats, Ints
from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import Candidates, join_candidates, match_within
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_within_reach
from matching.errors import InputError
from matching.features.extraction import DESCRIBED, FeatureConfig, Features
from matching.grouping import Groups, group, group_by_paper
from matching.grouping.objects import is_object
from matching.grouping.repeats import direct_both_ways, find_overlap, fold
from matching.objects.cohesion import find_coherent_parts
from matching.objects.description import MatchedObject, add_things
from matching.objects.frames import fit_frame, polygon_area
from matching.objects.things import Thing
from matching.pictures.decoding import read_content
from matching.pictures.images import Picture, add_mask, make_picture, make_working_image, to_picture
from matching.pipelines.description import describe_picture
from matching.pipelines.pair import Clock, choose_listed, describe_objects
from matching.pipelines.units import Unit, find_unit
from matching.result import MatchResult, add_inputs

ROW_SCORE = (
    0.45  # of a row of copies, at least: things that are alike but no copies agree with fewer neighbours
)


def find_repeats(
    image: Any,
    config: MatchConfig = MatchConfig(),
    *,
    mask: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
    **settings: Any,
) -> MatchResult:
    """Find what stands in a picture more than once.

    Each object joins two places, xy0 in one and xy1 in the other; each two places are joined once, and the
    place further left comes first (of two at the same x, the upper one). `things` says which places show the
    same thing: one that stands there three times is one thing with three places, joined by two or three
    objects. A fine periodic texture is a thing that is `periodic`, with one object, that shifts it onto
    itself.

    Parameters
    ----------
    image : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The picture.
    config : MatchConfig
        All settings.
    mask : as an image, of the image's size, optional
        White where features may lie.
    progress : callable, optional
        Called as ``progress(stage, n_done, n_stages)`` when each stage has ended.
    **settings
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``mirrored=True``.

    Returns
    -------
    MatchResult
        A candidate is a pair of features, which stands there once. `frame1` of an object is the box around
        its first place, as it lies in the second one.

    Raises
    ------
    InputError
        A ValueError: the file or array can't be used, the mask has another size, or `view_synthesis` is on.
    TypeError
        `config` is no MatchConfig, or there is no setting of such a name.
    """
    check_config(config)
    config = config.with_settings(**settings)
    if config.view_synthesis:
        raise InputError("view_synthesis must be off for one picture: it simulates the views of two")
    clock = Clock(progress)
    image, mask = read_content(image, "image"), read_content(mask, "mask")
    picture = add_mask(make_picture(image), mask, "mask")
    clock.lap("read")
    result = find_repeats_in_picture(picture, config, clock=clock)
    return add_inputs(result, (image, image), (mask, mask), [picture] * 2)


@single_blas_thread()
def find_repeats_in_picture(
    picture: Picture, config: MatchConfig = MatchConfig(), *, clock: Clock | None = None
) -> MatchResult:
    """Find repeats in a picture already read."""
    clock = clock or Clock()
    described = describe_picture(picture, config, default_threads())
    clock.lap("features")
    features = described.features
    clearance = feature_clearance(features, config.features, config.objects.reach)
    parts = [
        match_within(features, clearance, config.candidates, default_threads(), mirrored)
        for mirrored in ((False, True) if config.mirrored else (False,))
    ]
    best, reserve = (join_candidates(part) for part in zip(*parts, strict=True))
    clock.lap("candidates")
    reserve = reserve[np.argsort(reserve.score, kind="stable")]
    found = _find_units(picture, features, clearance, _find_pieces(best, reserve, features, config), config)
    candidates, groups, things = _number(found, best, config)
    clock.lap("grouping")
    xy0, xy1 = (to_picture(xy, described.step) for xy in (candidates.xy0, candidates.xy1))
    tolerance = config.graph.scale * float(described.step.max())
    objects = [
        _add_frame(found, xy0[groups.labels == found.id], xy1[groups.labels == found.id])
        for found in describe_objects(xy0, xy1, groups, tolerance, (described.box, described.box))
    ]
    things = tuple(_add_places(thing, objects) for thing in things)
    clock.lap("objects")
    return MatchResult(
        xy0, xy1, groups.labels, candidates.score, add_things(objects, things), clock.seconds, config=config,
        things=things, n_features=(len(features),) * 2, matched_at=(described.megapixels,) * 2, of_one=True,
    )  # fmt: skip


def feature_clearance(features: Features, config: FeatureConfig, least: float) -> Floats:
    """Tell how far features are from where a match of theirs may be.

    Returns (n,) float64.
    """
    window = np.array([config.mser_window, config.sift_window])[features.kind]
    clearance: Floats = np.maximum(
        np.sqrt(np.abs(np.linalg.det(features.frames))) * window * DESCRIBED, least
    )
    return clearance


@dataclass(frozen=True, eq=False)
class _Piece:
    """Matches between two places, from the one further left; a texture is shifted onto itself."""

    candidates: Candidates
    score: float
    log_nfa: float
    periodic: bool

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def correspondences(self) -> Correspondences:
        """Their geometry."""
        return Correspondences(self.candidates.xy0, self.candidates.xy1, self.candidates.maps)

    @property
    def groups(self) -> Groups:
        """All are of one object."""
        return Groups(np.zeros(len(self), np.int64), np.array([self.score]), np.array([self.log_nfa]))

    def holds(self, xy0: Floats, xy1: Floats, reach: float) -> bool:
        """Whether half of the matches (n, 2) between two places, or more, lie so near to its own."""
        ends = np.concatenate([self.candidates.xy0, self.candidates.xy1])
        return bool(
            2 * (is_within_reach(xy0, ends, reach) & is_within_reach(xy1, ends, reach)).sum() >= len(xy0)
        )

    def choose(self, rows: Ints) -> _Piece:
        """A part of it."""
        return replace(self, candidates=self.candidates[rows])


def _find_pieces(
    best: Candidates, reserve: Candidates, features: Features, config: MatchConfig
) -> list[_Piece]:
    """The groups of candidates, each in the direction of its object, the largest first."""
    candidates, n, n_best = join_candidates([best, reserve]), len(best) + len(reserve), len(best)
    correspondences = direct_both_ways(candidates.xy0, candidates.xy1, candidates.maps)
    # grouping wants the best first: those of both directions before the reserve of both
    first, last = np.split(np.arange(n), [n_best])
    order = np.concatenate([first, first + n, last, last + n])
    groups = _group(correspondences[order], 2 * n_best, config, default_threads())
    labels = np.empty(2 * n, np.int64)
    labels[order] = groups.labels
    pieces = []
    for item in fold(correspondences, replace(groups, labels=labels), config.objects):
        own = _turn(candidates[item.members % n], item.members >= n)
        is_row = find_overlap(own.xy0, own.xy1, config.objects.min_matches)
        periodic = is_row and item.score < ROW_SCORE
        pieces.append(_Piece(own, item.score, item.log_nfa, periodic))
    return sorted(pieces, key=len, reverse=True)


def _group(correspondences: Correspondences, n_listed: int, config: MatchConfig, n_threads: int) -> Groups:
    """Group correspondences within one picture."""
    how = {"default": group, "paper": group_by_paper}[config.grouping]
    config = replace(
        config,
        suppression=replace(config.suppression, by_one=True),
        objects=replace(config.objects, evidence=0.0),
    )
    return how(correspondences, n_listed, config, n_threads)


def _find_units(
    picture: Picture, features: Features, clearance: Floats, pieces: list[_Piece], config: MatchConfig
) -> list[Unit | _Piece]:
    """What stands there more than once: units with their places, and textures."""
    found: list[Unit | _Piece] = []
    for piece in _cut_pieces(picture, pieces, config):
        xy0, xy1 = piece.candidates.xy0, piece.candidates.xy1
        reach = config.objects.reach
        if any(other.holds(xy0, xy1, reach) for other in found):
            continue
        if any(isinstance(other, Unit) and other.leads(xy0, xy1, reach) for other in found):
            continue
        unit = None if piece.periodic else find_unit(features, clearance, xy0, xy1, config, _group)
        if unit is None:
            found.append(replace(piece, periodic=True))
        else:
            found.append(unit if len(unit.groups.scores) else piece)
    return found


def _cut_pieces(picture: Picture, pieces: list[_Piece], config: MatchConfig) -> list[_Piece]:
    """The coherent parts of the pieces, the largest first; textures as they are."""
    image = make_working_image(picture, config.first_pixels)
    rgb = opencv.resize_area(picture.rgb, *image.grey.shape[::-1])
    reach, least = config.objects.reach, config.objects.min_matches
    cut = []
    for piece in pieces:
        if piece.periodic:
            cut.append(piece)
            continue
        number = find_coherent_parts(rgb, piece.candidates.xy0, piece.candidates.xy1, reach, least)
        parts = [piece.choose(np.flatnonzero(number == k)) for k in range(number.max(initial=-1) + 1)]
        cut += [
            part for part in parts if is_object(part.correspondences, np.arange(len(part)), config.objects)
        ]
    return sorted(cut, key=len, reverse=True)


def _number(
    found: list[Unit | _Piece], best: Candidates, config: MatchConfig
) -> tuple[Candidates, Groups, tuple[Thing, ...]]:
    """The candidates that are listed, their groups, and the things without their places.

    Things are numbered by the score of their best object; the objects of one, by where their places lie.
    """
    rows, scores, log_nfa, things = list[Candidates](), list[float](), list[float](), list[Thing]()
    taken: set[tuple[int, int]] = set()
    for item in sorted(found, key=lambda item: -max(item.groups.scores)):
        n_before = len(rows)
        for own, k in _list_objects(item):
            ends = _name_ends(own)
            free = np.array([pair not in taken for pair in ends])
            if free.sum() >= config.objects.min_matches:
                rows.append(own[free])
                scores.append(float(item.groups.scores[k]))
                log_nfa.append(np.nan if item.groups.log_nfa is None else float(item.groups.log_nfa[k]))
                taken.update(ends)
        if len(rows) > n_before:
            ids = tuple(range(n_before, len(rows)))
            things.append(Thing(len(things), ids, (), isinstance(item, _Piece) and item.periodic))
    others = best[np.array([pair not in taken for pair in _name_ends(best)], bool)]
    listed = join_candidates([*rows, others])
    labels = np.repeat([*range(len(rows)), -1], [*map(len, rows), len(others)])
    groups = Groups(labels, np.array(scores), np.array(log_nfa))
    candidates, groups = choose_listed(listed, groups, config.candidates.max_matches)
    return candidates, groups, tuple(things)


def _list_objects(item: Unit | _Piece) -> list[tuple[Candidates, int]]:
    """The matches of each object and its number among the groups, by where its place lies."""
    own = [(item.candidates[item.groups.labels == k], k) for k in range(len(item.groups.scores))]
    return sorted(own, key=lambda part: tuple(part[0].xy1.mean(axis=0)))


def _name_ends(candidates: Candidates) -> list[tuple[int, int]]:
    """The two features of each candidate, whichever comes first."""
    ends = np.sort(np.column_stack([candidates.row0, candidates.row1]), axis=1)
    return [(i, j) for i, j in ends.tolist()]


def _add_places(thing: Thing, objects: Sequence[MatchedObject]) -> Thing:
    """A thing with its places: that which all its objects lead from, and one for each."""
    own = [objects[k] for k in thing.objects]
    first = max((found.outline0 for found in own), key=polygon_area)
    return replace(thing, places=(first, *(found.outline1 for found in own)))


def _turn(candidates: Candidates, turn: Bools) -> Candidates:
    """The candidates, those chosen the other way."""
    ends: dict[str, Array] = {}
    for name in ("xy", "frames", "row"):
        a, b = getattr(candidates, f"{name}0"), getattr(candidates, f"{name}1")
        chosen = turn.reshape(-1, *[1] * (a.ndim - 1))
        ends |= {f"{name}0": np.where(chosen, b, a), f"{name}1": np.where(chosen, a, b)}
    return replace(candidates, **ends)


def _add_frame(found: MatchedObject, xy0: Floats, xy1: Floats) -> MatchedObject:
    """An object whose frame is that of its first place."""
    box = np.array([found.outline0.min(axis=0), found.outline0.max(axis=0)])
    return replace(found, frame1=fit_frame(xy0, xy1, box, found.transform))
