"""Algorithm 3 as the paper describes it, with plain dictionaries, to check ``agdl`` on connected graphs."""

import numpy as np
from definitions import affinity


def plain_agdl(weights, labels, k_nearest, min_affinity=0.0):
    """Merge by a dense array of weights -> children, affinities."""
    members = {c: np.flatnonzero(labels == c) for c in range(labels.max() + 1)}
    values = {}

    def of(a, c):
        key = min(a, c), max(a, c)
        if key not in values:
            values[key] = affinity(weights, members[a], members[c])
        return values[key]

    def nearest(a, among):
        return {c for _, c in sorted((-of(a, c), c) for c in among if c != a and of(a, c) > 0)[:k_nearest]}

    def good_pairs(near):
        pairs = {(min(a, c), max(a, c)) for a in near for c in near[a]}
        return {pair for pair in pairs if of(*pair) >= min_affinity}

    near = {c: nearest(c, members) for c in members}
    children, affinities = [], []
    while len(members) > 1:
        pairs = good_pairs(near)
        if not pairs:
            near = {c: nearest(c, members) for c in members}
            pairs = good_pairs(near)
        if not pairs:
            break
        a, b = min(pairs, key=lambda pair: (-of(*pair), pair))
        new = labels.max() + 1 + len(children)
        children.append((a, b))
        affinities.append(of(a, b))
        members[new] = np.concatenate([members.pop(a), members.pop(b)])
        union = (near.pop(a) | near.pop(b)) - {a, b}
        for c in near:
            if near[c] & {a, b}:
                near[c] = near[c] - {a, b} | {new}
        near[new] = nearest(new, union)
    return np.array(children).reshape(-1, 2), np.array(affinities)
