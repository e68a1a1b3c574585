"""The formats of other programs to which results can be exported: a row of FORMATS each.

The command reads this table before it loads anything slow, so functions import what they need when they run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matching.errors import InputError

if TYPE_CHECKING:
    from matching.core.result import MatchResult
    from matching.pictures.images import Picture


def _check_nothing(pictures: Sequence[Picture]) -> None:
    """Accept all pictures."""


@dataclass(frozen=True)
class ExportFormat:
    """A format to which a result can be exported."""

    title: str
    files: tuple[str, ...]  # the names of the files
    encode: Callable[
        [Sequence[Picture], MatchResult], dict[str, bytes]
    ]  # matches of objects; contents by name
    check: Callable[[Sequence[Picture]], None] = _check_nothing  # raises InputError if it can't hold them
    on_page: bool = True  # whether the page of gdl-match serve offers it


def _encode_colmap(pictures: Sequence[Picture], result: MatchResult) -> dict[str, bytes]:
    from matching.output.exchange import encode_colmap

    return {"database.db": encode_colmap(pictures, result)}


def _check_colmap(pictures: Sequence[Picture]) -> None:
    from matching.output.exchange import check_names

    check_names(pictures)


def _encode_hloc(pictures: Sequence[Picture], result: MatchResult) -> dict[str, bytes]:
    from matching.output.exchange import encode_hloc

    return encode_hloc(pictures, result)


def _check_hloc(pictures: Sequence[Picture]) -> None:
    from matching.output.exchange import check_names, require_h5py

    require_h5py()
    check_names(pictures, for_hloc=True)


def _encode_csv(pictures: Sequence[Picture], result: MatchResult) -> dict[str, bytes]:
    columns = (result.cluster, *result.xy0.T, *result.xy1.T, result.score)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [",".join(map(repr, row)) for row in rows if row[0] >= 0]
    return {"matches.csv": "\n".join(["object,x0,y0,x1,y1,score", *lines, ""]).encode()}


FORMATS = {
    "colmap": ExportFormat("COLMAP", ("database.db",), _encode_colmap, _check_colmap),
    "hloc": ExportFormat(
        "hloc", ("features.h5", "matches.h5", "pairs.txt"), _encode_hloc, _check_hloc, on_page=False
    ),
    "csv": ExportFormat("CSV", ("matches.csv",), _encode_csv),
}


def check_formats(formats: Sequence[str], pictures: Sequence[Picture]) -> None:
    """Check that formats can be written, before the work begins."""
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"export format must be one of {', '.join(FORMATS)}, got {name!r}")
        FORMATS[name].check(pictures)


def export_matches(name: str, pictures: Sequence[Picture], result: MatchResult) -> dict[str, bytes]:
    """Encode the matches that are in an object in one format; equal results give equal bytes."""
    check_formats([name], pictures)
    return FORMATS[name].encode(pictures, result)
