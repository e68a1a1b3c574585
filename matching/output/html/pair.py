"""The report of one pair, and a short form of it for notebooks."""

from collections.abc import Mapping, Sequence

from matching._common.types import Bytes
from matching.core.result import MatchResult
from matching.output import words
from matching.output.figures.drawing import MAX_REJECTED, draw_repeats
from matching.output.html.page import (
    candidates_data,
    embed_picture,
    fill,
    objects_data,
    rejected_data,
    render,
)
from matching.pictures.images import Picture

Warps = Mapping[int, Sequence[str]]

MAX_SIDE = 1600  # pixels of an embedded picture
MAX_WARP_SIDE = 1800  # pixels of a drawing of three panels
MAX_NOTEBOOK_SIDE = 1400  # pixels of the drawing: twice the width that a notebook shows


def draw_all_warps(
    pictures: Sequence[Picture], result: MatchResult, max_objects: int
) -> dict[int, list[str]]:
    """Draw objects of one picture warped onto the other, for `pair_report`."""
    from matching.core.result import object_deformation
    from matching.output.figures.warping import draw_warps

    picture0, picture1 = pictures
    return {
        found.id: embed_warps(draw_warps(picture0, picture1, found, object_deformation(result, found.id)))
        for found in result.objects[:max_objects]
    }


def embed_warps(drawings: Mapping[str, Bytes]) -> list[str]:
    """Encode the drawings (h, w, 3), by name, of an object warped onto the other picture."""
    return [embed_picture(rgb, MAX_WARP_SIDE) for rgb in drawings.values()]


def pair_report(pictures: Sequence[Picture], result: MatchResult, warps: Warps | None = None) -> str:
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
        "rejected": rejected_data(result.rejected[:MAX_REJECTED]),
    }
    # the pictures stand in the page itself, so that they show without the script
    data = {**pair, "pictures": [{**picture, "src": None} for picture in shown]}
    drawn = draw_repeats(pictures[0], result) if repeats else None
    return render(
        "pair.html",
        data,
        result=result,
        pair=pair,
        names=[picture["name"] for picture in shown[: 1 if result.is_single_picture else 2]],
        short_name=words.name_picture(pictures[0].path),
        facts=_list_facts(result, pictures),
        drawn=None if drawn is None else embed_picture(drawn, MAX_SIDE),
        warps=warps or {},
    )


def _list_facts(result: MatchResult, pictures: Sequence[Picture]) -> list[tuple[str, str]]:
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


def show_result(result: MatchResult, drawn: Bytes | None) -> str:
    """Show a result in a notebook: a summary, the drawing (h, w, 3), if any, a table, and rejected groups."""
    return fill(
        "notebook.html", result=result, src=None if drawn is None else embed_picture(drawn, MAX_NOTEBOOK_SIDE)
    )
