"""`gdl-match label`: label once, find everywhere."""

import sys
import warnings
import webbrowser
from argparse import Namespace
from contextlib import suppress

from matching.cli.arguments import LineParser, add_every, add_names, add_setting
from matching.cli.commands.collection import run_options
from matching.cli.console import make_printable, make_teller, print_short_warnings, warn_of_frames
from matching.cli.exits import BAD_INPUT, FOUND, NONE_FOUND
from matching.errors import InputError
from matching.labels.formats import FORMATS
from matching.labels.references import read_references
from matching.labels.review import Review
from matching.labels.run import Labels, label_pictures
from matching.output.words import align_columns, count
from matching.pictures.names import is_video
from matching.settings import EVERY, MIN_SCORE

DEFAULT_FORMAT = next(iter(FORMATS))


def make_parser() -> LineParser:
    """Make the parser of the command."""
    parser = LineParser.of_command("label", "run")
    files = parser.groups["input and output"]
    add_every(files)
    text = f"formats of the labels, separated by commas: {', '.join(FORMATS)} (default: {DEFAULT_FORMAT})"
    add_names(files, "format", FORMATS, text)
    add_setting(files, "min_score", MIN_SCORE)
    return parser


def run(arguments: Namespace) -> int:
    """Run the command."""
    folder = getattr(arguments, "in")
    if arguments.every is not None and not is_video(folder):
        raise InputError("--every requires a video")
    forms = tuple(dict.fromkeys(arguments.format)) or (DEFAULT_FORMAT,)
    with print_short_warnings():
        references = read_references(arguments.references, arguments.mask, folder)
    with warnings.catch_warnings(action="ignore"):  # those about odd pictures: what matters is recorded
        labels = label_pictures(
            references,
            folder,
            arguments.out,
            form=forms,
            min_score=arguments.min_score,
            recursive=arguments.recursive,
            tracks=arguments.tracks,
            every=arguments.every or EVERY.default,
            **run_options(arguments),
        )
    warn_of_frames(labels.folder / name for name in labels.names)
    status = _show(labels, arguments)
    return _review(labels, forms) if arguments.review else status


def _review(labels: Labels, forms: tuple[str, ...]) -> int:
    """Let the user accept or drop proposals on a page until Ctrl-C; then write the labels again."""
    with Review(labels, forms) as review:
        print(f"{review.address}  (Ctrl-C writes the labels and ends it)", flush=True)
        webbrowser.open(review.address)
        with suppress(KeyboardInterrupt):
            review.serve_forever()
        n = review.save({})["labels"]
    print(f"{count(n, 'label')}, {count(labels.n_undecided, 'proposal')} undecided")
    return FOUND if n else NONE_FOUND


def _show(labels: Labels, arguments: Namespace) -> int:
    failed = [p for name in labels.names if (p := labels.record.pictures[name]).error is not None]
    for picture in failed:
        reason = str(picture.error).strip().splitlines()[-1]
        print(f"gdl-match label: error: {make_printable(reason)}", file=sys.stderr)
    pictures = labels.pictures
    rows = [("class", "labels", "pictures")]
    for name in labels.classes:
        counts = [sum(place.name == name for place in picture.places) for picture in pictures]
        rows.append((make_printable(name), str(sum(counts)), str(sum(n > 0 for n in counts))))
    print("\n".join(align_columns(rows, left=(0,))))
    without = sum(not picture.places for picture in pictures)
    print(f"{count(len(pictures), 'picture')}, {without} without labels")
    left_out = labels.left_out
    if n := left_out["below"]:
        print(f"{count(n, 'more label')} left out, with a score below --min-score {labels.min_score:g}")
    if n := left_out["different"]:
        print(f"{count(n, 'more place')} left out, which differ from their references")
    if (n := left_out["parts"]) and not arguments.review:
        parts = f"{count(n, 'more place')} left out, which show only a part of their references"
        print(f"{parts}, such as a box without its background; --review offers them")
    make_teller(arguments)(f"written to {arguments.out}")
    if without < len(pictures):
        return FOUND
    return BAD_INPUT if failed or not pictures else NONE_FOUND
