"""How sure an object is, as one of three words, by its number of false alarms.

docs/benchmarks/unrelated.md says how often each word is right.
"""

from __future__ import annotations

SURE, LIKELY, DOUBTFUL = "sure", "likely", "look at it"
WORDS = (SURE, LIKELY, DOUBTFUL)  # the surest first
# log10 of the largest number of false alarms of an object by its points alone. 357 of 368 "sure" objects were
# right. 37 of 405 were "likely" or "look at it", two of them wrong: too few to choose these bounds on data.
LIKELY_LOG_NFA, SURE_LOG_NFA = -4.0, -8.0
# log10 of the largest number of false alarms of a sure object by its pixels; that of a likely one is 0. Of
# 112 pairs with alike elements in different pictures, the five false objects had -2.2 and more.
SURE_PIXELS_LOG_NFA = -4.0
DOUBTFUL_FACTOR = 0.49  # of the certainty of a doubtful object: then it is below that of a likely one


def confidence(log_nfa: float | None, is_doubtful: bool | None = None) -> str | None:
    """Say how sure an object is, one of WORDS; None if nothing is known.

    is_doubtful: whether its pixels leave doubt; None without pixels, so that its points decide.
    """
    if log_nfa is None and is_doubtful is None:
        return None
    return name_certainty(measure_certainty(log_nfa, is_doubtful))


def measure_certainty(log_nfa: float | None, is_doubtful: bool | None = None) -> float:
    """Measure in [0, 1] how sure an object is, from log10 of its number of false alarms.

    What is missing to 1 halves with every power of ten that leads from the bound of one word to that of the
    next, so "likely" begins at 0.5, and "sure" at 0.75. is_doubtful as for `confidence`.
    """
    evidence = -(log_nfa or 0.0)
    if is_doubtful is None:
        halvings = max(evidence, 0.0) / -LIKELY_LOG_NFA
    else:
        halvings = 1 + max(evidence, 0.0) / -SURE_PIXELS_LOG_NFA
    return float((1 - 0.5**halvings) * (DOUBTFUL_FACTOR if is_doubtful else 1))


def name_certainty(certainty: float) -> str:
    """Say how sure a certainty is, one of WORDS."""
    return SURE if certainty >= 0.75 else LIKELY if certainty >= 0.5 else DOUBTFUL
