"""The command line of a kept index: `gdl-match index add | query | groups | watch`."""

import json
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import datetime

from matching.cli.arguments import MANY_PICTURES, LineParser
from matching.cli.commands.collection import (
    check_duplicate_options,
    prepare_run,
    read_listed_groups,
    run_options,
    show_groups,
)
from matching.cli.console import make_printable, make_teller, warn_of_frames
from matching.cli.exits import BAD_INPUT, FOUND, NONE_FOUND
from matching.collection.kept_index._index import Added, add_pictures, find_candidates
from matching.collection.kept_index._store import open_index
from matching.collection.plan import name_for_database
from matching.collection.reports.html_report import write_groups_report
from matching.collection.reports.query_results import (
    QueryResult,
    collect_results,
    summarise_query,
    verify_for_groups,
    verify_pairs,
    write_query_page,
)
from matching.collection.watching import watch_folder
from matching.errors import InputError
from matching.interchange.hloc import retrieval_list
from matching.output.files import summarise_object
from matching.output.folders import write_whole
from matching.output.words import UNKNOWN, align_columns, count, describe_sameness, format_place
from matching.pictures.formats import find_given
from matching.pictures.names import exists, is_folder, make_absolute


def make_parser() -> LineParser:
    """Make the parser of the command."""
    parser = LineParser.of_command("index")
    commands = parser.add_subparsers(dest="command", required=True, metavar=" | ".join(COMMANDS))
    for command, (_, text, more) in COMMANDS.items():
        files = *MANY_PICTURES, *more
        commands.add_parser(command, help=text, command=f"index-{command}", files=files)
    return parser


def run(arguments: Namespace) -> int:
    """Run the command."""
    prepare_run(arguments)
    with warnings.catch_warnings(action="ignore"):  # those about odd pictures: what matters is recorded
        return COMMANDS[arguments.command][0](arguments)


def _add(arguments: Namespace) -> int:
    # pictures of a folder that is empty now may still have to be dropped from the index
    paths = _pictures(arguments, may_be_empty=True)
    inside = [make_absolute(path) for path in arguments.pictures if is_folder(path)]
    added = add_pictures(arguments.index, paths, inside=inside, **run_options(arguments))
    warn_of_frames(added.paths)
    _tell_errors(added.errors)
    print(_describe_added(added))
    if added.errors and not added.counts.indexed:
        return BAD_INPUT
    return FOUND if added.counts.indexed else NONE_FOUND


def _tell_errors(errors: Sequence[str]) -> None:
    for error in errors:
        print(f"failed: {make_printable(error.strip().splitlines()[-1])}", file=sys.stderr, flush=True)


def _describe_added(added: Added) -> str:
    counts = added.counts
    size = f", {counts.bytes / counts.indexed / 1000:.1f} kB a picture" if counts.indexed else ""
    return (
        f"{count(len(added.paths), 'picture')} added ({len(added.errors)} failed), {added.removed} dropped;"
        f" the index has {count(counts.indexed, 'picture')} and takes {counts.bytes / 1e6:.1f} MB{size}"
    )


def _watch(arguments: Namespace) -> int:
    tell = make_teller(arguments)
    where, running = (arguments.index, arguments.folder), run_options(arguments, 1)
    watch = watch_folder(*where, thing=arguments.query, recursive=arguments.recursive, **running)
    for added, seen in watch:
        _tell_errors(added.errors)
        tell(_describe_added(added))
        for path, pair in seen.items():
            if pair.error is not None:
                _tell_errors([pair.error])
            elif arguments.json:
                objects = [summarise_object(found) for found in pair.objects]
                print(json.dumps({"picture": path, "objects": objects}), flush=True)
            elif pair.objects:
                best = max(pair.objects, key=lambda found: found.score)
                centre, size, *_ = format_place(best)
                print(
                    f"{datetime.now().astimezone():%Y-%m-%dT%H:%M:%S}  {make_printable(path)}: seen around"
                    f" {centre}, {size}, {best.n_matches} matches, {best.confidence or UNKNOWN}"
                    f"{describe_sameness([best])}",
                    flush=True,
                )
    return FOUND  # not reached: a watch never ends


def _query(arguments: Namespace) -> int:
    tell, running = make_teller(arguments), run_options(arguments, 1)
    if (arguments.hloc_pairs is None) != (arguments.images is None):
        raise InputError("--hloc-pairs and --images must be given together")
    if arguments.hloc_pairs is not None and (arguments.db or arguments.json or arguments.html):
        reason = "because it matches nothing"
        raise InputError(f"--hloc-pairs can't be combined with --db, --json or --html, {reason}")
    candidates = find_candidates(arguments.index, _pictures(arguments), arguments.shortlist, **running)
    pairs = [(query, path) for query, found in candidates.items() for path in found]
    if arguments.hloc_pairs is not None:
        write_whole(arguments.hloc_pairs, retrieval_list(pairs, make_absolute(arguments.images)))
        tell(f"{count(len(pairs), 'pair')} written to {arguments.hloc_pairs}")
        return FOUND if pairs else NONE_FOUND
    with verify_pairs(pairs, db=arguments.db, **running) as db:
        results = collect_results(db, candidates)
    if arguments.html is not None:
        write_query_page(results, arguments.html)
        tell(f"page written to {arguments.html}")
    if arguments.db is not None:
        tell(f"matches written to {arguments.db}")
    if arguments.json:
        print(json.dumps({"queries": [summarise_query(result) for result in results]}, indent=1))
    else:
        _show(results)
    return FOUND if any(result.pictures for result in results) else NONE_FOUND


def _groups(arguments: Namespace) -> int:
    check_duplicate_options(arguments)
    running = run_options(arguments)
    with open_index(arguments.index, running["config"]) as index:
        pictures = [path for path in index.indexed() if exists(path)]
    candidates = find_candidates(arguments.index, pictures, arguments.shortlist, **running)
    with verify_for_groups(candidates, db=arguments.db, **running) as db:
        listed = read_listed_groups(arguments, db)
        if arguments.html is not None:
            write_groups_report(listed, db, arguments.html, arguments.index.name)
            make_teller(arguments)(f"page written to {arguments.html}")
        return show_groups(listed)


def _show(results: Sequence[QueryResult]) -> None:
    for result in results:
        if len(results) > 1:
            print(make_printable(result.query))
        if not result.pictures:
            print("no picture of the index shares an object with this one")
            continue
        rows: list[tuple[str, ...]] = [("rank", "score", "objects", "matches", "votes", "picture")]
        for picture in result.pictures:
            n = sum(found.n_matches for found in picture.objects)
            found = f"{len(picture.objects)}{describe_sameness(picture.objects)}"
            numbers = found, str(n), str(picture.votes)
            name = make_printable(picture.path)
            rows.append((f"{picture.rank:.3f}", f"{picture.score:.2f}", *numbers, name))
        print("\n".join(align_columns(rows, left=(5,))))


def _pictures(arguments: Namespace, may_be_empty: bool = False) -> list[str]:
    recursive = getattr(arguments, "recursive", False)
    found = find_given(arguments.pictures, recursive, may_be_empty=may_be_empty)
    return list(dict.fromkeys(map(name_for_database, found)))


COMMANDS: dict[
    str, tuple[Callable[[Namespace], int], str, tuple[str, ...]]
] = {  # and files of further options
    "add": (_add, "add pictures", ()),
    "query": (_query, "find pictures that share objects", ()),
    "groups": (_groups, "group pictures that show the same thing", ("duplicates",)),
    "watch": (_watch, "add pictures that arrive in a folder", ()),
}
