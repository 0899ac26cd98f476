"""Intervals of a mean from human and machine labels."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from benchmarks.interval_errors.cell import Cell, Outcome
from rankwise.metrics.significance import prediction_powered_mean


def _share(rng: np.random.Generator, rate: float, n_human: int) -> Outcome | None:
    """A share of successes; the machine is right for nine of ten units."""
    truth = (rng.random(n_human + 500) < rate).astype(float)
    machine = np.where(rng.random(len(truth)) < 0.9, truth, 1.0 - truth)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = prediction_powered_mean(truth[:n_human], machine[:n_human], machine[n_human:])
        except ValueError:
            return None
    return Outcome(float(not found.low <= rate <= found.high), named=bool(caught))


CELLS = [
    Cell(
        "prediction_powered_mean",
        f"share {rate}, {n} human labels",
        0.05,
        partial(_share, rate=rate, n_human=n),
    )
    for rate in (0.01, 0.05, 0.5, 0.97, 0.99)
    for n in (5, 20, 100)
]
