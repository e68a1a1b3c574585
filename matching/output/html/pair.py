"""The report of one pair."""

from __future__ import annotations

from pathlib import Path

from matching.output.files import write_whole
from matching.output.html.page import candidates_data, embedded, objects_data, render

LONGEST = 1600  # pixels of an embedded picture


def write_pair_report(path, pictures, result):
    """Write `pair_report` to a file, which is complete or not there at all."""
    write_whole(Path(path), pair_report(pictures, result).encode("utf-8", "backslashreplace"))


def pair_report(pictures, result):
    """A page, as text: both pictures with objects, outlines and candidates to look at closely.

    pictures : the two Pictures
    result : MatchResult
    """
    shown = [
        {"src": embedded(p.rgb, LONGEST), "name": _name(p, k), "width": p.width, "height": p.height}
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
    return render("pair.html", data, pair=pair, told=told(result), facts=_facts(result))


def told(result):
    """What was found, in a few words."""
    n = len(result.objects)
    if not n:
        return "no common object"
    kept = int((result.cluster >= 0).sum())
    return f"{n} object{'s' if n > 1 else ''} in both, {kept} matches of {len(result.cluster)} candidates"


def _facts(result):
    stages = (f"{stage} {seconds:.2f} s" for stage, seconds in result.timings.items())
    return [("Time", ", ".join(stages))] if result.timings else []


def _name(picture, k):
    return picture.path.name if picture.path is not None else f"image{k}"
