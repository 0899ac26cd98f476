"""Average ranks over data sets, and shares in the bins of a calibration plot."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.interval_errors.cell import Cell, Outcome
from rankwise.metrics import calibration
from rankwise.metrics.significance import average_ranks

SYSTEMS = 5


def _table(rng: np.random.Generator, n_blocks: int, data: str) -> np.ndarray:
    """Values of systems without any true difference, of shape (n_blocks, SYSTEMS)."""
    values = rng.standard_normal((n_blocks, SYSTEMS))
    if data == "many ties":
        return np.round(values)
    if data == "all equal":
        return np.zeros_like(values)
    if data == "unequal spread":
        return values * np.array([0.1, 0.1, 1.0, 1.0, 10.0])
    if data == "one system much worse":
        return values - np.array([0.0, 0.0, 0.0, 0.0, 9.0])
    return values


def _critical_difference(rng: np.random.Generator, n_blocks: int, data: str) -> Outcome:
    """Any pair of equal systems separated; a system that is truly worse does not count."""
    values = _table(rng, n_blocks, data)
    n_equal = SYSTEMS - (data == "one system much worse")
    found = average_ranks({f"s{i}": values[:, i] for i in range(SYSTEMS)})
    ranks = [found.ranks[found.names.index(f"s{i}")] for i in range(n_equal)]
    return Outcome(float(max(ranks) - min(ranks) >= found.critical_difference))


def _friedman(rng: np.random.Generator, n_blocks: int, data: str, statistic: str) -> Outcome:
    """A p-value below .05 of systems that are all equal."""
    values = _table(rng, n_blocks, data)
    found = average_ranks({f"s{i}": values[:, i] for i in range(SYSTEMS)})
    is_named = "approximate" in str(found)
    return Outcome(float(getattr(found, f"{statistic}_p") < 0.05), named=is_named)


def _bins(rng: np.random.Generator, n_rows: int, rate: float) -> Outcome:
    """Share of the bins whose interval lacks the true share, for calibrated probabilities."""
    p = np.clip(rate * rng.uniform(0.5, 1.5, n_rows), 0.0, 1.0)
    y = (rng.random(n_rows) < p).astype(int)
    line = calibration(y, np.column_stack([1.0 - p, p]), [0, 1], n_bins=10).lines[0]
    wrong = (line.predicted < line.low) | (line.predicted > line.high)
    return Outcome(float(wrong.mean()))


CELLS = [
    *(
        Cell(
            "average_ranks: critical difference",
            f"{data}, {n} sets",
            0.05,
            partial(_critical_difference, n_blocks=n, data=data),
        )
        for data in ("normal", "many ties", "all equal", "unequal spread", "one system much worse")
        for n in (2, 5, 20)
    ),
    *(
        Cell(
            f"average_ranks: {statistic}_p",
            f"{data}, {n} sets",
            0.05,
            partial(_friedman, n_blocks=n, data=data, statistic=statistic),
        )
        for statistic in ("chi2", "f")
        for data in ("normal", "many ties", "all equal")
        for n in (2, 5, 20)
    ),
    *(
        Cell("calibration", f"rate {rate}, {n} rows", 0.05, partial(_bins, n_rows=n, rate=rate))
        for rate in (0.02, 0.5)
        for n in (50, 500)
    ),
]
