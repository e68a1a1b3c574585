"""Parameters of the rivals: the same random search for each, on composites that no test uses.

Every rival gets as many draws as any other, alone and with the stages around it: the values in the code,
draws from its ranges, then draws near the best of these. The parameters with the best mean F over the tuning
trials win. Tuning seeds are 1000 to 1007, the sweep's are `eval.matching.synthetic.sweep.FIRST_SEED` and up.
"""

from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from tqdm import tqdm

from eval.matching.baselines.distances import distance_matrix
from eval.matching.baselines.registry import METHODS, PARAMS, PARAMS_WITH_STAGES
from eval.matching.metrics import score_matches
from eval.matching.synthetic.stages import SUFFIX, rival_clustering
from eval.matching.synthetic.trials import PairSettings, Trial, label_true_candidates
from matching._common.threads import limit_threads
from matching.grouping import replace_clustering
from matching.pipelines.pair import find_objects
from synth.photographs import Photographs

FIRST_TUNING_SEED = 1000

# (n_outliers, sigma, n_common): over the ranges of the sweep
TRIALS = (
    (400, 5, 1),
    (1600, 10, 3),
    (800, 15, 5),
    (1200, 0, 3),
    (1200, 20, 1),
    (2000, 10, 5),
    (800, 5, 2),
    (1600, 15, 4),
)

# a pair of numbers is a logarithmic range, of whole numbers if both are whole; a tuple of strings is a choice
RANGES: dict[str, dict[str, tuple]] = {
    "acc": {
        "threshold": (1.0, 40.0),
        "cap": (2, 100),
        "min_size": (4, 60),
        "min_area": (50.0, 20_000.0),
    },
    "graph-shift": {
        "sigma_s": (0.1, 1.2),
        "min_density": (0.1, 0.95),
        "min_affinity": (0.05, 1.0),
        "min_size": (3, 60),
    },
    "spectral-matching": {
        "beta": (2.0, 80.0),
        "min_confidence": (0.001, 0.5),
        "min_eigenvalue": (2.0, 60.0),
        "same_point": (0.1, 4.0),
    },
    "ransac": {
        "threshold": (1.0, 15.0),
        "min_inliers": (8, 80),
        "sampler": ("uniform", "prosac", "napsac"),
        "max_models": (5, 60),
    },
    "hdbscan": {
        "min_cluster_size": (5, 80),
        "min_samples": (2, 40),
        "cluster_selection_method": ("eom", "leaf"),
        "max_core_distance": (0.5, 40.0),
    },
    "average-linkage": {"threshold": (2.0, 300.0), "min_size": (4, 100)},
}


@dataclass(frozen=True)
class Tuned:
    """The best parameters of a rival and their mean F, beside the mean F of the values in the code."""

    method: str
    params: object
    f: float
    f_before: float


def tuning_trials(photographs: Photographs) -> list[Trial]:
    """The candidates of all tuning trials, with their truth."""

    def trial(k: int, n_outliers: int, sigma: float, n_common: int) -> Trial:
        settings = PairSettings(sigma, n_common, FIRST_TUNING_SEED + k)
        return label_true_candidates(settings.make(photographs)).with_outliers(n_outliers)

    return [trial(k, *numbers) for k, numbers in enumerate(tqdm(TRIALS, desc="tuning pairs"))]


def tune(method: str, trials: list[Trial], n_draws: int, n_jobs: int) -> Tuned:
    """Random search over the ranges of one rival, then as many draws near the best so far.

    method : a name of METHODS, or one followed by "+stages"
    In a tie the earlier draw wins, and the values in the code come first.
    """
    name = method.removesuffix(SUFFIX)
    default, ranges = PARAMS_WITH_STAGES[name] if method != name else PARAMS[name](), RANGES[name]
    rng = np.random.default_rng(0)

    def mean_fs(draws: list) -> list[float]:
        run = Parallel(n_jobs=n_jobs, return_as="generator")
        jobs = (delayed(mean_f)(method, params, trials) for params in draws)
        return list(tqdm(run(jobs), total=len(draws), desc=method))

    draws = [default, *(replace(default, **draw(ranges, rng)) for _ in range(n_draws))]
    means = mean_fs(draws)
    best = draws[int(np.argmax(means))]
    near = [replace(best, **draw_near(best, ranges, rng)) for _ in range(n_draws)]
    draws, means = draws + near, means + mean_fs(near)
    k = int(np.argmax(means))
    return Tuned(method, draws[k], means[k], means[0])


def mean_f(method: str, params, trials: list[Trial]) -> float:
    """Mean F of one method over the lists of the trials."""
    with limit_threads(1):
        labels = [_labels(method, params, trial) for trial in trials]
    scores = [
        score_matches(found >= 0, trial.instance >= 0).f for found, trial in zip(labels, trials, strict=True)
    ]
    return float(np.mean(scores))


def _labels(method: str, params, trial: Trial) -> NDArray[np.int64]:
    name = method.removesuffix(SUFFIX)
    if name == method:
        return METHODS[name](distance_matrix(trial.candidates), trial.candidates, params)
    stages = replace_clustering(rival_clustering(name, params))
    groups = find_objects(trial.candidates, trial.pool, stages=stages)[1]
    return groups.labels[: len(trial.instance)]


def draw(ranges: dict[str, tuple], rng: np.random.Generator) -> dict:
    """Draw one value from each range."""
    return {name: _value(values, rng) for name, values in ranges.items()}


def draw_near(params, ranges: dict[str, tuple], rng: np.random.Generator) -> dict:
    """Draw values within about a third of the given ones and inside the ranges; choices stay as they are."""
    result = {}
    for name, values in ranges.items():
        if isinstance(values[0], str):
            continue
        value = float(np.clip(getattr(params, name) * np.exp(rng.normal(0, 0.3)), *values))
        result[name] = _round(value, values)
    return result


def _value(values: tuple, rng: np.random.Generator):
    if isinstance(values[0], str):
        return str(rng.choice(values))
    return _round(float(np.exp(rng.uniform(*np.log(values)))), values)


def _round(value: float, values: tuple) -> int | float:
    return round(value) if isinstance(values[0], int) else float(f"{value:.3g}")
