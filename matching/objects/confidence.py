"""How sure an object is, in one of three words, by its score.

The bounds lie where objects of pairs of unrelated photographs end; docs/benchmarks/unrelated.md has the
measurement, and `scripts/measure/evaluate_unrelated.py` repeats it.
"""

from __future__ import annotations

SURE, LIKELY, DOUBTFUL = "sure", "likely", "look at it"
WORDS = (SURE, LIKELY, DOUBTFUL)  # the surest first
SURE_SCORE = 0.45
LIKELY_SCORE = 0.35


def confidence(score: float) -> str:
    """Tell how sure an object is.

    Parameters
    ----------
    score : float
        Its score, in [0, 1].

    Returns
    -------
    str
        One of WORDS.

    Examples
    --------
    >>> confidence(0.71), confidence(0.40), confidence(0.19)
    ('sure', 'likely', 'look at it')
    """
    if score >= SURE_SCORE:
        return SURE
    return LIKELY if score >= LIKELY_SCORE else DOUBTFUL
