"""PolyOrdinalSVM: large fits, LIBLINEAR on the expanded rows, and ways towards a kernel machine.

    RANKWISE_DATA=... python -m benchmarks.bench_poly_ordinal_svm [sizes|solvers|maps]

sizes: 240,000 x 136 rows of five ranks with powers 1 to 4, and 5,000 rows beside scikit-learn's
LinearSVC on all of its 20,000 rows ``(z, e_k)``, whose making is not timed, at tolerances for about
the same objective. solvers: passes of descent beside Newton steps, to a duality gap of 1e-3 and of
1e-6 of the objective. maps: census-house8l in ten ranks of equal size, features with mean 0 and
deviation 1, C chosen on 1,000 rows; seconds of the fit with the chosen C (feature maps included)
and mean absolute rank loss on 16,784 test rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import OrdinalSVM, PolyOrdinalSVM
from rankwise.datasets import load_ordinal
from rankwise.features import Nystroem, RandomPerceptrons

MOST_SECONDS = 60.0
RANKS = 5
LINEAR_GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


def sizes() -> None:
    X, y, _ = synthetic_ranking()
    for solver in ("auto", "newton"):
        PolyOrdinalSVM(C=1.0, solver=solver).fit(X[:500], y[:500])  # compiled
    for C in (0.001, 0.01, 0.1, 1.0, 10.0):
        start = time.perf_counter()
        machine = PolyOrdinalSVM(C=C).fit(X, y)
        seconds = time.perf_counter() - start
        print(
            f"{'met ' if seconds <= MOST_SECONDS else 'MISS'}  {len(y)} x {X.shape[1]} x 4 powers, "
            f"C = {C:g}: {seconds:.1f} s (target <= {MOST_SECONDS:g} s), {machine.n_iter_} passes, "
            f"gap {machine.dual_gap_:.1e}, MAE on them {-machine.score(X, y):.4f}",
            flush=True,
        )
    X, y = X[:5000], y[:5000]
    rows, labels = expand(X, y.astype(int))
    for C in (0.01, 1.0):
        peer = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-2, max_iter=3000)
        machine = PolyOrdinalSVM(C=C, tol=1e-3)

        def fit_peer(peer: LinearSVC = peer) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                peer.fit(rows, labels)

        sides = {"ours": lambda m=machine: m.fit(X, y), "LinearSVC": fit_peer}
        times = interleave(sides, repeats=3)
        w = peer.coef_[0]
        reached = 0.5 * w @ w + C * np.maximum(0, 1 - labels * (rows @ w)).sum()
        print(f"      objective {machine.objective_:.3f}, LinearSVC {reached:.3f}")
        report(f"{len(y)} rows, C = {C:g}", times["ours"], times["LinearSVC"], faster=1)


def expand(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The binary rows of every row and threshold, and their labels."""
    scaled = X / np.abs(X).max(axis=0)
    Z = np.hstack([scaled.astype(float) ** p for p in (1, 2, 3, 4)])
    rows = np.hstack([np.repeat(Z, RANKS - 1, axis=0), np.tile(np.eye(RANKS - 1), (len(Z), 1))])
    above = np.tile(np.arange(RANKS - 1), len(Z)) < np.repeat(y, RANKS - 1)
    return rows, np.where(above, 1, -1)


def solvers() -> None:
    X, y, _ = synthetic_ranking(200)
    for C in (0.01, 1.0, 100.0):
        for tol in (1e-3, 1e-6):
            for solver in ("descent", "newton", "auto"):
                machine = PolyOrdinalSVM(C=C, tol=tol, solver=solver, max_iter=300)
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    machine.fit(X, y)
                print(
                    f"      {len(y)} x 136 x 4, C = {C:g}, gap {tol:g}, {solver}: "
                    f"{time.process_time() - start:.2f} CPU seconds, {machine.n_iter_} passes, "
                    f"gap {machine.dual_gap_:.1e}",
                    flush=True,
                )


def maps() -> None:
    data = load_ordinal("census-house8l", bins=10)
    order = np.random.RandomState(0).permutation(len(data.y))
    train, vali, test = order[:5000], order[5000:6000], order[6000:]
    X = (data.X - data.X[train].mean(axis=0)) / data.X[train].std(axis=0)
    ways: dict[str, Any] = {"OrdinalSVM(perceptron)": OrdinalSVM("perceptron")}
    for n in (100, 300, 1000):
        ways[f"Nystroem(perceptron, {n})"] = Nystroem("perceptron", n_components=n, random_state=0)
        ways[f"RandomPerceptrons({n})"] = RandomPerceptrons("perceptron", n, random_state=0)
        ways[f"RandomPerceptrons(stump, {n})"] = RandomPerceptrons("stump", n, random_state=0)
    for degree in (1, 2, 3, 4, 8):
        ways[f"powers to {degree}"] = PolyOrdinalSVM(degree)
    for terms in ("random", "cross"):
        ways[f"{terms} terms to 4"] = PolyOrdinalSVM(4, terms=terms, random_state=0)
    for name, way in ways.items():
        best, seconds = np.inf, 0.0
        for C in (0.01, 0.1, 1.0, 10.0) if isinstance(way, OrdinalSVM) else LINEAR_GRID:
            model = way.set_params(C=C) if hasattr(way, "C") else None
            if model is None:
                model = make_pipeline(way, PolyOrdinalSVM(1, C=C, scaling=False))
            start = time.process_time()
            model.fit(X[train], data.y[train])
            elapsed = time.process_time() - start
            missed = -model.score(X[vali], data.y[vali])
            if missed < best:
                best, seconds, chosen = missed, elapsed, C
                predicted = model.predict(X[test])
        loss = np.abs(predicted - data.y[test]).mean()
        print(
            f"      {name}: MAE {loss:.4f}, C = {chosen:g}, {seconds:.2f} CPU seconds", flush=True
        )


PARTS = {"sizes": sizes, "solvers": solvers, "maps": maps}


def main() -> None:
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
