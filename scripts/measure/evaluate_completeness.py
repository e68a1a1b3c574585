"""Do phone photographs of covers count as whole copies, despite bends, reflections and light?

DATA holds retrieval/gallery and retrieval/queries; NNN_phone.jpg shows NNN.jpg.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from eval.common.options import exit_status
from matching.objects.copies import count_copies
from matching.pictures.images import read_picture
from matching.pipelines.pair import match_pictures


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder that holds retrieval")
    args = parser.parse_args(argv)
    return exit_status(lambda: evaluate(args.data / "retrieval"))


def evaluate(folder: Path) -> None:
    queries = sorted((folder / "queries").glob("*.jpg"))
    if not queries:
        raise ValueError(f"{folder / 'queries'} must hold pictures, found none")
    right = 0
    for query in tqdm(queries):
        cover = folder / "gallery" / f"{query.stem.split('_')[0]}.jpg"
        objects = match_pictures(read_picture(cover), read_picture(query)).objects
        n = len(count_copies(objects).copies)
        right += n == 1
        if n != 1:
            values = [round(o.completeness.value, 2) for o in objects if o.completeness]
            print(f"{query.name}: {n} copies, completeness {values}")
    print(f"{right} of {len(queries)} photographs show one copy")


if __name__ == "__main__":
    sys.exit(main())
