"""Pages from templates, and what goes into them: pictures, outlines, candidates."""

from __future__ import annotations

import base64
import io
import json
from functools import cache
from importlib.resources import files

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from matching._version import __version__
from matching.output.drawing import colour, has_frame, spread
from matching.output.words import HEADER, object_cells

QUALITY = 82  # of JPEG
LINES = 30  # an object


def render(template, data, **values):
    """The page of a template, whose script reads `data` (anything that JSON knows)."""
    return _environment().get_template(template).render(data=_json(data), version=__version__, **values)


@cache
def _environment():
    environment = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.globals |= {"asset": _asset, "columns": [name.capitalize() for name in HEADER]}
    return environment


@cache
def _asset(name):
    return Markup(files(__package__).joinpath("templates", name).read_text("utf-8"))  # our own files


def _json(data):
    """JSON that can stand in a script element: no < of an end tag or a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def embedded(rgb, longest):
    """A data URI: (h, w, 3) uint8 as JPEG, the longer side at most `longest` pixels."""
    image = Image.fromarray(rgb)
    factor = longest / max(image.size)
    if factor < 1:
        size = tuple(max(round(n * factor), 1) for n in image.size)
        image = image.resize(size, Image.Resampling.LANCZOS, reducing_gap=3)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def objects_data(objects, rows, xy0):
    """What viewer.js wants to know of the objects.

    objects : MatchedObject each
    rows : the object of each kept match, (n,)
    xy0 : (n, 2), to choose some that are spread over the object
    """
    found = []
    for o in objects:
        own = np.flatnonzero(rows == o.id)
        found.append(
            {
                "id": o.id,
                "colour": "#{:02x}{:02x}{:02x}".format(*colour(o.id)),
                "n_matches": o.n_matches,
                "score": round(o.score, 4),
                "cells": object_cells(o)[1:],
                "kind": o.transform_kind,
                "words": "" if o.motion is None else o.motion.words,
                "frame": np.round(o.frame1, 1).tolist() if has_frame(o) else None,
                "outlines": [np.round(outline, 1).tolist() for outline in (o.outline0, o.outline1)],
                "lines": own[spread(xy0[own], LINES)].tolist(),
            }
        )
    return found


def candidates_data(xy0, xy1, cluster, score, most=None):
    """The kept candidates in their order, then at most `most` rejected ones by rising descriptor distance;
    and their rows.
    """
    kept, rejected = np.flatnonzero(cluster >= 0), np.flatnonzero(cluster < 0)
    rejected = rejected[np.argsort(score[rejected], kind="stable")][:most]
    rows = np.concatenate([kept, rejected])
    data = {
        "xy0": np.rint(xy0[rows] * 10).astype(int).ravel().tolist(),
        "xy1": np.rint(xy1[rows] * 10).astype(int).ravel().tolist(),
        "cluster": cluster[rows].tolist(),
    }
    return data, rows
