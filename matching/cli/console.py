"""Helpers of matching commands that print on standard error, open reports, and silence libraries."""

from __future__ import annotations

import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matching.output.inspection import Verdict
    from matching.pictures.images import Picture

PROGRESS_FORMAT = "compiling: {n_fmt} functions, {elapsed}"
COMPILING_MESSAGE = "compiling inner loops on their first use, which takes up to a minute"


def make_teller(arguments: Namespace) -> Callable[[str], None]:
    """Make a function that prints progress on standard error, or nothing with ``--quiet``."""
    if arguments.quiet:
        return lambda text: None
    return lambda text: print(make_printable(text), file=sys.stderr, flush=True)


def make_printable(text: str) -> str:
    """Replace characters that would change how a terminal shows the text."""
    return "".join(c if c.isprintable() else "?" for c in text)


def print_result(arguments: Namespace, folder: Path, lines: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Print lines about a result, or with ``--json`` its manifest from the folder, and then notes."""
    from matching.output.folders import MANIFEST

    print((folder / MANIFEST).read_text(encoding="utf-8") if arguments.json else "\n".join(lines))
    tell = make_teller(arguments)
    for note in (*notes, f"written to {folder}"):
        tell(note)


def list_different(arguments: Namespace, verdicts: Mapping[str, Verdict]) -> bool:
    """Print which pictures are not the same as the golden one, or can't be told; return if any is not."""
    different = [name for name, verdict in verdicts.items() if not verdict.compared.is_same]
    for name in different:
        line = f"not the same: {make_printable(name)}: {verdicts[name].words}"
        print(line, file=sys.stderr if arguments.json else sys.stdout)
    return bool(different)


def open_report(report: Path) -> None:
    """Open a report in the browser; if there is no browser, print where it is."""
    import webbrowser

    if not webbrowser.open(report.resolve().as_uri()):
        print_warning(f"no browser could be opened: the report is {report}")


def print_warning(message: object) -> None:
    """Print a warning like an error: in one line."""
    print(f"gdl-match: warning: {message}", file=sys.stderr)


@contextmanager
def report_work(arguments: Namespace) -> Iterator[None]:
    """Print each warning in one line, and report when a kernel is first compiled.

    On a terminal, the functions that are compiled are counted in a line that moves.
    """
    from numba.core import event

    class Listener(event.Listener):
        line: Any = None

        def on_start(self, event: Any) -> None:
            if self.line is None:
                from tqdm import tqdm  # most runs compile nothing, and need not import it

                make_teller(arguments)(COMPILING_MESSAGE)
                self.line = tqdm(bar_format=PROGRESS_FORMAT, leave=False, disable=arguments.quiet or None)

        def on_end(self, event: Any) -> None:
            self.line.update()

    listener = Listener()
    try:
        with print_short_warnings(), event.install_listener("numba:compile", listener):
            yield
    finally:
        if listener.line is not None:
            listener.line.close()


@contextmanager
def print_short_warnings() -> Iterator[None]:
    """Print each warning like an error: in one line, without its place in the sources."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print_warning(message)
        yield


def read_pictures(images: Sequence[Path | Picture], masks: Sequence[Path | None] = ()) -> list[Picture]:
    """Read pictures with their masks, without the output of decoders."""
    from matching.pictures.images import add_mask, make_picture

    given = zip_longest(images, masks[: len(images)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with silence_decoders():
            pictures = [add_mask(make_picture(image), mask) for image, mask in given]
    for warning in caught:
        print_warning(warning.message)
    return pictures


def warn_of_frames(paths: Iterable[str | Path]) -> None:
    """Print a warning for each file that has more frames or pages than the first, which alone is read."""
    from matching.pictures.decoding import count_frames

    for path in paths:
        if (n := count_frames(path)) > 1:
            name = make_printable(str(path))
            print_warning(f"{name}: only the first of its {n} frames or pages is looked at")


@contextmanager
def silence_decoders() -> Iterator[None]:
    """Suppress the lines about damaged files that libtiff writes to standard error."""
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    sys.stderr.flush()
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
