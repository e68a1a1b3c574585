"""The report of one pair, and a short form of it for notebooks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from matching._common.types import Bytes
from matching.drivers.result import Result, object_deformation
from matching.output import words
from matching.output.figures.drawing import MAX_REJECTED, draw_result
from matching.output.figures.warping import lay_over
from matching.output.html.page import (
    candidates_data,
    embed_picture,
    fill,
    objects_data,
    rejected_data,
    render,
    svg_path,
)
from matching.pictures.images import Picture

MAX_SIDE = 1600  # pixels of an embedded picture
MAX_LAID_SIDE = 900  # pixels of a picture of an object, and of another one that is laid over it
MAX_LAID_OBJECTS = 8  # of a report: each takes a tenth of a second, and up to 300 kB
LAID_MARGIN = 0.08  # share of the object's size that is shown around it; farther out, the map is a guess
MAX_NOTEBOOK_SIDE = 1400  # pixels of the drawing: twice the width that a notebook shows


def lay_objects_over(pictures: Sequence[Picture], result: Result) -> list[dict[str, Any]]:
    """List what the report shows of objects in picture 0 with picture 1 warped onto them.

    Those that differ come first.
    """
    target, source = (picture.displayed for picture in pictures)
    order = sorted(result.objects, key=lambda found: (not found.differences, found.id))
    shown = []
    for found in order[:MAX_LAID_OBJECTS]:
        forward = object_deformation(result, found.id).forward
        outline = np.concatenate([found.outline0, *(one.polygon0 for one in found.differences)])
        laid = lay_over(source, target, forward, outline, LAID_MARGIN)
        shown.append(
            {
                "id": found.id,
                "sameness": found.sameness,
                "size": laid.rgb.shape[1::-1],
                "sources": [embed_picture(rgb, MAX_LAID_SIDE) for rgb in (laid.rgb, laid.shown)],
                "differences": "".join(svg_path(laid.place(one.polygon0)) for one in found.differences),
            }
        )
    return shown


def pair_report(pictures: Sequence[Picture], result: Result) -> str:
    """Make the report of a pair: both pictures with objects, outlines and candidates."""
    shown = [
        {
            "src": embed_picture(p.displayed, MAX_SIDE),
            "name": p.path.name if p.path is not None else f"image{k}",
            "width": p.width,
            "height": p.height,
        }
        for k, p in enumerate(pictures)
    ]
    candidates, rows = candidates_data(result.xy0, result.xy1, result.cluster, result.score)
    repeats = result.things if result.is_single_picture else ()
    objects = objects_data(result.objects, result.cluster[rows], result.xy0[rows], repeats)
    pair = {
        "pictures": shown,
        "objects": objects,
        "candidates": candidates,
        "n_rejected": int((result.cluster < 0).sum()),
        "only": [[np.round(one, 1).tolist() for one in only] for only in result.only],
        "rejected": rejected_data(result.rejected[:MAX_REJECTED]),
    }
    # the pictures stand in the page itself, so that they show without the script
    data = {**pair, "pictures": [{**picture, "src": None} for picture in shown]}
    drawn = draw_result(pictures[0], pictures[1], result) if repeats else None
    return render(
        "pair.html",
        data,
        result=result,
        pair=pair,
        names=[picture["name"] for picture in shown[: 1 if result.is_single_picture else 2]],
        short_name=words.name_picture(pictures[0].path),
        facts=_list_facts(result, pictures),
        drawn=None if drawn is None else embed_picture(drawn, MAX_SIDE),
        laid=lay_objects_over(pictures, result),
    )


def _list_facts(result: Result, pictures: Sequence[Picture]) -> list[tuple[str, str]]:
    """List the size at which the pictures were matched, and the time of each step, with their titles."""
    facts = []
    if result.matched_at is not None:
        distinct = pictures[:1] if pictures[0] is pictures[1] else pictures
        sizes = [(picture.width, picture.height) for picture in distinct]
        facts.append(("Size", words.describe_sizes(result.matched_at, sizes)))
    if result.timings:
        steps = (f"{step} {seconds:.2f} s" for step, seconds in result.timings.items())
        facts.append(("Time", ", ".join(steps)))
    return facts


def show_result(result: Result, drawn: Bytes | None) -> str:
    """Show a result in a notebook: a summary, the drawing (h, w, 3), if any, a table, and rejected groups."""
    return fill(
        "notebook.html", result=result, src=None if drawn is None else embed_picture(drawn, MAX_NOTEBOOK_SIDE)
    )
