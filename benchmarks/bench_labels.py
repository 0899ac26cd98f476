"""Multi-label ridge on delicious against bare products, its splits, decoding, and 10^5 labels.

    python -m benchmarks.bench_labels [regression] [splits] [decoding] [many]

The bare products are ``[1 X]'[1 X]``, ``[1 X]'Y`` and the Cholesky solution for all labels at once,
with the matrices ready in float64. Where the set is not at hand, rows of its size and density are
drawn. With names of parts only these are run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy import sparse

from benchmarks._timing import interleave, report
from benchmarks.bench_closed_form import peak_extra_memory
from rankwise.datasets import load_mulan
from rankwise.labels import PLST, BinaryRelevance, CompressedSensing, fit_splits
from rankwise.runtime.threads import available_threads

N_TRAIN, N_AXES = 14494, 129
MEGABYTE = 2**20
# On one thread the time that other programs take of the core is left out.
CLOCK = time.process_time if available_threads() == 1 else time.perf_counter


def delicious() -> tuple[Any, Any, str]:
    """Rows and labels as CSR, and what they are."""
    try:
        data = load_mulan("delicious")
        return sparse.csr_array(data.X), sparse.csr_array(data.Y), "delicious"
    except FileNotFoundError:
        rng = np.random.default_rng(0)
        X = sparse.random_array((16105, 500), density=0.037, rng=rng, format="csr")
        Y = sparse.random_array((16105, 983), density=0.0193, rng=rng, format="csr")
        return (
            X,
            sparse.csr_array(Y.toarray() > 0).astype(np.int64),
            "drawn rows of the size of delicious",
        )


def bare(Z: Any, Y: Any) -> Callable[[], Any]:
    """Products and the solution for all labels."""

    def run() -> Any:
        gram, cross = Z.T @ Z, Z.T @ Y
        if sparse.issparse(Z):
            gram, cross = gram.toarray(), cross.toarray()
        gram[np.diag_indices_from(gram)] += 0.01
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram), cross)

    return run


def line(what: str, seconds: float, target: float) -> None:
    """A target in seconds."""
    print(
        f"{'met ' if seconds <= target else 'MISS'}  {what}: {seconds:.2f} s (target <= {target:g})"
    )


def regression(X: Any, Y: Any, form: str) -> None:
    """Full binary relevance and PLST against the bare products."""
    X, Y = (X, Y) if form == "sparse" else (X.toarray(), Y.toarray())
    rows, labels, test = X[:N_TRAIN], Y[:N_TRAIN], X[N_TRAIN:]
    stack = sparse.hstack if form == "sparse" else np.hstack
    Z: Any = stack([np.ones((N_TRAIN, 1)), rows])
    Z = Z.tocsr() if form == "sparse" else Z
    full, plst = BinaryRelevance(), PLST(N_AXES)
    times = interleave(
        {
            "bare": bare(Z, labels.astype(np.float64)),
            "BR": lambda: full.fit(rows, labels),
            "BR predict": lambda: full.predict(test),
            "PLST": lambda: plst.fit(rows, labels),
            "PLST predict": lambda: plst.predict(test),
        },
        clock=CLOCK,
    )
    report(f"full BR fit, {form}", times["BR"], times["bare"], within=2.0)
    report(f"PLST fit with {N_AXES} axes, {form}", times["PLST"], times["bare"], within=2.0)
    report(f"PLST fit against full BR's, {form}", times["PLST"], times["BR"], within=1.0)
    report(f"PLST predict, {form}", times["PLST predict"], times["BR predict"], within=1.0)


def splits(X: Any, Y: Any) -> None:
    """Twenty fits on nine tenths of the rows."""
    rng = np.random.RandomState(0)
    parts = [np.sort(rng.permutation(X.shape[0])[:N_TRAIN]) for _ in range(20)]
    rows = X.toarray()
    for model in (BinaryRelevance(), PLST(N_AXES)):
        times = interleave(
            {
                "downdating": lambda model=model: list(fit_splits(model, rows, Y, parts)),
                "separate fits": lambda model=model: [model.fit(rows[p], Y[p]) for p in parts],
            },
            repeats=1,
            warmup=0,
            clock=CLOCK,
        )
        what = f"20 splits of {type(model).__name__}, dense"
        report(what, times["downdating"], times["separate fits"], faster=1.5)


def decoding(X: Any, Y: Any) -> None:
    """Sparse decoding of 1,600 rows."""
    for decoder in ("cosamp", "omp"):
        model = CompressedSensing(N_AXES, 25, random_state=0, decoder=decoder).fit(
            X[:N_TRAIN], Y[:N_TRAIN]
        )
        codes = model._predict_codes(X[N_TRAIN : N_TRAIN + 1600])
        model.decode_scores(codes[:10])
        start = CLOCK()
        model.decode_scores(codes)
        seconds = CLOCK() - start
        line(f"{decoder} decoding of {len(codes)} x {Y.shape[1]} labels", seconds, 5.0)


def many_labels() -> None:
    """PLST on 10^5 sparse labels: time and memory."""
    rng = np.random.default_rng(0)
    n, p, n_labels = 200_000, 2_000, 100_000
    topics = rng.integers(0, 500, n)
    words = (topics[:, None] * 4 + rng.integers(0, 12, (n, 15))) % p
    labels = (topics[:, None] * 200 + np.minimum(rng.zipf(1.6, (n, 6)), 400)) % n_labels
    row = np.repeat(np.arange(n), 15)
    X = sparse.csr_array((np.ones(n * 15), (row, words.ravel())), shape=(n, p))
    row = np.repeat(np.arange(n), 6)
    Y = sparse.csr_array((np.ones(n * 6), (row, labels.ravel())), shape=(n, n_labels))
    Y.data[:] = 1.0
    model, seconds = PLST(100, random_state=0), []

    def work() -> None:
        start = CLOCK()
        model.fit(X[:-2000], Y[:-2000])
        seconds.append(CLOCK() - start)

    extra = peak_extra_memory(work)
    dense = (n - 2000) * n_labels * 8 / MEGABYTE
    print(
        f"PLST, 100 axes, {n - 2000:,} x {p:,} rows, {n_labels:,} labels: {seconds[0]:.1f} s, peak "
        f"memory {extra:.0f} MB above the data (Y dense: {dense:,.0f} MB)"
    )
    print(f"{'met ' if extra <= 2000 else 'MISS'}  memory of 10^5 labels (target <= 2000 MB)")
    start = CLOCK()
    extra = peak_extra_memory(lambda: model.predict(X[-2000:]))
    print(f"2,000 rows predicted as CSR in {CLOCK() - start:.1f} s, {extra:.0f} MB above the model")


PARTS = ("regression", "splits", "decoding", "many")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="|".join(PARTS))
    parts = parser.parse_args().parts
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part named {', '.join(sorted(unknown))}")
    if set(parts) - {"many"}:
        X, Y, what = delicious()
        rows, columns = X.shape
        threads = available_threads()
        print(f"{what}: {rows} x {columns} rows, {Y.shape[1]} labels, {threads} threads")
        if "regression" in parts:
            regression(X, Y, "dense")
            regression(X, Y, "sparse")
        if "splits" in parts:
            splits(X, Y)
        if "decoding" in parts:
            decoding(X, Y)
    if "many" in parts:
        many_labels()


if __name__ == "__main__":
    main()
