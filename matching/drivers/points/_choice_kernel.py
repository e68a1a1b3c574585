"""A compiled loop over matches, documented where it is called."""

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

MAX_SWEEPS = 20  # of choices in turn: they end by themselves after three to six


@njit
def choose_in_turn(costs: Array, neighbours: Array, starts: Array, price: Scalar, labels: Array) -> None:
    """Change labels (n,): each match in turn takes the row of costs (p, n) that is cheapest for it.

    Its neighbours are neighbours[starts[i]:starts[i + 1]]; each one with another label costs `price`.
    """
    for _ in range(MAX_SWEEPS):
        is_changed = False
        for i in range(len(labels)):
            chosen = labels[i]
            lowest = _total(costs, neighbours, starts, price, labels, i, chosen)
            for p in range(len(costs)):
                if p != labels[i] and costs[p, i] - price * (starts[i + 1] - starts[i]) < lowest:
                    total = _total(costs, neighbours, starts, price, labels, i, p)
                    if total < lowest:
                        chosen, lowest = p, total
            is_changed |= chosen != labels[i]
            labels[i] = chosen
        if not is_changed:
            break


@inner
def _total(
    costs: Array, neighbours: Array, starts: Array, price: Scalar, labels: Array, i: Scalar, label: Scalar
) -> Scalar:
    """What a label costs match i, less the price of all its neighbours."""
    agreeing = 0
    for k in range(starts[i], starts[i + 1]):
        agreeing += labels[neighbours[k]] == label
    return costs[label, i] - price * agreeing
