"""The match of one upload: the objects of two pictures, or the repeated objects of one."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from matching.drivers.one_picture import STEPS, find_repeats_in_picture
from matching.drivers.pair import list_steps, match_pair
from matching.drivers.result import Result
from matching.errors import InputError, one_line
from matching.grouping.config import MatchConfig
from matching.labels.formats import FORMATS as LABEL_FORMATS
from matching.labels.of_result import encode_labels, label_result
from matching.output.export_formats import FORMATS as EXPORT_FORMATS
from matching.output.export_formats import check_formats
from matching.output.files import write_results
from matching.output.remedies import list_hints
from matching.output.words import (
    describe_repeats,
    describe_result,
    describe_things,
    explain_nothing,
    hint_at_rejected,
    list_sizes,
    may_look_harder,
    name_picture,
)
from matching.pictures.images import Picture, make_picture
from matching.searches.clock import Clock
from matching.searches.source import ImageSource

REJECTED_HINT = "the report below lists all groups under “Rejected matches, and why”"


def match_uploads(
    send: Callable[[dict[str, Any]], object],
    folder: Path,
    names: Sequence[str],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Match folder/upload0 and upload1, or find repeats in upload0.

    The uploads are deleted as soon as they are read, and the results are written into the folder.

    Parameters
    ----------
    send : callable
        Called with a message at the end of each step: the next step, the number of steps that are done,
        and the number of all.
    folder : Path
        Folder of the uploads and results.
    names : sequence of str
        Names of the one or two pictures.
    settings : mapping
        Settings of the match, by their names in `MatchConfig`.

    Returns
    -------
    dict
        The result in words and the names of its files, or the error.
    """
    try:
        config = MatchConfig().with_settings(**settings)
        steps = (*(list_steps(config) if len(names) > 1 else STEPS), "files")
        clock = Clock(
            lambda _, n_done, n: send({"step": (*steps, "")[n_done], "done": n_done, "of": n}), steps
        )
        pictures: list[Picture] = []
        for k, name in enumerate(names):
            upload = folder / f"upload{k}"
            content = upload.read_bytes()
            upload.unlink()
            pictures.append(replace(make_picture(content, name), path=Path(name)))
        clock.lap("read")
        pair = pictures[0], pictures[-1]
        if len(pictures) == 1:
            result = find_repeats_in_picture(pair[0], config, clock=clock)
        else:
            first, second = (ImageSource(picture, config) for picture in pair)
            result = match_pair(first, second, clock=clock)
        labels = encode_labels(label_result(result, pair))
        write_results(folder, pair, result, html=True, exports=_choose_exports(pair), others=labels)
        clock.lap("files")
    except InputError as error:
        return {"error": one_line(error)}
    return {
        "told": describe_result(result),
        "lines": _describe(result, pictures),
        "look_harder": may_look_harder(result) and not result.is_single_picture,
        "files": sorted(path.name for path in folder.iterdir()),
        "formats": {
            **{row.result_file: f"Labels ({row.title})" for row in LABEL_FORMATS.values()},
            **{name: f"Matches ({row.title})" for row in EXPORT_FORMATS.values() for name in row.files},
        },
    }


def _describe(result: Result, pictures: list[Picture]) -> list[str]:
    """List the lines below the first one: counts, or why nothing was found, and the matched size."""
    if result.is_single_picture and result.things:
        lines = [describe_repeats(result)]
    elif result.objects:
        name = name_picture(pictures[0].path)
        lines = describe_things(result.objects, name, result.things, single=True)
    else:
        names = [picture.path for picture in pictures]
        hints = list_hints(result, "page")
        lines = explain_nothing(result, names) or hint_at_rejected(result, hints, REJECTED_HINT)
    return [*lines, *list_sizes(result, pictures)]


def _choose_exports(pair: Sequence[Picture]) -> tuple[str, ...]:
    """Choose the formats of the page that can hold two pictures; COLMAP requires different names."""
    chosen: list[str] = []
    for name in (name for name, row in EXPORT_FORMATS.items() if row.on_page):
        with suppress(InputError):
            check_formats([name], pair)
            chosen.append(name)
    return tuple(chosen)
