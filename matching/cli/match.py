"""`gdl-match IMAGE0 IMAGE1`: two pictures from their files to the results."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from matching.cli.arguments import config_of, parser
from matching.cli.exits import FOUND, NONE_FOUND, ended_by_interrupt
from matching.errors import InputError
from matching.pictures.names import absolute

if TYPE_CHECKING:
    from matching.pictures.images import Picture


def match_pair(argv, rivals, *, owns_process=False):
    """Match the two pictures that the arguments name, write the results; returns the exit status.

    owns_process : whether an interrupt ends the process at once wherever that leaves nothing behind
    """
    arguments = parser(rivals).parse_intermixed_args(argv)
    with ended_by_interrupt("gdl-match") if owns_process else nullcontext():
        run = _match(arguments, rivals)
    return _write(arguments, *run)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What is matched.

    pictures : the two Pictures, with their masks
    paths : their absolute paths, None for the demo's
    others : content of the pictures that are made, file name -> bytes
    """

    pictures: list[Picture]
    paths: tuple[str, ...] | None = None
    others: dict[str, bytes] = field(default_factory=dict)


def _match(arguments, rivals):
    """Everything before the files: the Inputs, the settings and the result."""
    _check_usage(arguments)
    inputs = _inputs(arguments)
    folder = _folder(arguments, inputs)
    _check_folder(folder, arguments, inputs)
    if arguments.out is None and inputs.paths and folder != _base(arguments):
        print(
            f"gdl-match: {_base(arguments)} holds results of other pictures: writing to {folder}",
            file=sys.stderr,
        )
    tell = _teller(arguments)
    for picture in inputs.pictures:
        tell(f"{picture.path}: {picture.width} x {picture.height}")
    from matching.pipeline import match_pictures  # only now: what can't be read is told without it

    config = config_of(arguments)
    if config.view_synthesis and arguments.method in rivals:
        raise InputError(f"--view-synthesis needs a method of this program, got --method {arguments.method}")
    with warnings_in_a_line():
        result = match_pictures(*inputs.pictures, config, find_clusters=rivals.get(arguments.method))
    kept = int((result.cluster >= 0).sum())
    tell(f"{len(result.cluster)} candidates, {kept} kept, {sum(result.timings.values()):.1f} s")
    return inputs, config, result


def _write(arguments, inputs, config, result):
    from matching.output.files import write_results

    folder = _folder(arguments, inputs)  # again: another run may have taken the first one
    write_results(
        folder,
        inputs.pictures,
        result,
        config,
        figure=not arguments.no_figure,
        warp=arguments.warp,
        html=arguments.html,
        exports=_exports(arguments),
        inputs=inputs.paths,
        others=inputs.others,
    )
    print(table(result))
    _teller(arguments)(f"written to {folder}")
    return FOUND if result.objects else NONE_FOUND


def _teller(arguments):
    return (lambda text: None) if arguments.quiet else (lambda text: print(text, file=sys.stderr, flush=True))


def _check_usage(arguments):
    if arguments.demo:
        if arguments.image0 is not None:
            raise InputError(f"--demo takes no pictures, got {arguments.image0}")
    elif arguments.image1 is None:
        raise InputError("two pictures are needed, or --demo; see gdl-match --help")


def _inputs(arguments):
    if arguments.image0 is not None:
        paths = arguments.image0, arguments.image1
        return Inputs(_pictures(arguments, paths), tuple(map(absolute, paths)))
    from matching import _opencv
    from matching.cli.demo import demo_pair
    from matching.pictures.images import picture_of

    names = [f"picture{k}.png" for k in range(2)]
    arrays = demo_pair()
    made = [replace(picture_of(rgb), path=_base(arguments) / n) for n, rgb in zip(names, arrays, strict=True)]
    others = {name: _opencv.encode_png(rgb) for name, rgb in zip(names, arrays, strict=True)}
    return Inputs(_pictures(arguments, made), None, others)


def _base(arguments):
    if arguments.out is not None:
        return arguments.out
    if arguments.image0 is None:
        return Path("demo-match")
    return Path(f"{arguments.image0.stem}-{arguments.image1.stem}-match")


def _folder(arguments, inputs):
    from matching.output.folders import folder_for

    by_name = arguments.out is None and inputs.paths is not None
    return folder_for(_base(arguments), inputs.paths) if by_name else _base(arguments)


def _check_folder(folder, arguments, inputs):
    """Raise InputError where the results can't be written, or would be over what is matched or what is not
    ours.
    """
    from matching.output.files import file_names
    from matching.output.folders import check_folder, check_replaceable, own_files
    from matching.output.warping import FILES

    check_folder(folder)
    names = file_names(figure=not arguments.no_figure, html=arguments.html, exports=_exports(arguments))
    names |= set(inputs.others)
    replaced = names | (own_files(folder) if folder.exists() else set())
    for path in (arguments.image0, arguments.image1, arguments.mask0, arguments.mask1):
        is_replaced = path is not None and (path.name in replaced or FILES.fullmatch(path.name))
        if is_replaced and folder.exists() and path.parent.samefile(folder):
            raise InputError(f"{path}: --out {folder} would write over it; choose another folder")
    check_replaceable(folder, names, FILES if arguments.warp else None)


def _exports(arguments):
    return tuple(dict.fromkeys(arguments.export))


def table(result):
    """The objects, one a line."""
    if not result.objects:
        return "no common object"
    lines = [f"{'object':>6}  {'matches':>7}  {'score':>5}  {'transform':<10}  {'error':>8}"]
    lines += [
        f"{o.id:>6}  {o.n_matches:>7}  {o.score:>5.2f}  {o.transform_kind:<10}  {o.transform_error:>5.1f} px"
        for o in result.objects
    ]
    return "\n".join(lines)


def _pictures(arguments, images):
    """The two pictures with their masks, once it is clear that they can be exported as asked.

    images : paths or Pictures
    """
    from matching.pictures.images import picture_of, with_mask

    masks = arguments.mask0, arguments.mask1
    with silent_decoders():
        pictures = [with_mask(picture_of(image), mask) for image, mask in zip(images, masks, strict=True)]
    if arguments.export:
        from matching.output.exchange import check_formats

        check_formats(arguments.export, pictures)
    return pictures


@contextmanager
def warnings_in_a_line():
    """Prints warnings as errors are printed, without the place in the sources."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(f"gdl-match: warning: {message}", file=sys.stderr)
        yield


@contextmanager
def silent_decoders():
    """Keeps what libtiff tells of damage off standard error: it writes there by itself, several lines."""
    try:
        kept = os.dup(2)
    except OSError:  # there is none
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
