"""COLMAP's incremental mapping from our matches, from its own SIFT, and from its own SIFT, grouped.

The photographs are those of sfm/, or of another scene. Prints how much is registered, and how well.
"""

import argparse
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from eval.common.options import add_options
from eval.common.tables import format_markdown
from matching.cli.main import main as gdl_match
from matching.collection import FeatureCache, match_collection, plan_folder
from matching.collection.reports.export_sfm import export_for_sfm

HEAD = ("matches", "models", "registered", "points", "track length", "reprojection error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data")
    parser.add_argument(
        "--images", type=Path, metavar="DIR", help="photographs of a scene (default: sfm/ of the data)"
    )
    parser.add_argument("--static", action="store_true", help="leave out what moved")


def run(args: argparse.Namespace) -> None:
    import pycolmap

    pycolmap.logging.minloglevel = 2
    images = args.images or args.data / "sfm"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache = FeatureCache(folder / "cache", 10**11)
        match_collection(plan_folder(images), folder / "c.db", cache=cache)
        (ours,) = export_for_sfm(folder / "c.db", folder, "colmap", args.static)
        sift = folder / "sift.db"
        pycolmap.extract_features(sift, images)
        pycolmap.match_exhaustive(sift)
        with redirect_stdout(None):
            gdl_match(["group", str(sift), "--out", str(folder / "grouped"), "--quiet", "--no-figure"])
        databases = {
            "gdl-match": ours,
            "COLMAP's SIFT": sift,
            "the same, grouped": folder / "grouped/groups.db",
        }
        rows = [
            [name, *rebuild(database, images, folder / str(k))]
            for k, (name, database) in enumerate(databases.items())
        ]
    print(format_markdown(HEAD, rows))


def rebuild(database: Path, images: Path, out: Path) -> list[str]:
    """The columns of HEAD about what COLMAP reconstructs from a database."""
    import pycolmap

    out.mkdir()
    options = pycolmap.IncrementalPipelineOptions()
    options.random_seed = 0
    models = pycolmap.incremental_mapping(database, images, out, options).values()
    if not models:
        return ["0", "", "", "", ""]
    best = max(models, key=lambda model: model.num_reg_images())
    track, error = best.compute_mean_track_length(), best.compute_mean_reprojection_error()
    numbers = len(models), best.num_reg_images(), best.num_points3D()
    return [*map(str, numbers), f"{track:.2f}", f"{error:.2f} px"]
