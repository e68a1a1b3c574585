"""Match many pairs of pictures, with the results in one database; the same as gdl-match collection."""

from matching.cli.start import run

if __name__ == "__main__":
    run("collection")
