"""Results in words: a table with one line per object, and the things found at several places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from matching.grouping.reasons import REASONS

if TYPE_CHECKING:
    from matching.drivers.result import Result
    from matching.objects.description import MatchedObject
    from matching.objects.frames import Motion
    from matching.objects.things import Thing
    from matching.pictures.images import Picture

HEADER = (
    *("object", "matches", "score", "how sure", "centre", "size", "turn", "scale", "share"),
    *("complete", "error"),
)
REPEATS_HEADER = ("thing", "places", "matches", "score", "how sure", "error")
REJECTED_HEADER = (
    *("rejected", "matches", "picture 0", "picture 1"),
    *("step", "measured", "bound", "reason"),
)
DROPPED_HEADER = ("dropped", "step", "reason")
OVERLAPPING = (
    "a match can be in more than one rejected group, or in a rejected group and an object, so the counts can"
    " exceed the total"
)
UNKNOWN = "-"
GOOD_FIT_SHARE = 0.9  # of an object's matches: if its transform fits fewer, the table says how many
NOTHING = "no common object"
NOTHING_TWICE = "no repeated objects found"
IN_NEGATIVE = "with one picture in negative"


def format_table(result: Result, name: str = "picture 0") -> str:
    """Format the objects as a table, one line each, and the things found at several places.

    The last line says if they were found with one picture in negative.
    """
    if not result.objects:
        return NOTHING
    lines = align_columns([HEADER, *list_objects(result)], left=(3, 6))
    negative = [f"found {IN_NEGATIVE}"] if result.negative else []
    return "\n".join([*lines, *describe_things(result.objects, name, result.things), *negative])


def list_objects(result: Result) -> list[tuple[str, ...]]:
    """List the objects: the rows under HEADER."""
    return [format_object(found) for found in result.objects]


def format_object(found: MatchedObject) -> tuple[str, ...]:
    """Format the cells of an object; without a good fit, the error also says how many matches fit."""
    error = f"{found.transform_error:.{1 + _count_digits(found)}f} px"
    if found.inlier_share is not None and found.inlier_share < GOOD_FIT_SHARE:
        error += f" ({format_percent(found.inlier_share)} fit)"
    return (str(found.id), str(found.n_matches), f"{found.score:.2f}", found.certainty or UNKNOWN,
            *format_place(found), error)  # fmt: skip


def format_place(found: MatchedObject) -> tuple[str, ...]:
    """Format the centre, size, turn, scale, share and completeness of an object."""
    if not len(found.outline1):
        return (UNKNOWN,) * 6
    low, high = found.outline1.min(axis=0), found.outline1.max(axis=0)
    digits = _count_digits(found)
    x, y, width, height = (f"{value + 0.0:.{digits}f}" for value in (*(low + high) / 2, *(high - low)))
    centre, size = f"{x}, {y}", f"{width} x {height}"
    motion = found.motion
    if motion is None:
        return centre, size, *(UNKNOWN,) * 4
    share = UNKNOWN if motion.share is None else format_percent(motion.share)
    part = "" if found.is_whole else " of picture 0"
    known = [] if found.completeness is None else [format_percent(found.completeness.value) + part]
    complete = ", ".join(filter(None, (*known, found.sameness))) or UNKNOWN
    return centre, size, format_turn(motion), f"{motion.scale:.2f}", share, complete


def _count_digits(found: MatchedObject) -> int:
    """Find the number of decimal places: none for pixels, some if the unit of given matches is larger."""
    outline = found.outline1
    size = float((outline.max(axis=0) - outline.min(axis=0)).max()) if len(outline) else 0.0
    return max(0, 2 - math.floor(math.log10(size))) if 0 < size < 10 else 0


def format_repeats(result: Result) -> str:
    """Format the repeated things of a picture, one line per thing, with the score of the best object."""
    if not result.things:
        return NOTHING_TWICE
    return "\n".join(align_columns([(*REPEATS_HEADER, ""), *list_repeats(result)], left=(4, 6)))


def list_repeats(result: Result) -> list[tuple[str, ...]]:
    """List the repeated things of a picture: the rows under REPEATS_HEADER, and what a texture is."""
    rows: list[tuple[str, ...]] = []
    for thing in result.things:
        objects = [found for found in result.objects if found.thing == thing.number]
        best = max(objects, key=lambda found: found.score)
        n_matches = str(sum(found.n_matches for found in objects))
        places = UNKNOWN if thing.periodic else str(len(thing.places))  # a texture has no count
        _, _, score, sure, *_, error = format_object(best)
        kind = thing.kind
        if thing.alike:
            kind = f"{len(thing.alike)} alike but different"
        rows.append((str(thing.number), places, n_matches, score, sure, error, kind))
    return rows


def describe_repeats(result: Result) -> str:
    """Describe how often one picture shows each thing: "thing 0: 3 places; thing 1: periodic texture".

    Places that differ are no copies: "thing 0: 3 places, 1 alike but different".
    """
    described = (
        f"thing {number}: " + (kind if places == UNKNOWN else f"{places} places{kind and f', {kind}'}")
        for number, places, *_, kind in list_repeats(result)
    )
    return "; ".join(described)


def count(n: int, word: str, words: str | None = None) -> str:
    """Count something in words: "1 group", "2 groups"; `words` is an irregular plural."""
    return f"{n} {word if n == 1 else words or f'{word}s'}"


def format_turn(motion: Motion) -> str:
    """Format the turn in whole degrees, as "12° cw", and whether the object is mirrored."""
    degrees = round(abs(motion.turn))
    turned = f"{degrees}°" + ("" if degrees in (0, 180) else " cw" if motion.turn > 0 else " ccw")
    if not motion.mirrored:
        return turned
    return f"mirrored, {turned}" if degrees else "mirrored"


def format_percent(share: float) -> str:
    """Format a share in whole percent: "83%", "<1%"."""
    return "<1%" if share < 0.005 else f"{share:.0%}"


def describe_things(
    objects: Sequence[MatchedObject], name: str, things: Sequence[Thing] = (), *, single: bool = False
) -> list[str]:
    """Describe the copies of picture 0, `name`, or the things found at several places, one per line.

    If the whole of picture 0 was found, its copies are counted, and the places that share a part of it.
    Otherwise, each thing is listed with its number of places and its objects; a single thing has the name of
    picture 0. A single copy is described only with `single`, because the only row of the table says the same.
    """
    if any(found.is_whole for found in objects):
        return _describe_copies(objects, name, single)
    numbers, lines = sorted({found.thing for found in objects}), []
    by_number = {thing.number: thing for thing in things}
    for number in numbers:
        of_thing = [found for found in objects if found.thing == number]
        n_places, kind = len(of_thing), ""
        if number in by_number:
            n_places = len(by_number[number].places)
            kind = by_number[number].kind
        if n_places > 1 or kind:
            title = name if len(numbers) == 1 else f"thing {number} of {name}"
            ids = _name_objects([[found.id for found in of_thing]])
            lines.append(f"{title}: {kind or f'{n_places} places'} ({ids})")
    return lines


def _describe_copies(objects: Sequence[MatchedObject], name: str, single: bool) -> list[str]:
    """Describe the copies and the other places in one line."""
    from matching.objects.copies import count_copies

    found = count_copies(objects)
    n, n_alike, m = len(found.copies), len(found.alike), len(found.parts)
    if n == 1 and not n_alike and not m and not single:
        return []
    line = f"{name}: {count(n, 'copy', 'copies')}"
    unclear = [[k for k in ids if objects[k].is_same is None] for ids in found.copies]
    doubt = f"; {_name_objects(unclear)} may differ" if any(unclear) else ""
    line += f" ({_name_objects(found.copies)}{doubt})" if n else ""
    if n_alike:
        line += f", {n_alike} alike but different ({_name_objects(found.alike)})"
    if m:
        line += f"; {m} more place{'' if m == 1 else 's'} share{'s' if m == 1 else ''} a part of it"
        line += f" ({_name_objects(found.parts)})"
    return [line]


def _name_objects(places: Sequence[Sequence[int]]) -> str:
    ids = sorted(number for place in places for number in place)
    return f"object{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


def describe_sameness(objects: Sequence[MatchedObject]) -> str:
    """Describe whether an object is the same, or count the objects that differ: ", 2 differ"; "" for none."""
    n = sum(bool(found.differences) for found in objects)
    words = objects[0].sameness if len(objects) == 1 else count(n, "differs", "differ") if n else ""
    return words and f", {words}"


def describe_result(result: Result) -> str:
    """Describe in a few words what was found."""
    n = len(result.objects)
    if not n:
        return NOTHING_TWICE if result.is_single_picture else NOTHING
    kept = int((result.cluster >= 0).sum())
    if result.is_single_picture:
        found = count(len(result.things), "thing that appears", "things that appear") + " more than once"
    else:
        found = f"{count(n, 'object')} in both{describe_sameness(result.objects)}"
        found += f", {IN_NEGATIVE}" if result.negative else ""
    return f"{found}, {kept} matches of {len(result.cluster)} candidates"


def describe_sizes(matched_at: Sequence[float], sizes: Sequence[tuple[int, int]]) -> str:
    """Describe the size at which pictures were matched, in megapixels; sizes: width and height of each."""

    def round_size(n: float) -> str:
        return f"{n:.1f}" if n >= 0.05 else f"{n:.1g}"

    full_sizes = (width * height / 1e6 for width, height in sizes)
    pairs = zip(matched_at, full_sizes, strict=False)
    return f"matched at {' and '.join(f'{round_size(a)} of {round_size(b)}' for a, b in pairs)} megapixels"


def list_sizes(result: Result, pictures: Sequence[Picture]) -> list[str]:
    """Describe the size at which pictures were matched in one line, or in none if all are small."""
    sizes = [(picture.width, picture.height) for picture in pictures]
    if result.matched_at is None or result.config is None:
        return []
    is_large = max(w * h for w, h in sizes) > result.config.first_pixels
    return [describe_sizes(result.matched_at, sizes)] if is_large else []


def may_look_harder(result: Result) -> bool:
    """Test whether simulated views may find objects that the result lacks, and no other cause is known."""
    config = result.config
    if config is None or config.is_paper or config.view_synthesis or result.objects:
        return False
    if result.rejected and result.rejected[0].is_cause:
        return False
    return len(result.cluster) >= config.objects.min_matches and not explain_nothing(result)


def explain_nothing(result: Result, names: Sequence[object] = ("picture 0", "picture 1")) -> list[str]:
    """Explain why pictures can't have an object in common: too few features, or too few candidates."""
    if result.objects or result.config is None or result.n_features is None:
        return []
    min_matches = 0 if result.config.is_paper else result.config.objects.min_matches
    needed = f"an object needs {min_matches} matches"
    lines = []
    for name, n in zip(names, result.n_features, strict=False):
        if n == 0:
            lines.append(f"{name}: no features: it is too small, flat, transparent or masked")
        elif n < min_matches:
            lines.append(f"{name}: {count(n, 'feature')}: {needed}")
    n = len(result.cluster)
    if not lines and n < min_matches:
        lines.append(f"{n or 'no'} candidate{'' if n == 1 else 's'}: {needed}")
    return lines


def hint_at_rejected(
    result: Result, hints: Mapping[str, str], more: str = "--explain lists all groups"
) -> list[str]:
    """Describe in one line the largest rejected group, or what dropped the candidates, if there is no object.

    `hints` say what to try, by the step that dropped the matches; `more` says where all groups are listed.
    """
    counts = count_dropped(result)
    if result.objects or not (result.rejected or counts) or explain_nothing(result):
        return []
    if result.rejected:
        best = result.rejected[0]
        x, y = best.centres[0]
        is_measured = best.measure is not None and best.bound is not None
        measured = f" (measured {best.measure:.3g}, bound {best.bound:.3g})" if is_measured else ""
        group = f"a group of {count(best.n_matches, 'match', 'matches')} around {x:.0f}, {y:.0f}"
        step, reason = best.step, f"{group} was rejected: {best.text}{measured}"
    else:
        step, more = max(counts, key=lambda step: counts[step]), ""
        verb = "was" if counts[step] == 1 else "were"
        dropped = f"{counts[step]} of {count(len(result.cluster), 'candidate')} {verb} dropped"
        reason = f"{dropped}: {REASONS[step].text}"
    return ["; ".join(filter(None, (reason, hints.get(step), more)))]


def explain_rejected(result: Result) -> list[str]:
    """Explain, in lines, which groups of matches were rejected, where they are, and why."""
    groups = align_columns([REJECTED_HEADER, *list_rejected(result)], left=(4, 7))
    return [*(groups if result.rejected else ["no group of matches was rejected"]), *_explain_dropped(result)]


def list_rejected(result: Result) -> list[tuple[str, ...]]:
    """List the rejected groups of matches, the largest first: the rows under REJECTED_HEADER."""
    rows: list[tuple[str, ...]] = []
    for k, item in enumerate(result.rejected):
        places = (f"{x:.0f}, {y:.0f}" for x, y in item.centres)
        numbers = (UNKNOWN if value is None else f"{value:.4g}" for value in (item.measure, item.bound))
        rows.append((str(k), str(item.n_matches), *places, item.step, *numbers, item.text))
    return rows


def count_dropped(result: Result) -> dict[str, int]:
    """Count the candidates that each step dropped, in the order of the steps."""
    if result.dropped_by is None:
        return {}
    counts = {step: int((result.dropped_by == step).sum()) for step in REASONS}
    return {step: n for step, n in counts.items() if n}


def list_dropped(result: Result) -> list[tuple[str, ...]]:
    """List how many candidates each step dropped, and why: the rows under DROPPED_HEADER."""
    return [(str(n), step, REASONS[step].text) for step, n in count_dropped(result).items()]


def _explain_dropped(result: Result) -> list[str]:
    if result.dropped_by is None:
        return []
    n, kept = len(result.cluster), int((result.cluster >= 0).sum())
    lines = ["", f"{kept} of {count(n, 'candidate')} are in objects"]
    if kept < n:
        lines += ["", *align_columns([DROPPED_HEADER, *list_dropped(result)], left=(1, 2))]
        lines += ["", OVERLAPPING] if result.rejected else []
    return lines


def name_picture(path: str | PurePath | None) -> str:
    """Return the name of a picture in messages."""
    return "picture 0" if path is None else PurePath(path).stem


def align_columns(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> list[str]:
    """Lay out rows of texts in columns two spaces apart, flush right except for columns `left`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{text:<{width}}" if k in left else f"{text:>{width}}"
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
