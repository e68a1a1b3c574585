"""`gdl-match IMAGE0 IMAGE1`: reads two pictures, matches them and writes the results."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from matching.cli.arguments import find_method, make_config, refuse
from matching.cli.console import (
    list_different,
    make_teller,
    open_report,
    print_result,
    read_pictures,
    report_work,
)
from matching.cli.destination import check_output, choose_destination, name_pair_folder, output_options
from matching.cli.exits import FOUND, NONE_FOUND
from matching.errors import InputError
from matching.output.export_formats import check_formats
from matching.output.remedies import list_hints
from matching.output.words import (
    count,
    explain_nothing,
    explain_rejected,
    format_repeats,
    format_table,
    hint_at_rejected,
    list_sizes,
    may_look_harder,
)
from matching.pictures.names import is_folder, is_video, make_absolute
from matching.settings import METHODS

if TYPE_CHECKING:
    from matching.drivers.result import Result
    from matching.pictures.images import Picture


def match_named(arguments: Namespace) -> int:
    """Match the pictures that the arguments name, and write the results."""
    images = arguments.images
    has_video = len(images) == 2 and is_video(images[1])
    for path in filter(is_video, images[:1] if has_video else images):
        raise InputError(
            f"{path}: the video must come second and last, after the picture of the thing to find"
        )
    if arguments.every is not None and not has_video:
        raise InputError("--every requires a video")
    if has_video:
        from matching.cli.commands.video import match_video

        return match_video(arguments)
    _check_usage(arguments)
    if len(images) > 2 or (len(images) == 2 and is_folder(images[1])):
        from matching.cli.commands.many import match_many

        return match_many(arguments)
    return _match(arguments)


def _match(arguments: Namespace) -> int:
    """Match two pictures, or one with itself, and write the results."""
    config = make_config(arguments)  # which checks the settings before pictures are read
    pictures, others = _read_pictures(arguments)
    inputs = tuple(map(make_absolute, arguments.images)) or None  # None for the demo
    name = _name_folder(arguments)
    folder = choose_destination(arguments.out, name, inputs)
    check_output(folder, arguments, arguments.images, others)
    if folder not in (arguments.out, Path(name)):
        print(f"gdl-match: {name} holds results of other pictures: writing to {folder}", file=sys.stderr)
    tell = make_teller(arguments)
    for picture in pictures:
        tell(f"{picture.path}: {picture.width} x {picture.height}")
    from matching.drivers.pair import match_pair
    from matching.searches.source import ImageSource

    with report_work(arguments):
        if _is_single(arguments):
            from matching.drivers.one_picture import find_repeats_in_picture

            result = find_repeats_in_picture(pictures[0], config)
        else:
            first, second = (ImageSource(picture, config) for picture in pictures)
            result = match_pair(first, second, find_method(arguments))
    kept = int((result.cluster >= 0).sum())
    tell(f"{count(len(result.cluster), 'candidate')}, {kept} kept, {sum(result.timings.values()):.1f} s")
    from matching.output.files import write_results

    pair = pictures * (2 if result.is_single_picture else 1)
    write_results(folder, pair, result, inputs=inputs, others=others, **output_options(arguments))
    _print(arguments, folder, pictures, result)
    if arguments.fail_if_different:
        from matching.output.inspection import inspect

        verdicts = {str(pictures[1].path): inspect(result)}
        return NONE_FOUND if list_different(arguments, verdicts) else FOUND
    return FOUND if result.objects else NONE_FOUND


def _print(arguments: Namespace, folder: Path, pictures: Sequence[Picture], result: Result) -> None:
    """Print the result, and what to try if there is none; open the report if that is wanted."""
    stem = arguments.images[0].stem if arguments.images else "picture0"
    table = format_repeats(result) if result.is_single_picture else format_table(result, stem)
    explained = explain_rejected(result) if arguments.explain else []
    names = [picture.path for picture in pictures]
    hints = list_hints(result, "match")
    nothing = [*explain_nothing(result, names), *hint_at_rejected(result, hints)]
    lines = [table, *list_sizes(result, pictures), *explained]
    print_result(arguments, folder, lines, nothing)
    if not result.is_single_picture and arguments.method in METHODS and may_look_harder(result):
        make_teller(arguments)(
            "were the pictures taken from very different directions? Try --view-synthesis, which also matches"
            " simulated views"
        )
    if arguments.open:
        open_report(folder / "matches.html")


def _check_usage(arguments: Namespace) -> None:
    if arguments.demo:
        if arguments.images:
            raise InputError(f"--demo can't be combined with pictures, got {arguments.images[0]}")
    elif not arguments.images:
        raise InputError("give one picture, or two, or --demo; see gdl-match --help")
    elif is_folder(folder := arguments.images[0]):
        meant = (
            f"to match its pictures with each other: gdl-match collection --all {folder} --db FILE"
            if _is_single(arguments)
            else "give the picture first, and then the folder in which to find it"
        )
        raise InputError(f"{folder}: is a folder, not a picture; {meant}")
    elif _is_single(arguments):
        rule = f"requires two pictures, got only {arguments.images[0]}"
        refuse(arguments, ("mask1", "export", "view_synthesis", "fail_if_different"), rule, arguments.rivals)
    if arguments.view_synthesis and arguments.method in arguments.rivals:
        raise InputError(f"--view-synthesis requires agdl, gdl-u or gdl, got --method {arguments.method}")


def _is_single(arguments: Namespace) -> bool:
    return len(arguments.images) == 1


def _read_pictures(arguments: Namespace) -> tuple[list[Picture], dict[str, bytes]]:
    """Read the pictures with their masks, and check that they can be exported in the chosen formats.

    Returns also the files of the pictures that the demo makes.
    """
    images: Sequence[Path | Picture] = arguments.images
    others: dict[str, bytes] = {}
    if not images:
        from matching._common import opencv
        from matching.cli.demo import make_demo_pair
        from matching.pictures.images import make_picture

        arrays = {f"picture{k}.png": rgb for k, rgb in enumerate(make_demo_pair())}
        folder = arguments.out or Path(_name_folder(arguments))
        images = [replace(make_picture(rgb), path=folder / name) for name, rgb in arrays.items()]
        others = {name: opencv.encode_png(rgb) for name, rgb in arrays.items()}
    pictures = read_pictures(images, (arguments.mask0, arguments.mask1))
    check_formats(arguments.export, pictures)
    return pictures, others


def _name_folder(arguments: Namespace) -> str:
    """Name the folder for the results, which may hold results of other pictures."""
    if _is_single(arguments):
        return f"{arguments.images[0].stem}-repeats"
    return name_pair_folder(*arguments.images) if arguments.images else "demo-match"
