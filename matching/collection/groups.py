"""Connected pictures of a collection, and what each is to another one of its group."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from matching.collection.relations import Relation, relation_of_matches
from matching.collection.store import Store, open_store, transform_of_pair
from matching.errors import InputError

COLUMNS = (
    "group",
    "picture",
    "role",
    "of",
    "share",
    "share_of",
    "turn",
    "scale",
    "mirrored",
    "score",
    "matches",
)


@dataclass(frozen=True)
class Link:
    """Two pictures with objects in common.

    image0, image1 : their numbers in the database
    relation : Relation of the first to the second
    score : of the best object
    n_matches : of all objects
    """

    image0: int
    image1: int
    relation: Relation
    score: float
    n_matches: int


@dataclass(frozen=True)
class Member:
    """A picture of a group.

    picture : path
    role : what it is to `of`, in words; "" of the group's first
    of : path of the picture of the group that it is told by, None of the first
    link : between the two, None of the first
    is_first : whether the picture is image0 of the link
    """

    picture: str
    role: str
    of: str | None = None
    link: Link | None = None
    is_first: bool = False


def groups_of(store: Store) -> list[tuple[Member, ...]]:
    """The groups of a collection, the largest first. A group begins with its picture of most pixels; each of
    the others is told by the picture before it to which it stands closest.
    """
    links = list(links_of(store))
    images = {k: (p, w, h) for k, p, w, h in store.rows("SELECT id, path, width, height FROM images")}
    found = []
    for numbers in _components(links):
        inside = set(numbers)
        own = [link for link in links if link.image0 in inside]
        found.append(tuple(_members(numbers, own, images)))
    return sorted(found, key=lambda members: (-len(members), members[0].picture))


def groups_in(db: Path) -> list[tuple[Member, ...]]:
    """The groups of a database, see `groups_of`."""
    with open_store(db) as store:
        return groups_of(store)


def check_groups_replaceable(folder: Path) -> None:
    """Raise InputError where a file is in the way of groups.csv that is none: it has other columns."""
    path = Path(folder) / "groups.csv"
    if not path.exists():
        return
    try:
        with path.open(newline="", encoding="utf-8") as file:
            columns = next(csv.reader(file), None)
    except (OSError, ValueError, csv.Error):
        columns = None
    if columns != list(COLUMNS):
        raise InputError(
            f"{path}: was not written by gdl-match-collection; choose another folder, or remove it"
        )


def group_rows(groups: Iterable[tuple[Member, ...]]) -> Iterator[tuple]:
    """Rows of COLUMNS: the groups' pictures, numbered from 0."""
    for number, members in enumerate(groups):
        for m in members:
            if m.link is None:
                yield (number, m.picture, *[None] * 9)
                continue
            r = m.link.relation
            shares = (r.share0, r.share1) if m.is_first else (r.share1, r.share0)
            motion = (r.turn, r.scale) if m.is_first else (r.turn if r.mirrored else -r.turn, 1 / r.scale)
            numbers = (*shares, *motion, int(r.mirrored), m.link.score, m.link.n_matches)
            yield (number, m.picture, m.role, m.of, *numbers)


def groups_csv(groups: Iterable[tuple[Member, ...]]) -> bytes:
    """The groups as a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(group_rows(groups))
    return text.getvalue().encode("utf-8", "backslashreplace")


def links_of(store: Store) -> Iterator[Link]:
    """The pairs of pictures with objects in common."""
    rows = store.cursor(
        "SELECT pairs.id, image0, image1, score, n_matches, a.width, a.height, b.width, b.height FROM pairs"
        " JOIN images AS a ON a.id = image0 JOIN images AS b ON b.id = image1"
        " WHERE n_objects > 0 AND image0 != image1 ORDER BY pairs.id"
    )
    for pair, image0, image1, score, n, *sizes in rows:
        xy = np.array(store.rows("SELECT x0, y0, x1, y1 FROM matches WHERE pair = ?", (pair,)))
        told = relation_of_matches(
            xy[:, :2], xy[:, 2:], transform_of_pair(store, pair), tuple(sizes[:2]), tuple(sizes[2:])
        )
        yield Link(image0, image1, told, score, n)


def _components(links):
    """The numbers of the pictures of each group."""
    numbers = np.unique([(link.image0, link.image1) for link in links])
    if not len(numbers):
        return []
    ends = np.searchsorted(numbers, [(link.image0, link.image1) for link in links]).T
    graph = coo_array((np.ones(len(links)), ends), shape=(len(numbers),) * 2)
    n, labels = connected_components(graph, directed=False)
    return [numbers[labels == k].tolist() for k in range(n)]


def _members(numbers, links, images):
    """The pictures of a group, each reached from one before it by the best link (Prim's order)."""

    def pixels(number):
        return images[number][1] * images[number][2]

    first = min(numbers, key=lambda k: (-pixels(k), images[k][0]))
    yield Member(images[first][0], "")
    reached = {first}
    while len(reached) < len(numbers):
        open_ones = [link for link in links if (link.image0 in reached) != (link.image1 in reached)]
        link = min(
            open_ones, key=lambda li: (li.relation.kind == "same thing", -li.n_matches, li.image0, li.image1)
        )
        is_first = link.image1 in reached
        new, old = (link.image0, link.image1) if is_first else (link.image1, link.image0)
        reached.add(new)
        yield Member(images[new][0], link.relation.role(0 if is_first else 1), images[old][0], link, is_first)
