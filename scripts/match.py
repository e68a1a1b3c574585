"""Find the objects that two pictures both show: python scripts/match.py IMAGE0 IMAGE1"""

import sys

from eval.matching.command import main

sys.exit(main())
