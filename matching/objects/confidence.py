"""How sure an object is, as one of three words, by its number of false alarms.

docs/benchmarks/unrelated.md says how often each word is right.
"""

from matching.grouping.significance import MAX_LOG_NFA

SURE, LIKELY, DOUBTFUL = "sure", "likely", "look at it"
WORDS = (SURE, LIKELY, DOUBTFUL)  # the surest first
# "look at it" takes the evidence of any object, "likely" twice as much, and "sure" four times as much.
LIKELY_LOG_NFA = 2 * MAX_LOG_NFA
SURE_LOG_NFA = 2 * LIKELY_LOG_NFA


def confidence(log_nfa: float) -> str:
    """Say how sure an object is, one of WORDS, from log10 of its number of false alarms."""
    if log_nfa <= SURE_LOG_NFA:
        return SURE
    return LIKELY if log_nfa <= LIKELY_LOG_NFA else DOUBTFUL
