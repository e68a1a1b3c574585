"""Find the objects that two pictures both show: python scripts/match.py IMAGE0 IMAGE1"""

from matching.cli.start import report_interrupts

report_interrupts()

from eval.matching.command import main  # noqa: E402
from matching.cli.exits import run_as_process  # noqa: E402

run_as_process(main)
