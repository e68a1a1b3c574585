"""Groups of connected pictures in a collection, and how each picture is related to another of its group."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from matching._common.components import find_components
from matching._common.types import Array, Floats
from matching.collection.database.store import (
    PAIRS_WITH_IMAGES,
    Store,
    read_objects,
)
from matching.collection.reports.relations import (
    MIN_WHOLE_SHARE,
    UNMEASURED,
    Relation,
    check_made,
    find_relation,
    find_shown,
    fit_motion,
)
from matching.errors import InputError
from matching.objects.description import MatchedObject
from matching.objects.frames import MIN_PICTURE_SHARE
from matching.output.csv_text import encode_csv
from matching.pictures.images import Picture, read_picture
from matching.pictures.names import is_file

COLUMNS = (
    *("group", "picture", "role", "of", "share", "share_of"),
    *("turn", "scale", "mirrored", "score", "matches"),
)
KINDS_BEHIND = {
    "same template": 1,
    "shows": 2,
    "same thing": 3,
}  # a picture is described by these if by no other
PICTURES_IN_MEMORY = 8
MAX_LOOKED_AT = 3  # objects of a pair, of which any may show most of a picture; no record of a choice


@dataclass(frozen=True)
class Link:
    """Two pictures with objects in common."""

    image0: int  # in the database
    image1: int
    relation: Relation  # of image0 to image1
    score: float  # of the best object
    n_matches: int  # of all objects

    @property
    def is_strong(self) -> bool:
        """True if it joins a group: one picture was made from the other, or they show the same thing."""
        return self.relation.kind != "shares a part"

    def reverse(self) -> Link:
        """Exchange the two pictures."""
        return replace(self, image0=self.image1, image1=self.image0, relation=self.relation.reverse())


@dataclass(frozen=True)
class Member:
    """A picture of a group."""

    picture: str  # path
    of: str | None = None  # path of the picture with which it is compared; None for the first of the group
    link: Link | None = None  # from `of` to the picture; None for the first

    @property
    def role(self) -> str:
        """Its relation to `of`, in words; empty for the first of the group."""
        return "" if self.link is None else self.link.relation.reverse().role


Group = tuple[Member, ...]


def find_groups(store: Store, links: Iterable[Link]) -> list[Group]:
    """Find groups of strongly linked pictures, by the links of `find_links`.

    Each begins with its largest picture.
    """
    links = [link for link in links if link.is_strong]
    linked = {number for link in links for number in (link.image0, link.image1)}
    rows = store.rows("SELECT -width * height, path, id FROM images WHERE status = 'described'")
    largest_first = sorted((n, -look_up(path)[0], path, k) for n, path, k in rows if k in linked)
    found = _grow_groups(links, {number: path for *_, path, number in largest_first})
    return sorted(found, key=lambda members: (-len(members), members[0].picture))


def format_groups_csv(groups: Iterable[Group]) -> bytes:
    """Write the groups in the form of a CSV file."""
    rows: list[Sequence[Any]] = [COLUMNS]
    for number, m in ((number, m) for number, members in enumerate(groups) for m in members):
        row: list[Any] = [None] * 9
        if m.link is not None:
            relation = m.link.relation
            measures = relation.share1, relation.share0, relation.turn, relation.scale
            values = (None if math.isnan(value) else value for value in measures)
            row = [m.role, m.of, *values, int(relation.mirrored), m.link.score, m.link.n_matches]
        rows.append((number, m.picture, *row))
    return encode_csv(rows)


def find_links(store: Store) -> Iterator[Link]:
    """Find the pairs of pictures with objects in common; the files are read, and what they show compared."""
    rows = store.execute(
        "SELECT pairs.id, image0, image1, score, n_matches, a.path, b.path,"
        f" a.width, a.height, b.width, b.height FROM {PAIRS_WITH_IMAGES}"
        " WHERE n_objects > 0 AND image0 != image1 ORDER BY pairs.id"
    )
    read = lru_cache(PICTURES_IN_MEMORY)(_read)
    for pair, image0, image1, score, n, path0, path1, *numbers in rows:
        size0, size1 = (tuple(numbers[k : k + 2]) for k in (0, 2))
        query = "SELECT object, x0, y0, x1, y1 FROM matches WHERE pair = ?"
        matches = np.array(store.rows(query, (pair,)))
        objects = sorted(read_objects(store, pair), key=lambda o: -o.n_matches)
        motion = fit_motion(matches[:, 1:3], matches[:, 3:], objects[0].transform, size0, size1)
        relation = UNMEASURED if motion is None else find_relation(motion, size0, size1)
        picture0, picture1 = read(path0), read(path1)
        if picture0 is None or picture1 is None:
            relation = UNMEASURED
        elif motion is not None and relation.is_measured:
            relation = check_made(relation, picture0.rgb, picture1.rgb, motion)
        if not relation.is_measured:  # the motion of one thing says nothing of the rest of the pictures
            share0, share1 = _measure_shares(objects, size0, size1)
            relation = replace(relation, kind="same thing", share0=share0, share1=share1)
            if min(share0, share1) < MIN_PICTURE_SHARE:
                relation = replace(relation, kind="shares a part")
            elif picture0 is not None and picture1 is not None:
                relation = _find_shown(relation, objects, matches, picture0.rgb, picture1.rgb)
        yield Link(image0, image1, relation, score, n)


def _find_shown(
    relation: Relation, objects: Sequence[MatchedObject], matches: Floats, image0: Array, image1: Array
) -> Relation:
    """Find which of two pictures (h, w, 3) shows the other, by the first objects that show most of either.

    The columns of matches (n, 5) are the objects, and x and y in both pictures.
    """
    for found in objects[:MAX_LOOKED_AT]:
        xy = matches[matches[:, 0] == found.id, 1:]
        shown = find_shown(image0, image1, xy[:, :2], xy[:, 2:], found.transform)
        whole = [k for k in (0, 1) if shown[k] >= MIN_WHOLE_SHARE]
        if any(shown):
            return replace(relation, kind="shows", derived=whole[0]) if len(whole) == 1 else relation
    return replace(relation, kind="shares a part")


def _measure_shares(
    objects: Iterable[MatchedObject], size0: Sequence[int], size1: Sequence[int]
) -> tuple[float, float]:
    """Measure the share of each picture that the outlines of a pair's objects cover together."""
    outlines = zip(*((o.outline0, o.outline1) for o in objects), strict=True)
    share0, share1 = map(_measure_union, outlines, (size0, size1))
    return share0, share1


def _measure_union(outlines: Sequence[Floats], size: Sequence[int]) -> float:
    """Measure the share of a picture that outlines (k, 2) cover together."""
    picture = shapely.box(-0.5, -0.5, size[0] - 0.5, size[1] - 0.5)
    union = shapely.union_all(shapely.make_valid([shapely.Polygon(one) for one in outlines]))
    return float(union.intersection(picture).area / picture.area)


def find_joined(store: Store, pairs: Container[tuple[str, str]]) -> dict[str, str]:
    """Map each picture that shares more than a logo with another one to the first of its connected group.

    Only these pairs of paths count, each in ascending order. No file is read.
    """
    rows = store.rows(
        f"SELECT pairs.id, a.path, b.path, a.width, a.height, b.width, b.height FROM {PAIRS_WITH_IMAGES}"
        " WHERE n_objects > 0 AND image0 != image1"
    )
    joined = [
        (path0, path1)
        for pair, path0, path1, *numbers in rows
        if (min(path0, path1), max(path0, path1)) in pairs
        and min(_measure_shares(read_objects(store, pair), numbers[:2], numbers[2:])) >= MIN_PICTURE_SHARE
    ]
    if not joined:
        return {}
    paths, ends = np.unique(np.array(joined, object).reshape(-1, 2), return_inverse=True)
    labels = find_components(len(paths), ends)
    _, first = np.unique(labels, return_index=True)
    return dict(zip(paths.tolist(), paths[first][labels].tolist(), strict=True))


def _read(path: str) -> Picture | None:
    """Read a picture; None if it can't be read."""
    try:
        return read_picture(path)
    except InputError:
        return None


def look_up(path: str) -> tuple[int, float]:
    """The bytes of a file, and when it was last changed; (0, inf) if there is none."""
    if not is_file(path):
        return 0, math.inf
    status = Path(path).stat()
    return status.st_size, status.st_mtime


def _grow_groups(links: Sequence[Link], paths: Mapping[int, str]) -> Iterator[Group]:
    """Find the groups of linked pictures; each begins with the first of `paths` that no group has yet.

    Every further picture is reached from an earlier one by the best link (Prim's algorithm).
    """
    links_of = defaultdict[int, list[Link]](list)
    for link in links:
        for number in (link.image0, link.image1):
            links_of[number].append(link)
    reached: set[int] = set()
    for first in (number for number in paths if number not in reached):
        reached.add(first)
        members = [Member(paths[first])]
        queue = [(_rank(link), link) for link in links_of[first]]
        heapify(queue)
        while queue:
            _, link = heappop(queue)
            if link.image1 in reached:
                link = link.reverse()
            if link.image1 in reached:
                continue  # reached by a better link
            reached.add(link.image1)
            members.append(Member(paths[link.image1], paths[link.image0], link))
            for further in links_of[link.image1]:
                if not {further.image0, further.image1} <= reached:
                    heappush(queue, (_rank(further), further))
        yield tuple(members)


def _rank(link: Link) -> tuple[int, int, bool, bool, int, int, int]:
    """Make the sort key of a link: the smallest for the best link, and different for all links."""
    relation = link.relation
    kind = KINDS_BEHIND.get(relation.kind, 0)
    is_same = relation.compared.is_same
    # behind those that differ: a copy that is too small to tell equals several that do
    doubt = 2 if is_same is None and relation.kind == "thumbnail" else int(is_same is False)
    # a copy that differs goes before a thumbnail that does: then that is a thumbnail of its own original
    is_smaller = is_same is False and relation.derived is not None
    return kind, doubt, is_smaller, relation.mirrored, -link.n_matches, link.image0, link.image1
