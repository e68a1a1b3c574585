"""What a notebook shows of a result."""

from matching._common.types import Bytes
from matching.output import words
from matching.output.html.page import embed_picture, fill
from matching.result import MatchResult

MAX_SIDE = 1400  # pixels of the drawing: twice the width that a notebook shows


def show_result(result: MatchResult, drawn: Bytes | None) -> str:
    """Show a result as HTML: a summary, the drawing (h, w, 3), if any, a table, and rejected groups."""
    of_one = result.of_one
    return fill(
        "notebook.html",
        summary=words.describe_result(result),
        src=None if drawn is None else embed_picture(drawn, MAX_SIDE),
        columns=(*words.REPEATS_HEADER, "") if of_one else words.HEADER,
        rejected_columns=words.REJECTED_HEADER,
        rejected=words.list_rejected(result),
        dropped_columns=words.DROPPED_HEADER,
        dropped=words.list_dropped(result),
        rows=words.list_repeats(result) if of_one else list(map(words.format_object, result.objects)),
        lines=words.explain_nothing(result)
        or ([] if of_one else words.describe_things(result.objects, "picture 0", result.things)),
    )
