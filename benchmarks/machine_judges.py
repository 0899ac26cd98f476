"""Coverage of intervals from few human and many machine judgements.

    python -m benchmarks.machine_judges [repetitions]

Human values of a query are P@5 of documents that are relevant with a chance of the query's own, .3
on average; the machine judges the same documents. "careful": it errs in 5 to 10 % of the documents,
about equally often either way; "lenient": it calls two of five irrelevant documents relevant;
"noise": it tosses coins; "adversarial": it reverses most judgements. Columns: number of queries
with human judgements (2,000 further ones have those of the machine only); the share of 95 %
intervals that hold the true mean, of the machine alone, of the published normal interval, and of
``prediction_powered_mean``; the correlation of human and machine values; how much narrower the
interval is than that of the human values alone.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from rankwise.metrics.significance import prediction_powered_mean

N_MACHINE, DEPTH, LEVEL = 2000, 5, 0.95
NORMAL = 1.959963984540054
# Chance that the machine calls an irrelevant, and a relevant document relevant.
JUDGES = {
    "careful": (0.05, 0.9),
    "lenient": (0.4, 0.95),
    "noise": (0.5, 0.5),
    "adversarial": (0.9, 0.2),
}
SIZES = (20, 50, 100, 500)
SHIFT = -1.0  # of the log odds of the chances


def true_mean() -> float:
    """Mean chance over queries, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return float((weights / (1.0 + np.exp(-SHIFT - nodes))).sum() / weights.sum())


class Coverage(NamedTuple):
    """Coverage of three intervals, mean correlation, mean saving of width."""

    machine: float
    normal: float
    powered: float
    correlation: float
    saving: float


def sample(judge: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """P@5 of n queries by human and by machine judgements."""
    chance = 1.0 / (1.0 + np.exp(-SHIFT - rng.standard_normal(n)))
    relevant = rng.binomial(DEPTH, chance)
    wrong, right = JUDGES[judge]
    called = rng.binomial(relevant, right) + rng.binomial(DEPTH - relevant, wrong)
    return relevant / DEPTH, called / DEPTH


def normal_half_width(y: np.ndarray, f: np.ndarray, g: np.ndarray, weight: float) -> float:
    """Half of the published interval."""
    return NORMAL * math.sqrt(weight**2 * g.var() / len(g) + (y - weight * f).var() / len(y))


def coverage(
    judge: str, n: int, repetitions: int, rng: np.random.Generator, n_machine: int = N_MACHINE
) -> Coverage:
    """Share of samples whose intervals hold the true mean."""
    rows, truth = [], true_mean()
    for _ in range(repetitions):
        (y, f), (_, g) = sample(judge, n, rng), sample(judge, n_machine, rng)
        found = prediction_powered_mean(y, f, g, confidence_level=LEVEL)
        error = abs(found.mean - truth)
        every = np.concatenate([f, g])
        alone = NORMAL * every.std() / math.sqrt(len(every))
        rows.append((
            abs(every.mean() - truth) <= alone,
            error <= normal_half_width(y, f, g, found.weight),
            found.low <= truth <= found.high,
            found.correlation,
            found.saving,
        ))  # fmt: skip
    return Coverage(*np.array(rows, dtype=float).mean(axis=0).tolist())


def main(repetitions: int) -> None:
    """Print the table."""
    print(f"{repetitions} samples; coverage of 95 % intervals of a mean of P@5")
    print(f"{'machine':<13}{'n':>5}{'alone':>9}{'normal':>9}{'powered':>9}{'r':>9}{'narrower':>10}")
    for judge in JUDGES:
        for n in SIZES:
            found = coverage(judge, n, repetitions, np.random.default_rng(0))
            numbers = "".join(f"{value:9.3f}" for value in found[:4])
            print(f"{judge:<13}{n:>5}{numbers}{found.saving:>10.1%}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
