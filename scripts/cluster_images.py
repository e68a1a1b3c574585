"""The same as: python -m eval images"""

import sys

from eval.door import main

if __name__ == "__main__":
    sys.exit(main(["images", *sys.argv[1:]]))
