"""The report of a collection's groups: one page, with the relation of each picture to another one."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from matching.collection.database.store import open_store
from matching.collection.reports.groups import Member
from matching.objects.frames import Motion
from matching.output.folders import write_whole
from matching.output.html.page import embed_file, render
from matching.pictures.names import make_relative

PICTURE_SIDE = 240  # pixels of the longer side of an embedded picture
MAX_PICTURES = 2000  # on the page, about 20 MB


def write_groups_report(groups: Sequence[Sequence[Member]], db: Path, path: Path) -> None:
    """Write a page about the groups of a database to a file, completely or not at all."""
    with open_store(db) as store:
        n_images = store.value("SELECT count(*) FROM images")
    shown, room = [], MAX_PICTURES
    for members in groups:
        if len(members) <= room:
            shown.append(members)
            room -= len(members)
    paths = [m.picture for members in groups for m in members]
    names = dict(zip(paths, make_relative(paths), strict=True)) if paths else {}
    page = render(
        "groups.html",
        {},
        name=db.name,
        groups=[[_shown(member, names) for member in members] for members in shown],
        n_groups=len(groups),
        n_grouped=len(paths),
        n_images=n_images,
    )
    write_whole(path, page.encode("utf-8", "backslashreplace"))


def describe_link(member: Member) -> str:
    """Describe a picture's link in words."""
    link = member.link
    if link is None:
        return ""
    matches = f"{link.n_matches} matches"
    if link.relation.kind == "same thing":
        return matches
    made = link.relation
    motion = Motion(np.zeros(2), made.turn, made.scale, made.mirrored, made.share0)
    return f"{made.share0:.0%} of it, {motion.words}, {matches}"


def format_groups(groups: Sequence[Sequence[Member]]) -> str:
    """Write the groups as text, with one picture per line."""
    paths = [m.picture for members in groups for m in members]
    if not paths:
        return "no group"
    names = dict(zip(paths, make_relative(paths), strict=True))
    lines = []
    for number, members in enumerate(groups):
        lines.append(f"group {number}: {len(members)} pictures")
        for m in members:
            relation = f"  {m.role} {names[m.of]} ({describe_link(m)})" if m.of is not None else ""
            lines.append(f"  {names[m.picture]}{relation}")
    return "\n".join(lines)


def _shown(member: Member, names: Mapping[str, str]) -> dict[str, str]:
    return {
        **embed_file(member.picture, names[member.picture], PICTURE_SIDE),
        "role": member.role,
        "of": "" if member.of is None else names.get(member.of, ""),
        "facts": describe_link(member),
    }
