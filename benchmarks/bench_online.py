"""One million rows through every online ordinal learner, one pass each.

    python -m benchmarks.bench_online

Rows of the ordinal square with the products of their columns, 136 dense columns of float32, and
10,000 sparse columns of which a row has 20, read in their order. Target: ten seconds a pass, the
fit's checks counted. For orientation scikit-learn's perceptron, one against the rest, one pass
over the same rows. Then the same rows in calls of partial_fit of 1,000, and 10,000 calls of one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from rankwise import AggregatePRank, PRank, VotedPRank, WidrowHoff
from rankwise.datasets import make_ordinal_square

N = 1_000_000
SECONDS = 10.0
CLASSES = [0, 1, 2, 3, 4]


def rows(form: str) -> tuple[Any, np.ndarray]:
    """A million rows and their classes."""
    if form == "square":
        X, y = make_ordinal_square(N, random_state=0)
        return X, y - 1
    rng = np.random.default_rng(0)
    if form == "dense":
        X: Any = rng.standard_normal((N, 136), dtype=np.float32)
    else:
        columns = rng.integers(0, 500, (N, 20)) + 500 * np.arange(20)  # distinct and ascending
        places = (columns.ravel().astype(np.int32), np.arange(0, 20 * N + 1, 20, dtype=np.int32))
        X = sparse.csr_array((rng.standard_normal(20 * N), *places), (N, 10_000))
    height = X @ rng.standard_normal(X.shape[1]) / 5 + rng.standard_normal(N)
    return X, np.digitize(height, np.quantile(height, [0.5, 0.8, 0.92, 0.98]))


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall time and processor time of all threads."""
    start, start_cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - start_cpu


def stream(ranker: PRank, X: Any, y: np.ndarray, size: int) -> None:
    """All rows in calls of ``size``."""
    for lo, hi in pairwise(range(0, len(y) + 1, size)):
        ranker.partial_fit(X[lo:hi], y[lo:hi], classes=CLASSES)


def bench(form: str, degree: int) -> None:
    """Every learner on rows of one form."""
    X, y = rows(form)
    for learner in (
        PRank(degree, shuffle=False),
        WidrowHoff(degree=degree, shuffle=False),
        VotedPRank(degree=degree, shuffle=False),
        AggregatePRank(degree=degree, shuffle=False, random_state=0),
    ):
        learner.fit(X[:1000], y[:1000])
        taken, cpu = seconds(partial(learner.fit, X, y))
        mark = "met " if taken <= SECONDS else "MISS"
        print(
            f"{mark}  {form}: {type(learner).__name__} {taken:.2f} s for {N:,} rows "
            f"(target <= {SECONDS:g} s), {cpu:.2f} s of processor time",
            flush=True,
        )
    peer = SGDClassifier(loss="perceptron", random_state=0)
    taken, cpu = seconds(partial(peer.partial_fit, X, y, classes=CLASSES))
    print(f"      {form}: scikit-learn's perceptron {taken:.2f} s, {cpu:.2f} s", flush=True)
    for size, n in ((1000, N), (1, 10_000)):
        _, cpu = seconds(partial(stream, PRank(degree), X[:n], y[:n], size))
        each = cpu * size / n * 1e3
        print(f"      {form}: PRank in calls of {size:,}: {each:.2f} ms of each", flush=True)


def main() -> None:
    for form, degree in (("square", 2), ("dense", 1), ("csr", 1)):
        bench(form, degree)


if __name__ == "__main__":
    main()
