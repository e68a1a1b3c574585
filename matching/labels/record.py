"""The record of a run, labels.jsonl: the references, the pictures, and the user's decisions, a line each.

Lines are only appended, each as soon as it is known, so that a stopped run can continue. An unfinished last
line is cut off.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from matching.errors import InputError, OneLineErrors
from matching.labels.frames import are_frames
from matching.labels.places import Place
from matching.pictures.names import is_file

RECORD_NAME = "labels.jsonl"
WHOLE = "whole"
REMEDY = "choose another --out, or remove the folder"


@dataclass(frozen=True)
class LabelledPicture:
    """A picture and the places where it shows things."""

    id: int  # number in the run
    name: str  # path in the folder, with / as separator
    content: str | None  # SHA-256 of its file; None if it can't be read
    width: int = 0  # pixels, as displayed
    height: int = 0
    places: tuple[Place, ...] = ()
    error: str | None = None


@dataclass
class Record:
    """The content of a record."""

    path: Path
    pictures: dict[str, LabelledPicture] = field(default_factory=dict)  # the latest line of each, by name
    # by content of the file and number of the place: True if the user accepted it, False if it was dropped,
    # WHOLE if a part of the thing was accepted for all of it, None if nothing is decided any more
    verdicts: dict[tuple[str, int], bool | str | None] = field(default_factory=dict)
    written: dict[str, list[str]] = field(default_factory=dict)  # SHA-256 digests by label file

    def add_picture(self, picture: LabelledPicture) -> None:
        """Add a picture."""
        self._add({"picture": asdict(picture)})

    def add_verdict(self, picture: LabelledPicture, place: int, verdict: bool | str | None) -> None:
        """Add what the user decided about a place."""
        self._add({"verdict": verdict, "content": picture.content, "place": place})

    def add_written(self, digests: Mapping[str, str]) -> None:
        """Add the files that are about to be written."""
        self._add({"written": dict(digests)})

    def _apply(self, line: dict[str, Any]) -> None:
        if "picture" in line:
            values = line["picture"]
            places = tuple(Place.from_json(place) for place in values["places"])
            self.pictures[values["name"]] = LabelledPicture(**{**values, "places": places})
        elif "verdict" in line:
            self.verdicts[str(line["content"]), int(line["place"])] = line["verdict"]
        elif "written" in line:
            for name, digest in line["written"].items():
                self.written.setdefault(name, []).append(digest)

    def _add(self, line: dict[str, Any]) -> None:
        self._apply(line)
        with OneLineErrors(self.path, "can't be written"), self.path.open("ab") as file:
            file.write((json.dumps(line) + "\n").encode())


def open_record(folder: Path, head: Mapping[str, Any]) -> Record:
    """Begin the record of a folder, or continue that of an earlier run.

    head: the references and the settings of the run, which must be the same.
    """
    path, wanted = folder / RECORD_NAME, json.loads(json.dumps(head))
    try:
        others = sorted(entry.name for entry in folder.iterdir() if not are_frames(entry))
        if others and not path.exists():
            raise InputError(
                f"{folder}: holds {others[0]}, which gdl-match label did not write; choose another --out"
            )
        lines = list(_read_lines(path))
        if lines:
            _check_head(path, lines[0].get("head"), wanted)
        else:
            path.write_bytes((json.dumps({"head": wanted}) + "\n").encode())
        record = Record(path)
        for line in lines[1:]:
            record._apply(line)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: can't be used ({error.strerror})") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: is damaged ({error}); {REMEDY}") from None
    return record


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read the complete lines of a record, and cut off an incomplete last one."""
    if not path.exists():
        return
    if not is_file(path):
        raise InputError(f"{path}: is not a file")
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        with path.open("r+b") as file:
            file.truncate(end)
    for line in content[:end].splitlines():
        yield json.loads(line)


def _check_head(path: Path, made: Any, wanted: Mapping[str, Any]) -> None:
    if not isinstance(made, dict):
        raise InputError(f"{path}: was not written by gdl-match label; choose another --out")
    for key in (key for key in wanted if made.get(key) != wanted[key]):
        raise InputError(f"{path}: belongs to a run with other {key}; {REMEDY}")
