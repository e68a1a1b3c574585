"""`gdl-match collection`: many pictures are matched, with the results in one database."""

import sys
import tempfile
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from tqdm import tqdm

from matching.cli.arguments import MANY_PICTURES, LineParser, make_config
from matching.cli.console import make_printable, make_teller, warn_of_frames
from matching.cli.destination import check_page
from matching.cli.exits import FOUND, INTERNAL_ERROR, NONE_FOUND
from matching.collection.cache import FeatureCache
from matching.collection.database.connection import WAIT_SECONDS
from matching.collection.database.store import PAIRS_WITH_IMAGES, open_store
from matching.collection.plan import plan_folder, plan_gallery, plan_list
from matching.collection.reports.duplicates import list_removable
from matching.collection.reports.export import check_tables_replaceable, export
from matching.collection.reports.export_sfm import check_sfm_replaceable, export_for_sfm
from matching.collection.reports.groups import Group, find_groups, find_links, format_groups_csv
from matching.collection.reports.html_report import (
    format_groups,
    write_collection_report,
    write_groups_report,
)
from matching.collection.run import Summary, match_collection
from matching.errors import InputError
from matching.output.exchange import check_name
from matching.output.files import make_folder
from matching.output.folders import check_folder, write_whole
from matching.output.words import align_columns, count
from matching.pictures.names import is_folder, make_relative

COMMAND = "gdl-match collection"
N_PRINTED_PAIRS = 10
TABLES = "csv", "parquet"
EXPORTS = dict.fromkeys(TABLES, "tables") | {"colmap": "matches for COLMAP", "hloc": "matches for hloc"}


def make_parser() -> LineParser:
    """Make the parser of the command."""
    return LineParser.of_command("collection", *MANY_PICTURES, "duplicates")


def check_duplicate_options(arguments: Namespace) -> None:
    """Check the folders from which nothing may be listed: now, as a wrong name would protect nothing."""
    if arguments.never_list and arguments.list is None:
        raise InputError("--never-list requires --list")
    for folder in arguments.never_list:
        if not is_folder(folder):
            raise InputError(f"{folder}: no such folder")


def run(arguments: Namespace) -> int:
    """Run the command."""
    sources = [arguments.pairs, arguments.all, arguments.query or arguments.gallery]
    n_sources = sum(source is not None for source in sources)
    outputs = [arguments.html, arguments.groups, *_list_exports(arguments)]
    if arguments.static and not (arguments.colmap or arguments.hloc):
        raise InputError("--static requires --colmap or --hloc")
    if n_sources > 1:
        raise InputError("give one of --pairs, --all, or --query with --gallery, not several")
    if not n_sources and not any(outputs):
        raise InputError("one of --pairs, --all, or --query with --gallery is needed")
    if (arguments.query is None) != (arguments.gallery is None):
        raise InputError("--query and --gallery must be given together")
    if arguments.shortlist and arguments.gallery is None and arguments.all is None:
        raise InputError("--shortlist requires --all, or --query and --gallery")
    if arguments.list is not None and not arguments.groups:
        raise InputError("--list requires --groups")
    check_duplicate_options(arguments)
    if arguments.restart and not n_sources:
        raise InputError("--restart requires --pairs, --all, or --query and --gallery")
    prepare_run(arguments)
    _check_outputs(arguments)
    summary = _match(arguments) if n_sources else None
    groups = read_listed_groups(arguments, arguments.db) if arguments.groups else None
    _write(arguments, groups)
    if summary is not None and summary.internal_errors:
        return INTERNAL_ERROR
    return _show(arguments.db) if groups is None else show_groups(groups)


def _check_outputs(arguments: Namespace) -> None:
    """Check that the results can be written: now, rather than after hours."""
    for kind, folder in _list_exports(arguments):
        check = check_tables_replaceable if kind in TABLES else check_sfm_replaceable
        check(check_folder(folder), kind)
    if arguments.html is not None and arguments.html.resolve() == arguments.db.resolve():
        raise InputError(f"{arguments.html}: is the database; choose another --html")


def _list_exports(arguments: Namespace) -> list[tuple[str, Path]]:
    """List the wanted formats with their folders."""
    return [(kind, folder) for kind in EXPORTS if (folder := getattr(arguments, kind)) is not None]


def prepare_run(arguments: Namespace) -> None:
    """Check the options of a run, and set the wait for locked databases."""
    if arguments.jobs and arguments.scheduler:
        raise InputError("--jobs is for this machine and --scheduler for a cluster: give only one of them")
    if (page := getattr(arguments, "html", None)) is not None:
        check_page(page, "--html")
    WAIT_SECONDS.set(arguments.wait)


def run_options(arguments: Namespace, jobs: int | None = None) -> dict[str, Any]:
    """Make the parameters of functions that work on many pictures; jobs: how many by default."""
    return {
        "config": make_config(arguments),
        "cache": open_cache(arguments),
        "jobs": arguments.jobs or jobs,
        **({"scheduler": arguments.scheduler} if "scheduler" in arguments else {}),
        "progress": partial(tqdm, disable=arguments.quiet or None, file=sys.stderr),
    }


def _match(arguments: Namespace) -> Summary:
    with warnings.catch_warnings(action="ignore"):  # those about odd pictures: what matters is recorded
        if arguments.pairs is not None:
            plan = plan_list(arguments.pairs)
        elif arguments.all is not None:
            plan = plan_folder(arguments.all, arguments.recursive)
        else:
            plan = plan_gallery(arguments.query, arguments.gallery, arguments.recursive)
        warn_of_frames(plan.paths)
        for name in make_relative(plan.paths) if arguments.hloc is not None else ():
            check_name(name, for_hloc=True)  # now, rather than after hours
        choices = {name: getattr(arguments, name) for name in ("shortlist", "retry", "restart")}
        summary = match_collection(plan, arguments.db, **run_options(arguments), **choices)
    if not arguments.quiet:
        print(*_read_failures(arguments.db), describe_summary(summary), sep="\n", file=sys.stderr)
    if summary.other_programs:
        print(f"{COMMAND}: {summary.other_programs}", file=sys.stderr)
    if (n := summary.internal_errors) > 0:
        where = "the tracebacks are in the column `error` of the tables `images` and `pairs`"
        message = f"{n} of the pictures or pairs failed because of an error in the program"
        print(f"{COMMAND}: {message}; {where}", file=sys.stderr)
    return summary


def open_cache(arguments: Namespace) -> FeatureCache:
    """Open the cache of the options ``--cache`` and ``--cache-size``."""
    try:
        folder = make_folder(arguments.cache or user_cache_path("gdl-match", appauthor=False) / "features")
    except (InputError, RuntimeError):  # the user has no home folder, or one that can't be written
        if arguments.cache:
            raise
        folder = make_folder(Path(tempfile.gettempdir(), "gdl-match-features"))
    return FeatureCache(folder.resolve(), arguments.cache_size * 10**6)


def _write(arguments: Namespace, groups: Sequence[Group] | None) -> None:
    tell, db = make_teller(arguments), arguments.db
    for kind, folder in _list_exports(arguments):
        if kind in TABLES:
            export(db, folder, kind)
        else:
            export_for_sfm(db, folder, kind, arguments.static)
        tell(f"{EXPORTS[kind]} written to {folder}")
    if groups is not None and arguments.csv is not None:
        table = arguments.csv / "groups.csv"
        write_whole(table, format_groups_csv(groups))
        tell(f"groups written to {table}")
    if arguments.html is not None:
        make_folder(arguments.html.parent)
        if groups is None:
            write_collection_report(db, arguments.html, arguments.html_pairs)
        else:
            write_groups_report(groups, db, arguments.html)
        tell(f"report written to {arguments.html}")


def _read_failures(db: Path) -> Iterator[str]:
    """List the pictures that failed, and the pairs that failed though their pictures did not, a line each."""
    with open_store(db) as store:
        pictures = store.rows("SELECT path, error FROM images WHERE status = 'failed' ORDER BY id")
        pairs = store.rows(
            f"SELECT a.path || ' and ' || b.path, pairs.error FROM {PAIRS_WITH_IMAGES} WHERE"
            " pairs.status = 'failed' AND a.status != 'failed' AND b.status != 'failed' ORDER BY pairs.id"
        )
    for name, error in (*pictures, *pairs):
        reason = error.strip().splitlines()[-1].removeprefix(f"{name}: ")  # the last line of a traceback
        yield f"failed: {make_printable(name)}: {make_printable(reason)}"


def describe_summary(summary: Summary) -> str:
    """Describe a run in one line."""
    return (
        f"{count(summary.images, 'picture')} ({summary.failed_images} failed),"
        f" {count(summary.pairs, 'pair')} ({summary.failed_pairs} failed),"
        f" {count(summary.objects, 'object')} in {count(summary.pairs_with_objects, 'pair')};"
        f" this run: {count(summary.described, 'picture')} described,"
        f" {count(summary.matched, 'pair')} matched"
    )


def read_listed_groups(arguments: Namespace, db: Path) -> list[Group]:
    """Read the groups of a database, and write the list of duplicates."""
    with open_store(db) as store:
        links = list(find_links(store))
        if arguments.list is not None:
            removable = list_removable(store, links, arguments.keep, arguments.never_list)
            write_whole(
                arguments.list, "".join(f"{path}\n" for path in removable).encode("utf-8", "surrogateescape")
            )
            n = count(len(removable), "picture")
            make_teller(arguments)(f"{n} that could go written to {arguments.list}")
        return find_groups(store, links)


def show_groups(groups: Sequence[Group]) -> int:
    """Print groups, and return the exit status."""
    print("\n".join(make_printable(line) for line in format_groups(groups).splitlines()))
    return FOUND if groups else NONE_FOUND


def _show(db: Path) -> int:
    with open_store(db) as store:
        rows = store.rows(
            "SELECT rank, score, n_objects, n_matches, path0, path1 FROM results WHERE n_objects > 0"
            " ORDER BY rank DESC, pair LIMIT ?",
            (N_PRINTED_PAIRS,),
        )
        total = store.value("SELECT count(*) FROM pairs WHERE n_objects > 0")
    if not rows:
        print("no common object")
        return NONE_FOUND
    lines = [("rank", "score", "objects", "matches", "pair")]
    for rank, score, objects, matches, *paths in rows:
        names = "  ".join(make_printable(Path(path).name) for path in paths)
        lines.append((f"{rank:.3f}", f"{score:.2f}", str(objects), str(matches), names))
    print("\n".join(align_columns(lines, left=(4,))))
    if total > len(rows):
        print(f"and {count(total - len(rows), 'more pair')}")
    return FOUND
