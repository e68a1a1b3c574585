"""COLMAP's incremental mapping from our matches and from its own SIFT: how much it registers, and how well.

python scripts/collection/compare_sfm.py $GDL_DATA/sfm
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import tempfile
from pathlib import Path

from eval.common.options import exit_status
from matching.collection import FeatureCache, match_collection, plan_folder
from matching.collection.reports.export_sfm import export_for_sfm


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("images", type=Path, help="folder of photographs of one scene")
    parser.add_argument("--static", action="store_true", help="leave out what moved")
    return exit_status(lambda: measure(parser.parse_args(argv)))


def measure(arguments):
    import pycolmap

    pycolmap.logging.minloglevel = 2
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("cache", "ours", "sift"):
            (folder / name).mkdir()
        cache = FeatureCache(folder / "cache", 10**11)
        match_collection(plan_folder(arguments.images), folder / "c.db", cache=cache)
        (ours,) = export_for_sfm(folder / "c.db", folder / "ours", "colmap", arguments.static)
        sift = folder / "sift.db"
        pycolmap.extract_features(sift, arguments.images)
        pycolmap.match_exhaustive(sift)
        print(
            "| matches | models | registered | points | track length | reprojection error |\n|---"
            + "|---" * 5
            + "|"
        )
        for name, database in (("gdl-match", ours), ("COLMAP's SIFT", sift)):
            report(pycolmap, name, database, arguments.images, folder / name)


def report(pycolmap, name, database, images, out):
    out.mkdir()
    options = pycolmap.IncrementalPipelineOptions()
    options.random_seed = 0
    models = pycolmap.incremental_mapping(database, images, out, options).values()
    if not models:
        print(f"| {name} | 0 | | | | |")
        return
    best = max(models, key=lambda model: model.num_reg_images())
    track, error = best.compute_mean_track_length(), best.compute_mean_reprojection_error()
    numbers = f"{best.num_reg_images()} | {best.num_points3D()} | {track:.2f} | {error:.2f} px"
    print(f"| {name} | {len(models)} | {numbers} |")


if __name__ == "__main__":
    sys.exit(main())
