"""The result files of given matches.

A file may hold the matches of one pair, whose pictures need not be known, or of many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matching._version import __version__
from matching.core.config import MatchConfig
from matching.core.result import MatchResult
from matching.interchange.records import PairMatches
from matching.output.files import write_results
from matching.output.folders import Content, write_files
from matching.pictures.images import NamedImage, Picture

COORDINATES_AS_GIVEN = (
    "as given; if they are pixels, (0, 0) is the centre of the top-left one, x to the right, y down"
)
COORDINATES_AS_STORED = (
    "pixels of the original image as stored (EXIF orientation not applied), x to the right, y down, (0, 0)"
    " the centre of the top-left pixel"
)


def write_pair(
    folder: Path, pair: PairMatches, result: MatchResult, pictures: Sequence[Picture] | None, **options: Any
) -> None:
    """Write the results of a pair as `write_results` does; without pictures, matches.png shows points."""
    if pictures is not None:
        write_results(folder, pictures, result, **options)
        return
    named = zip(pair.names or (None, None), pair.sizes or ((None, None),) * 2, strict=True)
    images = [NamedImage(name, width, height) for name, (height, width) in named]
    coordinates = COORDINATES_AS_STORED if pair.as_stored else COORDINATES_AS_GIVEN
    write_results(folder, images, result, coordinates=coordinates, **options)


def summarise_pair(folder: str, pair: PairMatches, result: MatchResult) -> dict[str, Any]:
    """Summarise one pair of a file of many, for matches.json."""
    objects = [{"id": o.id, "matches": o.n_matches, "score": round(o.score, 4)} for o in result.objects]
    kept = int((result.cluster >= 0).sum())
    return {"images": pair.names, "folder": folder, "matches": len(pair), "kept": kept, "objects": objects}


def write_pairs(
    folder: Path,
    groups: Mapping[str, Content],
    pairs: Sequence[Mapping[str, Any]],
    config: MatchConfig,
    inputs: Sequence[str] = (),
) -> None:
    """Write the files about all pairs: the groups in the format of the input, and matches.json."""
    summary: dict[str, Any] = {"version": __version__, "inputs": inputs, "parameters": asdict(config)}
    summary |= {"pairs": pairs, "objects": sum(len(pair["objects"]) for pair in pairs)}
    write_files(folder, groups.items(), summary)
