"""The `gdl-match` command: the matching pipeline, with the demo's pictures and the rivals handed to it."""

import sys

# by name alone: their modules load only when one is asked for
RIVALS = ("acc", "graph-shift", "spectral-matching", "ransac", "hdbscan", "average-linkage")


def main(argv=None):
    """Run the command line and return its exit status. `gdl-match serve` runs the web page."""
    from matching.exits import exit_status

    return exit_status("gdl-match", lambda: _run(argv), owns_process=argv is None)


def _run(argv):
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ["serve"]:
        from matching.serve.command import main as serve

        return serve(arguments[1:])
    from matching import cli

    return cli.main(argv, demo_pair=demo_pair, rivals={name: _finder(name) for name in RIVALS})


def _finder(name):
    def find_clusters(candidates, config):
        from eval.methods import find_rival_clusters

        return find_rival_clusters(name, candidates, config)

    return find_clusters


def demo_pair():
    """Two composite pictures (960, 960, 3) of shipped photographs with four objects in common, the second
    one bent.
    """
    from synth.composite import composite_pair
    from synth.photographs import shipped

    pair = composite_pair(shipped(), n_common=4, sigma=10.0, seed=5)
    return pair.image0, pair.image1


if __name__ == "__main__":
    sys.exit(main())
