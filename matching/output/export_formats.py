"""The formats of other programs to which results can be exported: a row of FORMATS each.

The command reads this table before it loads anything slow, so the rows only name their modules and functions,
which are loaded when they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from matching.errors import InputError

if TYPE_CHECKING:
    from matching.drivers.result import Result
    from matching.pictures.images import Picture


@dataclass(frozen=True)
class ExportFormat:
    """A format to which a result can be exported."""

    title: str
    files: tuple[str, ...]  # the names of the files
    encode: str  # the function that encodes pictures and a result in a named format: contents by file name
    check: str | None = None  # the function that raises InputError if the format can't hold the pictures
    on_page: bool = True  # whether the page of gdl-match serve offers it
    module: str = "matching.output.exchange"  # where both functions are

    def get(self, function: str) -> Callable[..., Any]:
        """Load one of the functions."""
        loaded: Callable[..., Any] = getattr(import_module(self.module), function)
        return loaded


FORMATS = {
    "colmap": ExportFormat("COLMAP", ("database.db",), "encode", "check_names"),
    "hloc": ExportFormat(
        "hloc", ("features.h5", "matches.h5", "pairs.txt"), "encode", "check_hloc", on_page=False
    ),
    "csv": ExportFormat("CSV", ("matches.csv",), "encode_table"),
}
LABEL_FORMATS = (("coco", "COCO", "json"), ("yolo", "YOLO", "zip"), ("labelme", "LabelMe", "zip"))
for name, title, suffix in (*LABEL_FORMATS, ("voc", "Pascal VOC", "zip")):
    # where objects differ, as labels of both pictures
    files, functions = (f"differences-{name}.{suffix}",), ("encode_differences", "check_labels")
    FORMATS[name] = ExportFormat(title, files, *functions, False, "matching.labels.differences")


def check_formats(formats: Sequence[str], pictures: Sequence[Picture]) -> None:
    """Check that formats can be written, before the work begins."""
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"export format must be one of {', '.join(FORMATS)}, got {name!r}")
        if (check := FORMATS[name].check) is not None:
            FORMATS[name].get(check)(pictures)


def export_matches(name: str, pictures: Sequence[Picture], result: Result) -> dict[str, bytes]:
    """Encode the matches or the differences of objects in one format; equal results give equal bytes."""
    check_formats([name], pictures)
    encoded: dict[str, bytes] = FORMATS[name].get(FORMATS[name].encode)(name, pictures, result)
    return encoded
