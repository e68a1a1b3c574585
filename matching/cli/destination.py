"""Folders for the results of matching commands, and checks that nothing else is overwritten."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from re import Pattern
from typing import Any

from matching.errors import InputError
from matching.pictures.names import exists


def output_options(arguments: Namespace) -> dict[str, Any]:
    """List which files to write, as arguments of `write_results`."""
    return {
        "figure": not arguments.no_figure,
        "warp": arguments.warp,
        "crops": arguments.crops,
        "html": arguments.html or arguments.open,
        "explain": arguments.explain,
        "exports": tuple(dict.fromkeys(arguments.export)),
    }


def name_pair_folder(image0: Path, image1: Path) -> str:
    """Name the folder for the results of two pictures."""
    return f"{image0.stem}-{image1.stem}-match"


def choose_destination(out: Path | None, name: str, inputs: tuple[str, ...] | None) -> Path:
    """Choose the folder of ``--out``, or one with this name that has no results of other inputs, if any."""
    from matching.output.folders import choose_folder

    return out or (Path(name) if inputs is None else choose_folder(Path(name), inputs))


def check_output(
    folder: Path, arguments: Namespace, images: Sequence[Path], others: Iterable[str] = ()
) -> None:
    """Check that the results can be written and will replace neither a picture nor a foreign file."""
    from matching.output.figures.warping import FILES
    from matching.output.files import list_file_names
    from matching.output.folders import check_replaceable

    options = output_options(arguments)
    has_object_files = options.pop("warp") | options.pop("crops")
    options.pop("explain")
    names = list_file_names(**options) | set(others)
    inputs = (*images, arguments.mask0, arguments.mask1)
    check_not_over(folder, inputs, names, FILES)
    check_replaceable(folder, (), FILES if has_object_files else None)


def check_not_over(
    folder: Path, inputs: Iterable[Path | None], names: set[str], pattern: Pattern[str] | None = None
) -> None:
    """Check that neither an input (found by name or pattern) nor a foreign file would be overwritten."""
    from matching.output.folders import check_folder, check_replaceable, find_own_files

    check_folder(folder)
    replaced = names | (find_own_files(folder) if folder.exists() else set())
    for path in (path for path in inputs if path is not None):
        is_replaced = path.name in replaced or (pattern is not None and pattern.fullmatch(path.name))
        if is_replaced and folder.exists() and path.parent.samefile(folder):
            raise InputError(f"{path}: --out {folder} would write over it; choose another folder")
    check_replaceable(folder, names)


def check_page(page: Path, option: str) -> None:
    """Check that the page of an option can be written, and replaces no foreign file."""
    from matching.output.folders import check_folder, is_own_page

    check_folder(page.parent)
    if exists(page) and not is_own_page(page):
        raise InputError(f"{page}: was not written by gdl-match; choose another {option}, or remove it")
