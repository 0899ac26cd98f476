"""Linear RankSVM against its bare products and against liblinear-ranksvm.

    LIBLINEAR_RANKSVM=.../liblinear.so.3 python -m benchmarks.bench_rank_svm [--quick]

2,000 queries of 120 rows x 136 columns, 9.2 million pairs. The peer is the rankSVM extension of
LIBLINEAR (csie.ntu.edu.tw/~cjlin/libsvmtools, ``make lib``); without its library only the products
are timed. It runs on one thread and stops by its default rule; ours goes on to a smaller gap. The
times leave out reading and the peer's copy of the data, and take in our checks and grouping.
"""

from __future__ import annotations

import argparse
import ctypes
import os
from typing import Any

import numpy as np

from benchmarks._timing import Timing, interleave, report, synthetic_ranking
from rankwise import RankSVM
from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.newton.score_newton import LinearRows

C = 0.01
RANK_SVM = 8  # solver number of the extension


class _Problem(ctypes.Structure):
    _fields_ = (
        ("l", ctypes.c_int), ("n", ctypes.c_int), ("y", ctypes.c_void_p), ("x", ctypes.c_void_p),
        ("bias", ctypes.c_double), ("query", ctypes.c_void_p),
    )  # fmt: skip


class _Parameter(ctypes.Structure):
    _fields_ = (
        ("solver_type", ctypes.c_int), ("eps", ctypes.c_double), ("C", ctypes.c_double),
        ("nr_weight", ctypes.c_int), ("weight_label", ctypes.c_void_p),
        ("weight", ctypes.c_void_p), ("p", ctypes.c_double), ("init_sol", ctypes.c_void_p),
    )  # fmt: skip


class _Model(ctypes.Structure):
    _fields_ = (
        ("param", _Parameter), ("nr_class", ctypes.c_int), ("nr_feature", ctypes.c_int),
        ("w", ctypes.POINTER(ctypes.c_double)),
    )  # fmt: skip


class Liblinear:
    """The peer with the data in its own form."""

    def __init__(self, path: str, X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> None:
        self._library: Any = ctypes.CDLL(path)
        self._library.train.restype = ctypes.POINTER(_Model)
        n, d = X.shape
        nodes = np.zeros((n, d + 1), dtype=np.dtype([("index", "i4"), ("value", "f8")], align=True))
        nodes["index"][:, :d] = np.arange(1, d + 1)
        nodes["index"][:, d] = -1
        nodes["value"][:, :d] = X
        rows = nodes.ctypes.data + nodes.strides[0] * np.arange(n, dtype=np.uint64)
        labels, queries = y.astype(np.float64), qid.astype(np.int32)
        self._kept = nodes, rows, labels, queries
        self._problem = _Problem(
            n, d, labels.ctypes.data, rows.ctypes.data, -1.0, queries.ctypes.data
        )
        quiet = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda text: None)
        self._kept += (quiet,)
        self._library.set_print_string_function(quiet)

    def train(self, eps: float = 1e-3) -> np.ndarray:
        """Weights of the columns."""
        parameter = _Parameter(RANK_SVM, eps, C, 0, None, None, 0.1, None)
        model = self._library.train(ctypes.byref(self._problem), ctypes.byref(parameter))
        w = np.array(model.contents.w[: self._problem.n])
        self._library.free_and_destroy_model(ctypes.byref(model))
        return w


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 queries")
    args = parser.parse_args()
    n_queries = 200 if args.quick else 2000
    X, y, qid = synthetic_ranking(n_queries)
    n, d = X.shape
    indptr = np.arange(n_queries + 1) * 120
    table = np.tril(np.ones((5, 5)), -1)
    hinge = PairwiseHinge(
        indptr, y.astype(np.int64), np.ones(n), np.ones(n_queries), table, np.zeros(n)
    )

    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        linear = LinearRows(rows, hinge)
        w, h = np.full(d, 0.1), np.ones(n)
        w_bare, h_bare = w.astype(dtype), h.astype(dtype)

        def bare(rows: np.ndarray = rows, w: np.ndarray = w_bare, h: np.ndarray = h_bare) -> None:
            rows @ w
            rows.T @ h

        def gradient(linear: LinearRows = linear, w: np.ndarray = w) -> None:
            _, slopes = linear.value_grad(linear.scores(w))
            linear.transposed(slopes)

        def hessian(linear: LinearRows = linear, w: np.ndarray = w) -> None:
            linear.curvature(w)

        sides = {"bare": bare, "gradient": gradient, "hessian": hessian}
        with single_threaded_blas():
            os.environ["RANKWISE_NUM_THREADS"] = "1"
            timed = interleave(sides, repeats=7)
            del os.environ["RANKWISE_NUM_THREADS"]
        name = f"{n} x {d} {np.dtype(dtype).name}, one thread"
        report(f"value and gradient, {name}", timed["gradient"], timed["bare"], within=2.5)
        report(f"Hessian product, {name}", timed["hessian"], timed["bare"], within=1.8)

    path = os.environ.get("LIBLINEAR_RANKSVM")
    if not path:
        print("skip  LIBLINEAR_RANKSVM names no library of liblinear-ranksvm")
        return
    peer = Liblinear(path, X, y, qid)
    ranker = RankSVM(C=C)

    def value(w: np.ndarray) -> float:
        rows = LinearRows(X, hinge)
        return 0.5 * float(w @ w) + C * rows.value_grad(rows.scores(w))[0]

    exact = RankSVM(C=C, tol=1e-12).fit(X, y, qid=qid)
    theirs = value(peer.train(eps=1e-7))
    gap = abs(theirs - exact.objective_) / theirs
    print(f"{'met ' if gap <= 1e-8 else 'MISS'}  objectives agree within {gap:.1e}")
    loose = value(peer.train()) / theirs - 1
    print(f"      above the minimum: peer {loose:.1e}, ours", end=" ")
    print(f"{ranker.fit(X, y, qid=qid).objective_ / theirs - 1:.1e}")
    for threads, target in ((1, 2.5), (None, 4.0)):
        if threads:
            os.environ["RANKWISE_NUM_THREADS"] = str(threads)
        else:
            os.environ.pop("RANKWISE_NUM_THREADS", None)
        sides = {"ours": lambda: ranker.fit(X, y, qid=qid), "peer": peer.train}
        timed: dict[str, Timing] = interleave(sides, repeats=5)
        name = "one thread" if threads else "all threads"
        report(f"fit {n} x {d}, {name}", timed["ours"], timed["peer"], faster=target)


if __name__ == "__main__":
    main()
