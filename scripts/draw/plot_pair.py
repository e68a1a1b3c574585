"""Draw one composite trial, stage by stage.

Writes detection.png (the pair, its candidates with their truth, and a detection, like the paper's Fig. 5),
graph.png, clusters.png (before and after outliers leave) and scores.png (like a figure of the paper's
supplement).
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

from eval.common.options import add_photograph_options, check_least, choose_photographs, exit_status
from eval.matching.synthetic.figures import draw_clusters, draw_detection, draw_graph, draw_scores, stages
from eval.matching.synthetic.methods import NAMES, SIFT_RANSAC
from eval.matching.synthetic.trials import PairSettings, label_true_candidates


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("pair"), help="folder of the results (default: pair)"
    )
    add_photograph_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the pair (default: 0)")
    parser.add_argument("--sigma", type=float, default=15.0, help="deformation in pixels (default 15)")
    parser.add_argument("--n-common", type=int, default=3, help="M, common objects (default 3)")
    parser.add_argument("--n-outliers", type=int, default=1200, help="false candidates (default 1200)")
    parser.add_argument("--copies", type=int, default=1, help="how often each object is in the second image")
    parser.add_argument("--hard", action="store_true", help="also turn, scale, relight and cover the objects")
    choices = [name for name in NAMES if name != SIFT_RANSAC]
    parser.add_argument(
        "--method",
        choices=choices,
        default="agdl",
        metavar="NAME",
        help=f"the method whose result is drawn: {', '.join(choices)} (default: agdl)",
    )
    args = parser.parse_args(argv)
    return exit_status(lambda: draw(args))


def draw(args: argparse.Namespace) -> None:
    check_least(args, seed=0, n_outliers=0)
    settings = PairSettings(args.sigma, args.n_common, args.seed, args.copies, args.hard)
    pair = settings.make(choose_photographs(args))
    trial = label_true_candidates(pair).with_outliers(args.n_outliers)
    draw_detection(pair, trial, args.method, args.out / "detection.png")
    found = stages(trial)
    draw_graph(pair, trial, found, args.out / "graph.png")
    draw_clusters(pair, trial, found, args.out / "clusters.png")
    draw_scores(found, args.out / "scores.png")
    for name in ("detection", "graph", "clusters", "scores"):
        print(args.out / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
