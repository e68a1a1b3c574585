"""The same as: python -m eval sweep"""

import sys

from eval.door import main

if __name__ == "__main__":
    sys.exit(main(["sweep", *sys.argv[1:]]))
