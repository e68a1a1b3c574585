"""The pages of a collection: its pairs with objects, the best first, or its groups of pictures."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from matching.collection.database.store import Store, open_store, read_objects
from matching.collection.reports.groups import Member
from matching.objects.frames import Motion
from matching.output.folders import write_page
from matching.output.html.page import candidates_data, embed_file, objects_data, render
from matching.pictures.names import make_relative, name_relatively

Row = tuple[Any, ...]  # a row of the database

MAX_EMBEDDED_PIXELS = 40e6  # of all pictures together, about 10 MB of JPEG
MAX_PICTURE_SIDE, MIN_PICTURE_SIDE = 1200, 360  # pixels of the longer side
PICTURE_SIDE = 240  # pixels of the longer side of an embedded picture
MAX_PICTURES = 2000  # on the page, about 20 MB


def write_collection_report(db: str | Path, path: str | Path, max_pairs: int) -> None:
    """Write a page about a database to a file, completely or not at all."""
    with open_store(db) as store:
        rows = store.rows(
            "SELECT id, image0, image1, score, n_objects, n_matches FROM pairs"
            " WHERE n_objects > 0 ORDER BY rank DESC, id LIMIT ?",
            (max_pairs,),
        )
        numbers = sorted({number for _, *both, _, _, _ in rows for number in both})
        query = "SELECT id, path, width, height FROM images WHERE id IN (SELECT value FROM json_each(?))"
        listed = store.rows(f"{query} ORDER BY id", (json.dumps(numbers),))
        names = make_relative(path for _, path, *_ in listed)
        images = {number: (name, *row) for name, (number, *row) in zip(names, listed, strict=True)}
        pairs = [_pair_data(store, row) for row in rows]
        page = render(
            "collection.html",
            {"pictures": _pictures(images), "pairs": pairs},
            name=Path(db).name,
            pairs=[_card(row, images, pair) for row, pair in zip(rows, pairs, strict=True)],
            failed=store.rows("SELECT path, error FROM images WHERE status = 'failed' ORDER BY id"),
            n_pending=store.value("SELECT count(*) FROM pairs WHERE status = 'pending'"),
            **{f"n_{name}": n for name, n in store.counts().items()},
        )
    write_page(Path(path), page)


def _card(row: Row, images: Mapping[int, Row], pair: Mapping[str, Any]) -> dict[str, Any]:
    """Make the values of the card of a pair."""
    _, *both, score, n_objects, n_matches = row
    ratios = (min(max(images[k][2] / images[k][3], 0.5), 2) for k in both)
    return {
        "columns": " ".join(f"{ratio:.2f}fr" for ratio in ratios),
        "names": [images[k][0] for k in both],
        "score": score,
        "n_objects": n_objects,
        "n_differing": sum(bool(found["differences"]) for found in pair["objects"]),
        "n_matches": n_matches,
    }


def _pictures(images: Mapping[int, Row]) -> dict[int, dict[str, Any]]:
    """Embed the pictures of a page, reduced so far that the page does not become too large."""
    sizes = [image[-2:] for image in images.values()]
    pixels = sum(w * h * min(MAX_PICTURE_SIDE / max(w, h), 1) ** 2 for w, h in sizes)
    factor = min(math.sqrt(MAX_EMBEDDED_PIXELS / max(pixels, 1)), 1)
    side = max(int(MAX_PICTURE_SIDE * factor), MIN_PICTURE_SIDE)
    return {
        number: {**embed_file(path, name, side), "width": width, "height": height}
        for number, (name, path, width, height) in images.items()
    }


def _pair_data(store: Store, row: Row) -> dict[str, Any]:
    """Make the data of a pair, which the script of the page draws."""
    number, *both, _, _, _ = row
    query = "SELECT object, score, x0, y0, x1, y1 FROM matches WHERE pair = ? ORDER BY candidate"
    columns = np.array(store.rows(query, (number,)))
    cluster, xy0 = columns[:, 0].astype(int), columns[:, 2:4]
    candidates, rows = candidates_data(xy0, columns[:, 4:], cluster, columns[:, 1], 0)
    return {
        "pair": number,
        "images": both,
        "objects": objects_data(read_objects(store, number), cluster[rows], xy0[rows]),
        "candidates": candidates,
        "n_rejected": 0,
    }


def write_groups_report(
    groups: Sequence[Sequence[Member]], db: Path, path: Path, name: str | None = None
) -> None:
    """Write a page about the groups of a database to a file, completely or not at all.

    `name` is the title, by default the name of the database.
    """
    with open_store(db) as store:
        n_images = store.value("SELECT count(*) FROM images")
    listed, room = [], MAX_PICTURES
    for members in groups:
        if len(members) <= room:
            listed.append(members)
            room -= len(members)
    paths = [m.picture for members in groups for m in members]
    names = name_relatively(paths)
    page = render(
        "groups.html",
        {},
        name=name or db.name,
        groups=[[_show_member(member, names) for member in members] for members in listed],
        roles=sorted({member.role for members in listed for member in members if member.role}),
        n_groups=len(groups),
        n_grouped=len(paths),
        n_images=n_images,
    )
    write_page(path, page)


def describe_link(member: Member) -> str:
    """Describe a picture's link in words."""
    if (link := member.link) is None:
        return ""
    words = [f"{link.n_matches} matches"]
    if (relation := link.relation).is_measured:
        motion = Motion(np.zeros(2), relation.turn, relation.scale, relation.mirrored, relation.share0)
        words = [f"{relation.share0:.0%} of it", motion.words, relation.verdict, *words]
    return ", ".join(filter(None, words))


def format_groups(groups: Sequence[Sequence[Member]]) -> str:
    """Write the groups as text, with one picture per line."""
    paths = [m.picture for members in groups for m in members]
    if not paths:
        return "no group"
    names = name_relatively(paths)
    lines = []
    for number, members in enumerate(groups):
        lines.append(f"group {number}: {len(members)} pictures")
        for m in members:
            relation = f"  {m.role} {names[m.of]} ({describe_link(m)})" if m.of is not None else ""
            lines.append(f"  {names[m.picture]}{relation}")
    return "\n".join(lines)


def _show_member(member: Member, names: Mapping[str, str]) -> dict[str, str]:
    """Make the values of a picture of a group, as the page shows them."""
    return {
        **embed_file(member.picture, names[member.picture], PICTURE_SIDE),
        "role": member.role,
        "of": "" if member.of is None else names.get(member.of, ""),
        "facts": describe_link(member),
    }
