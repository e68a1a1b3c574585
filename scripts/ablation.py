"""The same as: python -m eval ablation"""

import sys

from eval.door import main

if __name__ == "__main__":
    sys.exit(main(["ablation", *sys.argv[1:]]))
