"""How often rows from one source raise an alarm of ``find_drift``, with and without their queries.

    python -m benchmarks.drift [repetitions]

Features of a query share a part of their spread, as those of real queries do: six columns, some
discrete, with missing values or constant. 120 queries of training and 80 new ones come from one
source, so that every alarm is false. "with queries" passes the query of every row; "rows as
independent" does not. "one column moved" moves one by .6 standard deviations of its own part.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from rankwise.datasets import summarize_rows
from rankwise.selection import find_drift


def sample(
    rng: np.random.Generator, n_queries: int, shift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and their queries; the first column is moved by ``shift``."""
    qid = np.repeat(np.arange(n_queries), rng.integers(5, 30, n_queries))
    X = rng.normal(size=(len(qid), 6)) + rng.normal(size=(n_queries, 6))[qid]
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = X[:, 2] > 1.0
    X[rng.random(len(qid)) < 0.05, 3] = math.nan
    X[:, 4] = 7.0
    X[:, 0] += shift
    return X, qid


def rates(repetitions: int, shift: float = 0.0) -> tuple[float, float]:
    """Share of comparisons with an alarm: with queries, and with rows as independent."""
    rng = np.random.default_rng(0)
    alarms = np.zeros(2)
    for _ in range(repetitions):
        (X, qid), (new, new_qid) = sample(rng, 120), sample(rng, 80, shift)
        alarms += (
            not find_drift(summarize_rows(X, qid), new, new_qid).ok,
            not find_drift(summarize_rows(X), new).ok,
        )
    with_queries, independent = (alarms / repetitions).tolist()
    return with_queries, independent


def main() -> None:
    """Print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"{repetitions} comparisons at level .95, share with an alarm")
    print("                      with queries  rows as independent")
    for what, shift in (("one source", 0.0), ("one column moved", 0.6)):
        with_queries, independent = rates(repetitions, shift)
        print(f"{what:20}  {with_queries:12.3f}  {independent:19.3f}", flush=True)


if __name__ == "__main__":
    main()
