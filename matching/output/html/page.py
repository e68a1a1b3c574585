"""Pages from templates, and the data that their scripts read: pictures, outlines, candidates."""

import base64
import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from matching._common import opencv
from matching._common.types import Bytes, Floats, Ints
from matching._version import __version__
from matching.correspondences.points import spread_out
from matching.errors import InputError
from matching.grouping.ledger import RejectedGroup
from matching.objects.description import MatchedObject
from matching.objects.things import Thing
from matching.output import words
from matching.output.figures.drawing import MAX_LINES, choose_frame, colour
from matching.output.figures.warping import GREY
from matching.output.words import count, format_object
from matching.pictures.encoding import encode_jpeg
from matching.pictures.images import read_picture


def render(template: str, data: Any, **values: Any) -> str:
    """Fill in a template."""
    return fill(template, data=_json(data), **values)


def fill(template: str, **values: Any) -> str:
    """Fill in a template that has no script."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["counted"] = count
    columns = [name.capitalize() for name in words.HEADER]
    environment.globals |= {"asset": _asset, "words": words, "columns": columns, "version": __version__}
    return environment


@cache
def _asset(name: str) -> Markup:
    return Markup(files(__package__).joinpath("templates", name).read_text("utf-8"))  # our own files


def _json(data: Any) -> Markup:
    """Format JSON for a script element, without any < that could begin an end tag or a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def embed_file(path: str, name: str, max_side: int) -> dict[str, str]:
    """Embed the picture in a file, or a grey field if the file is gone."""
    try:
        rgb = read_picture(path).rgb
    except InputError:
        rgb, name = np.full((1, 1, 3), GREY, np.uint8), f"{name} (can't be read any more)"
    return {"src": embed_picture(rgb, max_side), "name": name}


def embed_picture(rgb: Bytes, max_side: int) -> str:
    """Encode a picture (h, w, 3) uint8 as a data URI, reduced if a side is longer than `max_side` pixels."""
    image = Image.fromarray(opencv.resize(rgb, min(max_side / max(rgb.shape), 1)))
    return "data:image/jpeg;base64," + base64.b64encode(encode_jpeg(image)).decode()


def svg_path(polygon: Floats) -> str:
    """Make the SVG path of a polygon (k, 2) in pixels; those of SVG begin at their corners."""
    return f"M{'L'.join(f'{x + 0.5:.1f} {y + 0.5:.1f}' for x, y in polygon)}Z"


def css_colour(number: int) -> str:
    """Write the colour of an object or thing, by its number, for CSS."""
    return "#{:02x}{:02x}{:02x}".format(*colour(number))


def objects_data(
    objects: Iterable[MatchedObject], rows: Ints, xy0: Floats, repeats: Iterable[Thing] = ()
) -> list[dict[str, Any]]:
    """List the data of objects for viewer.js: the object `rows` (n,) of each candidate; xy0 (n, 2).

    The objects of repeats are named after the two places that they join.
    """
    data = []
    names = {
        number: [thing.name_place(end) for end in ends]
        for thing in repeats
        for number, ends in zip(thing.objects, thing.joined, strict=True)
    }
    for o in objects:
        frame = choose_frame(o)
        members = np.flatnonzero(rows == o.id)
        data.append(
            {
                "id": o.id,
                "title": " and ".join(dict.fromkeys(names[o.id])) if o.id in names else f"Object {o.id}",
                "mark": o.thing if o.id in names else o.id,
                "labels": names.get(o.id, [str(o.id)] * 2),
                "colour": css_colour(o.thing if o.id in names else o.id),
                "n_matches": o.n_matches,
                "score": round(o.score, 4),
                "cells": format_object(o)[1:],
                "kind": o.transform_kind,
                "words": "" if o.motion is None else o.motion.words,
                "frame": None if frame is None else np.round(frame, 1).tolist(),
                "outlines": [np.round(outline, 1).tolist() for outline in (o.outline0, o.outline1)],
                "differences": [
                    [np.round(polygon, 1).tolist() for polygon in (one.polygon0, one.polygon1)]
                    for one in o.differences
                ],
                "lines": members[spread_out(xy0[members], MAX_LINES)].tolist(),
            }
        )
    return data


def rejected_data(rejected: Iterable[RejectedGroup]) -> list[dict[str, Any]]:
    """List the data of rejected groups for viewer.js."""
    return [
        {
            "text": f"{count(item.n_matches, 'match', 'matches')} rejected ({item.step}): {item.text}",
            "outlines": [
                np.round(opencv.convex_hull(points), 1).tolist() for points in (item.points0, item.points1)
            ],
        }
        for item in rejected
    ]


def candidates_data(
    xy0: Floats, xy1: Floats, cluster: Ints, score: Floats, max_outliers: int | None = None
) -> tuple[dict[str, Any], Ints]:
    """List the data of candidates for viewer.js, the best outliers last, and their rows.

    xy0, xy1 (m, 2); cluster, score (m,).
    """
    kept, rejected = np.flatnonzero(cluster >= 0), np.flatnonzero(cluster < 0)
    rejected = rejected[np.argsort(score[rejected], kind="stable")][:max_outliers]
    rows = np.concatenate([kept, rejected])
    data = {
        "xy0": np.rint(xy0[rows] * 10).astype(int).ravel().tolist(),
        "xy1": np.rint(xy1[rows] * 10).astype(int).ravel().tolist(),
        "cluster": cluster[rows].tolist(),
    }
    return data, rows
