"""How often tests against the best ranker err, and how often they find what is there.

    python -m benchmarks.error_rates [repetitions]

Per-query values are skewed, have an atom at 0 and are correlated among rankers, as nDCG and AP
are; in one column they are normal instead and one ranker has ten times the spread. Four tests are
compared at level .05, at 2, 5, 9, 15 and 25 rankers:

- "best, Holm": t tests against the best ranker alone, Holm-corrected (rankwise 0.1);
- "max-t", "holm", "benjamini-hochberg": the corrections of ``compare``, over all pairs.

Columns: the share of samples with any false rejection when all rankers are equal, among all pairs
that the test looks at and among those of the apparent best; any false rejection when all rankers
have the same mean but one has ten times the spread; any when half of the rankers are worse, and
equal among themselves as the others are; the share of detected differences when one ranker is
better than all others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from rankwise.metrics.statistics.all_pairs import max_t, pair_differences
from rankwise.metrics.statistics.paired import benjamini_hochberg, holm
from rankwise.metrics.statistics.stratified import StratifiedMeans, stratified_means, t_p_values

LEVEL = 0.05
N_QUERIES, N_FOLDS = 50, 5
EFFECT = 0.5  # of a ranker that is better, in standard deviations of the ranker's own part
Sample = np.ndarray  # of shape (n_queries, n_rankers)
FOLDS = np.arange(N_QUERIES) % N_FOLDS


def sample(rng: np.random.Generator, shifts: np.ndarray) -> Sample:
    """Values of correlated rankers on queries of differing difficulty, in [0, 1].

    Rankers with equal ``shifts`` are exchangeable: a value is a function of the query's
    difficulty and of an independent part of each ranker.
    """
    difficulty = 1.5 * rng.standard_normal((N_QUERIES, 1))
    own = rng.exponential(size=(N_QUERIES, len(shifts))) - 1.0  # skewed
    latent = difficulty + own + shifts - 0.5
    return np.clip(np.exp(latent) / (1.0 + np.exp(latent)) - 0.05, 0.0, None)


def sample_of_unequal_spread(rng: np.random.Generator, n_rankers: int) -> Sample:
    """Normal values of equal means; those of the last ranker have ten times the spread."""
    spread = np.where(np.arange(n_rankers) == n_rankers - 1, 3.0, 0.3)
    return rng.standard_normal((N_QUERIES, 1)) + spread * rng.standard_normal(
        (N_QUERIES, n_rankers)
    )


def against_the_best(values: Sample, *_: object) -> np.ndarray:
    """The test of rankwise 0.1: entry (i, j) is a rejection; only the best ranker's row has any."""
    k = values.shape[1]
    best = _best(values)
    differences = values - values[:, [best]]
    others = np.delete(np.arange(k), best)
    p_values = t_p_values(stratified_means(differences[:, others]))
    rejected = np.zeros((k, k), dtype=bool)
    rejected[best, others] = holm(p_values) < LEVEL
    return rejected | rejected.T


def by_max_t(values: Sample, pairs: StratifiedMeans, seed: int) -> np.ndarray:
    """Single-step max-t over all pairs; 199 draws have an exact level of .05."""
    found = max_t(values, pairs, strata=FOLDS, n_resamples=199, random_state=seed)
    return found.p_values <= LEVEL


def _over_all_pairs(correct: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    def test(values: Sample, pairs: StratifiedMeans, _: int) -> np.ndarray:
        upper = np.triu_indices(values.shape[1], 1)
        rejected = np.zeros(pairs.mean.shape, dtype=bool)
        rejected[upper] = correct(t_p_values(pairs)[upper]) < LEVEL
        return rejected | rejected.T

    return test


TESTS: dict[str, Callable[..., np.ndarray]] = {
    "best, Holm": against_the_best,
    "max-t": by_max_t,
    "holm": _over_all_pairs(holm),
    "benjamini-hochberg": _over_all_pairs(benjamini_hochberg),
}


class Rates(NamedTuple):
    """What one line of the table shows."""

    equal: float
    equal_of_best: float
    unequal_spread: float
    half_worse: float
    power: float


def rates(n_rankers: int, repetitions: int, seed: int = 0) -> dict[str, Rates]:
    """Error rates and power, by test."""
    rng = np.random.default_rng([seed, n_rankers])
    equal = np.zeros(n_rankers)
    halves = np.where(np.arange(n_rankers) < (n_rankers + 1) // 2, 0.0, -2.0)
    one = np.where(np.arange(n_rankers) == 0, EFFECT, 0.0)
    counts = {name: np.zeros(len(Rates._fields)) for name in TESTS}

    def rejections(values: Sample, repetition: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        pairs = pair_differences(values, FOLDS)
        for name, test in TESTS.items():
            yield counts[name], test(values, pairs, repetition)

    for repetition in range(repetitions):
        values = sample(rng, equal)
        best = _best(values)
        for count, rejected in rejections(values, repetition):
            count[:2] += rejected.any(), rejected[best].any()
        values = sample_of_unequal_spread(rng, n_rankers)
        for count, rejected in rejections(values, repetition):
            count[2] += rejected.any()
        for count, rejected in rejections(sample(rng, halves), repetition):
            count[3] += (rejected & (halves[:, None] == halves)).any()
        values = sample(rng, one)
        if _best(values) == 0:
            for count, rejected in rejections(values, repetition):
                count[4] += rejected[0].sum() / (n_rankers - 1)
    return {name: Rates(*(count / repetitions).tolist()) for name, count in counts.items()}


def _best(values: Sample) -> int:
    return int(np.argmax(stratified_means(values, FOLDS).mean))


def main(repetitions: int = 2000) -> None:
    """Print the table."""
    print(f"{N_QUERIES} queries in {N_FOLDS} folds, {repetitions} samples a line; ", end="")
    print(f"sampling error of .05: {np.sqrt(0.05 * 0.95 / repetitions):.4f}")
    print("rankers  test                all equal  of the best  unequal spread  half worse  power")
    for n_rankers in (2, 5, 9, 15, 25):
        for name, rate in rates(n_rankers, repetitions).items():
            line = f"{n_rankers:7d}  {name:18s}  {rate.equal:9.4f}  {rate.equal_of_best:11.4f}"
            print(
                f"{line}  {rate.unequal_spread:14.4f}  {rate.half_worse:10.4f}  {rate.power:5.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
