"""The one door to the experiments: `python -m eval` lists them, `python -m eval NAME` runs one.

An experiment is a module with two functions: `add_arguments(parser)` declares its options, and `run(args)`
measures, writes and prints, and returns an exit status, or None for 0. Its docstring is the text of --help.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Callable, Sequence

EXPERIMENTS = {  # name: (module of `eval`, what it measures)
    "sweep": ("matching.synthetic.command", "AGDL and its rivals on composite pairs with exact truth"),
    "ablation": ("matching.ablation.command", "what the clustering and each step contribute"),
    "paper-example": (
        "matching.synthetic.paper_example",
        "the paper's own example, by --paper and by default",
    ),
    "pairs": ("matching.photographs.pairs", "AGDL and its rivals on real pairs with labelled points"),
    "shelves": ("matching.photographs.shelves", "products on shelf photographs: found, and rejected"),
    "counts": ("matching.photographs.counts", "copies of a product, counted"),
    "repeats": ("matching.synthetic.repeats", "things that one picture shows several times, counted"),
    "integrity": ("matching.synthetic.integrity", "panels and lanes that a figure shows twice"),
    "tabletops": ("matching.synthetic.tabletops", "how far things move to be told apart, or bend"),
    "alike": (
        "matching.synthetic.alike",
        "down to which size and noise altered prints are told",
    ),
    "mirrored": ("matching.synthetic.mirrored", "mirrored objects, and false alarms"),
    "crops": ("matching.synthetic.crops", "pieces cut out of screens, found at their places"),
    "elements": ("matching.synthetic.elements", "buttons, icons and toggles, found at their places"),
    "views": ("matching.photographs.extreme_views", "very different views, compared with ASIFT"),
    "details": ("matching.photographs.details", "small prints in large photographs"),
    "logos": ("matching.photographs.logos", "logos in photographs from Flickr, compared with SIFT"),
    "labels": ("matching.photographs.labelling", "labels that a person has to correct"),
    "which": ("matching.photographs.which", "which of many alike references a label names"),
    "unrelated": ("matching.photographs.unrelated", "false objects in unrelated pictures"),
    "reliability": ("matching.photographs.reliability", "how often each word for an object is right"),
    "learned": ("matching.photographs.learned", "false objects of a learned matcher, with pictures or not"),
    "groups": ("matching.given", "matches from elsewhere, compared with sequential RANSAC"),
    "sfm": ("collections.sfm", "COLMAP's mapping from our matches and from its own"),
    "shortlist": ("collections.shortlist", "recall of shortlists for shelf photographs"),
    "index": ("collections.kept_index", "recall and cost of a kept index as it grows"),
    "tiles": ("collections.tiles", "neighbours among the tiles of a picture, compared with SIFT"),
    "uncertainty": (
        "matching.synthetic.uncertainty",
        "how often intervals of transforms cover the truth",
    ),
    "relations": ("collections.relations", "copies of photographs, found and named"),
    "collection": ("collections.throughput", "what a pair of a collection costs"),
    "roundoff": ("matching.roundoff", "what changes if inputs differ in the last bit"),
    "speed": ("matching.speed", "time of a match, step by step, compared with OpenCV's SIFT"),
    "images": ("images.command", "GDL and its rivals on image sets with known classes"),
    "clustering": ("clustering.command", "time, memory and quality of gdl_core, compared with others"),
    "paper-figures": ("images.paper_figures", "draw toy.png, degrees.png and robustness.png"),
    "draw-stages": ("drawing.stages", "draw the figures of docs/matching.md"),
    "draw-repeats": ("drawing.repeats", "draw the figure of docs/repeats.md"),
    "draw-gallery": ("drawing.gallery", "draw the figures of docs/gallery.md"),
    "recipe-pictures": ("drawing.recipe_pictures", "make the pictures of docs/recipes.md"),
    "sizes": ("maintain.sizes", "tokens of the packages, and the most that there may be"),
    "mutate": ("maintain.mutate", "change the code in small ways, and count what no test notices"),
}


class Parser(argparse.ArgumentParser):
    """A parser that refuses bad options with ValueError, for one line without the usage."""

    def error(self, message: str):
        raise ValueError(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiment that the first argument names, and return its exit status; list all without one."""
    name, *options = [*(sys.argv[1:] if argv is None else argv)] or ["--help"]
    if name in ("-h", "--help"):
        print("usage: python -m eval NAME [--help] ...\n")
        width = max(map(len, EXPERIMENTS))
        print("\n".join(f"{known:{width}}  {line}" for known, (_, line) in EXPERIMENTS.items()))
        return 0
    return exit_status(name, lambda: run_experiment(name, options))


def run_experiment(name: str, options: Sequence[str]) -> int | None:
    """Parse the options of an experiment and run it. Raises ValueError for bad ones, or an unknown name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"NAME must be one of {', '.join(EXPERIMENTS)}, got {name}")
    experiment = importlib.import_module(f"eval.{EXPERIMENTS[name][0]}")
    parser = Parser(
        prog=f"python -m eval {name}",
        description=experiment.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    experiment.add_arguments(parser)
    return experiment.run(parser.parse_args(options))


def exit_status(name: str, work: Callable[[], int | None]) -> int:
    """What the work returns, or 0; 2 after one line on bad input; 130 after one line if the user stops it;
    3 after the traceback of any other error.

    Python itself would end with 1, which some experiments use for a result.
    """
    try:
        return work() or 0
    except (ValueError, OSError) as error:
        print(f"eval {name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"eval {name}: stopped", file=sys.stderr)
        return 130
    except Exception:
        traceback.print_exc()
        return 3
