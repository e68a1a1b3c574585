"""How sure an object is, in one of three words, by its score and how many matches it has.

The bounds lie where objects of pairs of unrelated photographs end; docs/benchmarks/unrelated.md has the
measurement, and `scripts/evaluate_unrelated.py` repeats it.
"""

from __future__ import annotations

SURE, LIKELY, DOUBTFUL = "sure", "likely", "look at it"
WORDS = (SURE, LIKELY, DOUBTFUL)  # the surest first
SURE_SCORE, SURE_MATCHES = 0.45, 20
LIKELY_SCORE = 0.35


def confidence(score: float, n_matches: int) -> str:
    """Tell how sure an object is.

    Parameters
    ----------
    score : float
        Its score, in [0, 1].
    n_matches : int
        How many matches it has.

    Returns
    -------
    str
        One of WORDS.

    Examples
    --------
    >>> confidence(0.71, 212), confidence(0.71, 12), confidence(0.19, 200)
    ('sure', 'likely', 'look at it')
    """
    if score >= SURE_SCORE and n_matches >= SURE_MATCHES:
        return SURE
    return LIKELY if score >= LIKELY_SCORE else DOUBTFUL
