"""`python -m eval`: the experiments."""

import sys

from eval.door import main

if __name__ == "__main__":
    sys.exit(main())
