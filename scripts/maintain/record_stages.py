"""Record the results of each stage of a match anew, after the numbers of those that changed have been raised.

The numbers are STAGES in matching/output/provenance.py: python scripts/maintain/record_stages.py
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import numpy as np

from eval.matching.stage_results import RECORD, find_changes, record
from matching.output.provenance import STAGES


def main() -> int:
    """Write the record, unless a stage has changed whose number has not."""
    if RECORD.exists():
        known = dict(np.load(RECORD))
        for stage in find_changes(known):
            if STAGES[stage] == known[f"number/{stage}"]:
                print(
                    f"the results of {stage} have changed: raise its number in matching/output/provenance.py"
                )
                return 1
    record(RECORD)
    print(f"{RECORD}: {RECORD.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
