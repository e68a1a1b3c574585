"""Match many pairs of pictures into one database; the same as gdl-match collection."""

import sys

from matching.cli.commands.collection import main

if __name__ == "__main__":
    sys.exit(main())
