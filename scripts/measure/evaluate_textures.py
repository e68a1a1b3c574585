"""Fine textures: false objects in unrelated textures, and the cost of matching. Writes textures.csv.

For each kind, there are pairs of textures that have nothing in common except their kind and, in half of the
pairs, their period and angle; also, each texture is matched with itself. Every pair runs in a separate
process, which reports its peak memory.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import json
import subprocess
import sys
from pathlib import Path

from tqdm import tqdm

from eval.common.options import check_folder, check_least, exit_status, peak_megabytes
from eval.common.tables import write_csv
from synth.textures import KINDS


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        default=list(KINDS),
        metavar="KIND",
        help=f"some of {', '.join(KINDS)} (default: all)",
    )
    parser.add_argument("--pairs", type=int, default=4, help="pairs of each kind (default: 4)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first pair (default: 0)")
    parser.add_argument(
        "--size",
        type=int,
        nargs=2,
        default=[1200, 1600],
        metavar=("H", "W"),
        help="size of a picture, pixels (default: 1200 1600)",
    )
    parser.add_argument("--photographs", type=Path, metavar="DIR", help="photographs to print as halftones")
    parser.add_argument(
        "--out", type=Path, default=Path("textures"), help="folder of the results (default: textures)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--itself", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    return exit_status(lambda: (measure_one if args.one else evaluate)(args))


def evaluate(args: argparse.Namespace) -> None:
    check_least(args, pairs=1, seed=0, size=32)
    check_folder(args.out)
    from eval.matching.photographs import textures

    planned = [
        (kind, seed, itself)
        for kind in args.kinds
        for itself in (False, True)
        for seed in range(args.seed, args.seed + args.pairs)
    ]
    rows = [measure_pairs(args, *one) for one in tqdm(planned, desc="pairs", disable=args.quiet)]
    write_csv(args.out / "textures.csv", textures.COLUMNS, rows)
    print(textures.summary(rows))


def measure_pairs(args: argparse.Namespace, kind: str, seed: int, itself: bool) -> dict:
    command = [sys.executable, __file__, "--one", "--kinds", kind, "--seed", str(seed), "--size"]
    command += [*map(str, args.size), *(["--itself"] if itself else [])]
    command += ["--photographs", str(args.photographs)] if args.photographs else []
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise ValueError((run.stderr.strip().splitlines() or ["no message"])[-1])
    return {"kind": kind, "pair": seed, "itself": int(itself), **json.loads(run.stdout)}


def measure_one(args: argparse.Namespace) -> None:
    import resource

    from eval.matching.photographs import textures

    photographs = textures.photographs_to_print(args.photographs)
    pair = textures.texture_pair(args.kinds[0], args.seed, args.itself, tuple(args.size), photographs)
    row = textures.measure_texture(pair)
    print(json.dumps(row | {"megabytes": round(peak_megabytes(resource.getrusage(resource.RUSAGE_SELF)))}))


if __name__ == "__main__":
    sys.exit(main())
