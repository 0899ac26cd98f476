"""Intervals of the mean of a measure over queries, and paired tests of two systems."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.interval_errors import generators
from benchmarks.interval_errors.cell import Cell, Outcome
from rankwise.metrics import parse
from rankwise.metrics.significance import (
    bootstrap_interval,
    compare_to_best,
    mean_intervals,
    paired_test,
)

Generator = np.random.Generator
# Values of n queries from 0 to 1, and their true mean.
Values = Callable[[Generator, int], tuple[np.ndarray, float]]


def _share(rng: Generator, n: int, rate: float) -> tuple[np.ndarray, float]:
    return (rng.random(n) < rate).astype(float), rate


def _reciprocal(rng: Generator, n: int, rate: float) -> tuple[np.ndarray, float]:
    """Reciprocal ranks: most queries have their answer first, few have none."""
    kinds = np.array([1.0, 0.5, 1 / 3, 0.1, 0.0])
    shares = np.array([rate, *np.full(4, (1.0 - rate) / 4)])
    return rng.choice(kinds, n, p=shares), float(kinds @ shares)


def _skewed(rng: Generator, n: int, rate: float) -> tuple[np.ndarray, float]:
    """A beta law whose density is unbounded at 0."""
    return rng.beta(0.2 * rate / (1 - rate), 0.2, n), rate


def _rare(rng: Generator, n: int, rate: float) -> tuple[np.ndarray, float]:
    """Low values, and rarely a 1 far from them."""
    return np.where(rng.random(n) < rate, 1.0, rng.choice([0.0, 0.1], n)), rate + (1 - rate) * 0.05


def _of_evaluate(rng: Generator, values: Values, n: int) -> Outcome | None:
    drawn, truth = values(rng, n)
    found = mean_intervals(drawn[:, None], bounds=parse("P@1").bounds)[0]
    if np.isnan(found[0]):
        return None
    return Outcome(float(not found[0] <= truth <= found[1]))


def _of_comparison(rng: Generator, values: Values, n: int) -> Outcome:
    drawn, truth = values(rng, n)
    rows = compare_to_best({"a": drawn, "b": values(rng, n)[0]})
    (row,) = (row for row in rows if row.name == "a")
    return Outcome(float(not row.low <= truth <= row.high))


def _of_bootstrap(rng: Generator, values: Values, n: int) -> Outcome:
    drawn, truth = values(rng, n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        low, high = bootstrap_interval(drawn, n_resamples=999)
    return Outcome(float(not low <= truth <= high), named=bool(caught))


def _paired(rng: Generator, draw: Callable[[Generator, int], np.ndarray], n: int,
            method: str) -> Outcome:  # fmt: skip
    differences = draw(rng, n)
    found = paired_test(differences, np.zeros(n), method, n_resamples=999)
    return Outcome(float(found.p_value < 0.05), named=bool(found.notes))


def _signs(rng: Generator, n: int) -> np.ndarray:
    return rng.choice([-1.0, 0.0, 1.0], n)


def _equal_spread(rng: Generator, n: int) -> np.ndarray:
    """All queries move by the same amount, up or down together in a third of the draws."""
    return rng.choice([-0.1, 0.1], n)


KINDS: list[tuple[str, Values]] = [
    *((f"share {rate}", partial(_share, rate=rate)) for rate in (0.01, 0.05, 0.2, 0.5, 0.97)),
    *((f"reciprocal ranks, {rate} first", partial(_reciprocal, rate=rate)) for rate in (0.5, 0.95)),
    *((f"beta law of mean {rate}", partial(_skewed, rate=rate)) for rate in (0.05, 0.5)),
    ("0 and .1, rarely 1", partial(_rare, rate=0.01)),
]
SYMMETRIC = [
    ("differences -1, 0, 1", _signs),
    ("differences -.1, .1", _equal_spread),
    ("nine in ten are 0", generators.mostly_zero),
]
CELLS = [
    Cell(name, f"{kind}, {n} queries", 0.05, partial(draw, values=values, n=n), draws=draws)
    for name, draw, draws in (
        ("evaluate, interval", _of_evaluate, None),
        ("compare_to_best, mean", _of_comparison, 200),
        ("bootstrap_interval", _of_bootstrap, 300),
    )
    for kind, values in KINDS
    for n in (2, 5, 20, 100)
] + [
    Cell(f"paired_test, {method}", f"{kind}, {n} queries", 0.05,
         partial(_paired, draw=draw, n=n, method=method))
    for method in ("t", "wilcoxon", "randomization")
    for kind, draw in (
        *SYMMETRIC,
        ("one query in ten gains", generators.one_unit_in_ten),
        ("lognormal", partial(generators.lognormal_of_mean, sigma=1.0)),
    )
    for n in (2, 5, 20, 100)
]  # fmt: skip
