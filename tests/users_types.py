"""What a type checker knows of what users call, so that editors complete it: .ci/lint runs mypy on it."""

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from gdl_core import GraphDegreeLinkage
from matching import (
    MatchConfig,
    MatchedObject,
    MatchResult,
    find_repeats,
    group_matches,
    match,
    read_matches,
)
from matching.objects.frames import Motion


def use_clusterer() -> None:
    """A fitted clusterer is still one."""
    model = GraphDegreeLinkage(3).fit([[0.0], [1.0]])
    assert_type(model, GraphDegreeLinkage)
    assert_type(model.labels_, NDArray[np.int64])
    assert_type(model.cut(2), NDArray[np.int64])


def use_matching() -> None:
    """A result of a match completes."""
    result = match("a.png", "b.png", MatchConfig.paper())
    assert_type(result, MatchResult)
    assert_type(result.cluster, NDArray[np.int64])
    assert_type(result.objects, tuple[MatchedObject, ...])
    assert_type(result.objects[0].motion, Motion | None)
    assert_type(result.save("results"), Path)
    assert_type(find_repeats("a.png"), MatchResult)
    assert_type(MatchConfig().candidates.max_matches, int)
    for pair in read_matches("database.db"):
        assert_type(group_matches(pair.xy0, pair.xy1), MatchResult)
