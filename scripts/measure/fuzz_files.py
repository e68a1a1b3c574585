"""Give damaged PNG, JPEG, TIFF and WebP files to the command: each must be read, or refused with one line.

A file fails if the command shows a traceback, crashes, hangs (60 s), takes more than 2 GB, prints anything
else on standard error, or leaves a folder of results despite an error. Each file is read by a separate
process. Exit status: 0 none failed, 1 some did. Needs Linux or macOS.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import skimage.data
from PIL import Image
from tqdm import tqdm

from eval.common.options import check_least, exit_status
from eval.common.tables import format_markdown
from eval.matching.photographs import fuzz


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=300, help="damaged files (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the damage (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the files that failed to this folder")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    return exit_status(lambda: measure(args))


def measure(args: argparse.Namespace) -> int:
    """Return 1 if a file failed, else 0."""
    check_least(args, files=1, seed=0, jobs=1)
    picture = skimage.data.coffee()[100:260, 150:390]
    files = fuzz.make_damaged_files(picture, args.files, args.seed)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.jobs) as pool:
        other = Path(folder) / "whole.png"
        Image.fromarray(picture).save(other)
        run = pool.map(lambda file: fuzz.check(*file, other), files)
        outcomes = list(tqdm(run, total=len(files), disable=args.quiet))
    print(summary(outcomes))
    failed = {outcome.name for outcome in outcomes if outcome.fault}
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        for name, content in files:
            if name in failed:
                (args.keep / name).write_bytes(content)
    return int(bool(failed))


def summary(outcomes: list[fuzz.Outcome]) -> str:
    """One line per codec and kind of damage, and then one for each file that failed."""
    groups = sorted({kind(o) for o in outcomes})
    lines = []
    for group in groups:
        own = [o for o in outcomes if kind(o) == group]
        status = Counter(o.status for o in own)
        read, refused = status[0] + status[1], status[2]
        worst = max(o.memory for o in own), max(o.seconds for o in own)
        failed = sum(bool(o.fault) for o in own)
        lines.append([*group, len(own), read, refused, failed, f"{worst[0]:.0f}", f"{worst[1]:.1f}"])
    head = ["format", "damage", "files", "read", "refused", "failed", "MB at most", "s at most"]
    table = format_markdown(head, [[str(cell) for cell in line] for line in lines])
    faults = [f"{o.name}: {o.fault}: {' '.join(o.error.split())[-300:]}" for o in outcomes if o.fault]
    return "\n".join([table, *faults])


def kind(outcome: fuzz.Outcome) -> tuple[str, str]:
    stem, codec = outcome.name.split(".")
    return codec, stem.split("-", 1)[1]


if __name__ == "__main__":
    sys.exit(main())
