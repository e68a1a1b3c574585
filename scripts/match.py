"""Find the objects that two pictures both show: python scripts/match.py IMAGE0 IMAGE1"""

from eval.matching.command import main
from matching.cli.exits import run_as_process

run_as_process(main)
