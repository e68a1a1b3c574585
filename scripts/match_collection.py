"""Match many pairs of pictures into one database; the same as gdl-match collection."""

from matching.cli.commands.collection import main
from matching.cli.exits import run_as_process

if __name__ == "__main__":
    run_as_process(main)
