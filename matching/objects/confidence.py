"""How sure an object is, as one of three words, by its number of false alarms.

docs/benchmarks/unrelated.md says how often each word is right.
"""

import math

from matching.settings import MAX_NFA

SURE, LIKELY, DOUBTFUL = "sure", "likely", "look at it"
WORDS = (SURE, LIKELY, DOUBTFUL)  # the surest first
SURE_LOG_NFA = -8.0
LIKELY_LOG_NFA = (SURE_LOG_NFA + math.log10(MAX_NFA.default)) / 2  # halfway from the bound of objects


def confidence(log_nfa: float) -> str:
    """Say how sure an object is, one of WORDS, from log10 of its number of false alarms."""
    if log_nfa <= SURE_LOG_NFA:
        return SURE
    return LIKELY if log_nfa <= LIKELY_LOG_NFA else DOUBTFUL
