"""The report of one pair."""

from __future__ import annotations

from pathlib import Path

from matching.output.files import write_whole
from matching.output.html.page import candidates_data, embedded, objects_data, render
from matching.output.words import stem_of, told, told_things

LONGEST = 1600  # pixels of an embedded picture
LONGEST_WARP = 1800  # of a drawing of three panels


def write_pair_report(path, pictures, result, warps=None):
    """Write `pair_report` to a file, which is complete or not there at all."""
    write_whole(Path(path), pair_report(pictures, result, warps).encode("utf-8", "backslashreplace"))


def warp_drawings(pictures, result, most):
    """Of the first `most` objects, the drawings of each laid over the other picture, for `pair_report`."""
    from matching.objects.deformation import object_deformation
    from matching.output.warping import draw_warps

    return {
        found.id: embedded_warps(draw_warps(*pictures, found, object_deformation(result, found.id)))
        for found in result.objects[:most]
    }


def embedded_warps(drawings):
    """Data URIs of those drawings of `matching.output.warping.draw_object` that show the object warped."""
    return [embedded(rgb, LONGEST_WARP) for name, rgb in drawings.items() if "-warp" in name]


def pair_report(pictures, result, warps=None):
    """A page, as text: both pictures with objects, outlines and candidates to look at closely.

    pictures : the two Pictures
    result : MatchResult
    warps : object's id -> data URIs of the object laid over the other picture, see `warp_drawings`
    """
    shown = [
        {"src": embedded(p.displayed, LONGEST), "name": _name(p, k), "width": p.width, "height": p.height}
        for k, p in enumerate(pictures)
    ]
    candidates, rows = candidates_data(result.xy0, result.xy1, result.cluster, result.score)
    pair = {
        "pictures": shown,
        "objects": objects_data(result.objects, result.cluster[rows], result.xy0[rows]),
        "candidates": candidates,
        "n_rejected": int((result.cluster < 0).sum()),
    }
    # the pictures stand in the page itself, so that they show without the script
    data = {**pair, "pictures": [{**picture, "src": None} for picture in shown]}
    things = told_things(result.objects, stem_of(pictures[0].path), result.things)
    lines = {"told": told(result), "things": things, "facts": _facts(result)}
    return render("pair.html", data, pair=pair, warps=warps or {}, **lines)


def _facts(result):
    stages = (f"{stage} {seconds:.2f} s" for stage, seconds in result.timings.items())
    return [("Time", ", ".join(stages))] if result.timings else []


def _name(picture, k):
    return picture.path.name if picture.path is not None else f"image{k}"
