"""The command line: `gdl-match IMAGE0 IMAGE1`."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path

from matching.arguments import config_of, parser
from matching.errors import InputError

FOUND, NONE_FOUND, BAD_INPUT, INTERNAL_ERROR = 0, 1, 2, 3


def exit_status(command, work, stopped="interrupted"):
    """The exit status of a command's work, a function without arguments that returns one.

    Bad input is told in one line; `stopped` is told where the user interrupts. Any other error is the
    program's own and keeps its traceback. Where nobody reads the output any more (`| head`), the rest is
    lost.
    """
    if hasattr(sys.stdout, "reconfigure"):  # a console may lack letters of a picture's name
        sys.stdout.reconfigure(errors="replace")
    try:
        status = work()
        sys.stdout.flush()
        return status
    except InputError as error:
        print(f"{command}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{command}: {stopped}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again at its end
        return 141
    except Exception:
        traceback.print_exc()
        return INTERNAL_ERROR


def main(argv=None, *, demo_pair=None, rivals=None):
    """Run the command; returns the exit status.

    demo_pair : callable without arguments that gives the two pictures (h, w, 3) of --demo; without it there
        is no --demo
    rivals : further methods for --method, name -> find_clusters as in `matching.pipeline.match_pictures`
    """
    rivals = rivals or {}
    options = parser(rivals, demo=demo_pair is not None)
    return exit_status("gdl-match", lambda: _run(options.parse_intermixed_args(argv), demo_pair, rivals))


def _run(arguments, demo_pair, rivals):
    demo = demo_pair is not None and arguments.demo
    if demo == (arguments.image1 is not None) or (demo and arguments.image0 is not None):
        raise InputError(f"two pictures are needed{', or --demo' if demo_pair else ''}; see gdl-match --help")
    from matching.output import make_folder, write_results

    tell = (lambda text: None) if arguments.quiet else (lambda text: print(text, file=sys.stderr, flush=True))
    if demo:
        folder = make_folder(arguments.out or Path("demo-match"))
        pictures = _pictures(arguments, _write_demo(folder, demo_pair))
    else:
        pictures = _pictures(arguments, (arguments.image0, arguments.image1))
        folder = make_folder(arguments.out or Path(f"{arguments.image0.stem}-{arguments.image1.stem}-match"))
        _keep_inputs(folder, arguments)
    for picture in pictures:
        tell(f"{picture.path}: {picture.width} x {picture.height}")
    from matching.pipeline import (
        match_pictures,  # only now: what can't be read is told without waiting for it
    )

    config = config_of(arguments)
    result = match_pictures(*pictures, config, find_clusters=rivals.get(arguments.method))
    kept = int((result.cluster >= 0).sum())
    seconds = sum(result.timings.values())
    tell(f"{len(result.cluster)} candidates, {kept} kept, {seconds:.1f} s")
    write_results(
        folder,
        pictures,
        result,
        config,
        figure=not arguments.no_figure,
        warp=arguments.warp,
        exports=tuple(dict.fromkeys(arguments.export)),
    )
    if arguments.html:
        from matching.html import write_pair_report

        write_pair_report(folder / "matches.html", pictures, result)
    print(table(result))
    tell(f"written to {folder}")
    return FOUND if result.objects else NONE_FOUND


def _keep_inputs(folder, arguments):
    """Refuse to write over what is matched."""
    from matching.output import is_result

    for path in (arguments.image0, arguments.image1, arguments.mask0, arguments.mask1):
        if path is not None and is_result(path.name) and path.parent.samefile(folder):
            raise InputError(f"{path}: --out {folder} would write over it; choose another folder")


def table(result):
    """The objects, one a line."""
    if not result.objects:
        return "no common object"
    lines = [f"{'object':>6}  {'matches':>7}  {'score':>5}  {'transform':<10}  {'error':>8}"]
    lines += [
        f"{o.id:>6}  {o.n_matches:>7}  {o.score:>5.1f}  {o.transform_kind:<10}  {o.transform_error:>5.1f} px"
        for o in result.objects
    ]
    return "\n".join(lines)


def _pictures(arguments, paths):
    """The two pictures with their masks, once it is clear that they can be exported as asked."""
    from matching.images import read_picture, with_mask

    masks = arguments.mask0, arguments.mask1
    with _silent_decoders():
        pictures = [with_mask(read_picture(path), mask) for path, mask in zip(paths, masks, strict=True)]
    if arguments.export:
        from matching.exchange import check_formats

        check_formats(arguments.export, pictures)
    return pictures


@contextmanager
def _silent_decoders():
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


def _write_demo(folder, demo_pair):
    from matching import _opencv
    from matching.output import write_whole

    paths = [folder / f"picture{k}.png" for k in range(2)]
    for path, rgb in zip(paths, demo_pair(), strict=True):
        write_whole(path, _opencv.encode_png(rgb))
    return paths
