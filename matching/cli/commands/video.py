"""`gdl-match THING VIDEO`: where and when a thing is seen in a video."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from matching.cli.arguments import make_config, refuse
from matching.cli.console import open_report, print_result, report_work
from matching.cli.destination import check_not_over, choose_destination, name_pair_folder
from matching.cli.exits import FOUND, NONE_FOUND
from matching.output.words import UNKNOWN, align_columns, count, format_place
from matching.pictures.names import make_absolute
from matching.settings import EVERY
from matching.video.files import FILE_NAMES, PAGE_NAME, format_time, write_video_results
from matching.video.search import Appearance, Progress, VideoResult, find_in_video

HEADER = (
    *("from", "to", "frames", "matches", "score", "how sure", "centre", "size", "turn", "scale", "share"),
    "complete",
)
NOT_SEEN = "not seen"


def match_video(arguments: Namespace) -> int:
    """Look for the first picture in the video that the second argument names, and write the results."""
    thing, video = arguments.images
    refused = "mask1", "export", "warp", "crops", "explain", "fail_if_different"
    refuse(arguments, refused, f"is only for pictures, got the video {video}", arguments.rivals)
    names = make_absolute(thing), make_absolute(video)
    folder = choose_destination(arguments.out, name_pair_folder(thing, video), names)
    check_not_over(folder, (thing, video, arguments.mask0), FILE_NAMES)
    every, config = arguments.every or EVERY.default, make_config(arguments)
    with report_work(arguments), _show_progress(arguments) as progress:
        result = find_in_video(thing, video, config, every=every, mask=arguments.mask0, progress=progress)
    write_video_results(folder, result, names, page=not arguments.no_figure)
    notes = []
    if not result.n_features:
        notes.append(f"{thing}: no features: it is too small, flat, transparent or masked")
    if result.ends_early:
        notes.append(f"{video}: damaged: only the first {count(result.n_frames, 'frame')} can be read")
    print_result(arguments, folder, [format_appearances(result)], notes)
    if arguments.open and not arguments.no_figure:
        open_report(folder / PAGE_NAME)
    return FOUND if result.appearances else NONE_FOUND


def format_appearances(result: VideoResult) -> str:
    """Format the appearances of the thing as a table, and the share of the video that was searched."""
    searched = (
        f"{result.n_looked_at} of {count(result.n_frames, 'frame')} searched, one every {result.every:g} s"
    )
    if not result.appearances:
        return f"{NOT_SEEN}\n{searched}"
    rows = [HEADER, *map(_format_appearance, result.appearances)]
    video = f"in a video of {format_time(result.seconds)}; seen in {len(result.sightings)}"
    last = f"{searched}, {video}; each line describes its best frame"
    return "\n".join([*align_columns(rows, left=(5,)), last])


def _format_appearance(found: Appearance) -> tuple[str, ...]:
    best = max(found.best.objects, key=lambda item: item.score)
    times = format_time(found.begin), format_time(found.end)
    best_of = str(best.n_matches), f"{best.score:.2f}", best.confidence or UNKNOWN
    return (*times, str(len(found.sightings)), *best_of, *format_place(best))


@contextmanager
def _show_progress(arguments: Namespace) -> Iterator[Progress]:
    """Show progress on standard error, of the length that the header of the video states."""
    form = "{desc}: {n:.0f} of {total:.0f} s |{bar}| {elapsed}{postfix}"
    with tqdm(disable=arguments.quiet or None, file=sys.stderr, bar_format=form) as bar:

        def tell(seconds: float, length: float, n_seen: int) -> None:
            bar.total = max(length, seconds)
            bar.set_postfix_str(f"seen in {count(n_seen, 'frame')}", refresh=False)
            bar.update(seconds - bar.n)

        bar.set_description(str(arguments.images[1].name), refresh=False)
        yield tell
