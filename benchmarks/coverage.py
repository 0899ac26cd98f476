"""How often nominal 95 % intervals of a mean over queries hold the true mean.

    python -m benchmarks.coverage [repetitions]

Compares ``t_intervals``, which leaderboards print, with BCa and percentile bootstrap intervals,
at 20, 50 and 106 queries, in one stratum and in five folds, on four kinds of per-query values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from rankwise.metrics.significance import bootstrap_intervals, t_intervals

SIZES = (20, 50, 106)
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
# Name: true mean, and a sampler. Skewness: 0.3, 0.8, 1.0 (with a fifth of zeros), 2.
POPULATIONS: dict[str, tuple[float, Draw]] = {
    "AP-like": (0.45, lambda rng, shape: rng.beta(1.35, 1.65, shape)),
    "nDCG-like": (0.25, lambda rng, shape: rng.beta(1.0, 3.0, shape)),
    "zeros": (0.24, lambda rng, shape: (rng.random(shape) < 0.8) * rng.beta(0.9, 2.1, shape)),
    "exponential": (1.0, lambda rng, shape: rng.exponential(size=shape)),
}


def coverage(
    population: str, n_queries: int, n_folds: int, repetitions: int, method: str = "t"
) -> float:
    """Share of samples whose interval holds the mean of the population."""
    mean, draw = POPULATIONS[population]
    rng = np.random.default_rng([n_queries, n_folds])
    values = draw(rng, (n_queries, repetitions))
    strata = np.arange(n_queries) % n_folds
    ends = (
        t_intervals(values, strata=strata)
        if method == "t"
        else bootstrap_intervals(values, strata=strata, method=method, n_resamples=1999)
    )
    return float(np.mean((ends[:, 0] <= mean) & (mean <= ends[:, 1])))


def main(repetitions: int = 2000) -> None:
    """Print the table."""
    print(f"{repetitions} samples; sampling error {np.sqrt(0.05 * 0.95 / repetitions):.4f}")
    print("values       queries  folds      t    bca  percentile")
    for population in POPULATIONS:
        for n_queries in SIZES:
            for n_folds in (1, 5):
                found = [
                    coverage(population, n_queries, n_folds, repetitions, method)
                    for method in ("t", "bca", "percentile")
                ]
                row = f"{population:11s}  {n_queries:7d}  {n_folds:5d}"
                print(f"{row}  {found[0]:.3f}  {found[1]:.3f}  {found[2]:10.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
