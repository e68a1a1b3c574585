"""The same as: python -m eval pairs"""

import sys

from eval.door import main

if __name__ == "__main__":
    sys.exit(main(["pairs", *sys.argv[1:]]))
