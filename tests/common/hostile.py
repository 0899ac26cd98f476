"""Inputs at the ends of float32 and float64, and inputs without information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

N_QUERIES, PER_QUERY = 6, 4
LARGEST = 1.7e308


@dataclass(frozen=True)
class Rows:
    """What ``fit`` gets, and what is scored afterwards (None: the same rows)."""

    X: Any
    y: Any
    qid: Any
    weight: Any = None
    test: Any = None


def ordinary(seed: int = 0) -> Rows:
    """24 rows of three standard normal columns in six queries, grades 0 to 2."""
    rng = np.random.default_rng(seed)
    n = N_QUERIES * PER_QUERY
    y = rng.integers(0, 3, n).astype(float)
    y[:3] = 0, 1, 2
    return Rows(rng.normal(size=(n, 3)), y, np.repeat(np.arange(N_QUERIES), PER_QUERY))


def hostile_columns() -> dict[str, Rows]:
    """Cases that differ from ordinary rows in X."""
    rows = ordinary()
    X, y, qid = rows.X, rows.y, rows.qid
    rng = np.random.default_rng(1)
    n = len(y)

    def column(values: Any, dtype: Any = np.float64) -> Rows:
        Z = X.astype(dtype)
        Z[:, 1] = values
        return Rows(Z, y, qid)

    def cell(value: float, dtype: Any = np.float64) -> Rows:
        Z = X.astype(dtype)
        Z[4, 1] = value
        return Rows(Z, y, qid)

    cases = {f"X times {s:g}": Rows(X * s, y, qid) for s in (1e-300, 1e-160, 1e30, 1e150, 1e200)}
    cases |= {f"column times {s:g}": column(X[:, 1] * s) for s in (1e-300, 1e-160, 1e30, 1e200)}
    cases |= {f"cell {v:g}": cell(v) for v in (1e200, 1e307, -LARGEST)}
    cases["column of both ends"] = column(np.where(np.arange(n) % 2, LARGEST, -LARGEST))
    cases["float32 column to 1e38"] = column(X[:, 1] / np.abs(X[:, 1]).max() * 1e38, np.float32)
    cases["float32 cell 3e38"] = cell(3e38, np.float32)
    cases["float32 times 1e-38"] = Rows((X * 1e-38).astype(np.float32), y, qid)
    cases["column constant within queries"] = column(rng.normal(size=N_QUERIES)[qid])
    cases["constant within queries"] = Rows(rng.normal(size=(N_QUERIES, 3))[qid], y, qid)
    cases["constant"] = Rows(np.full_like(X, 0.1), y, qid)
    cases["zero"] = Rows(np.zeros_like(X), y, qid)
    cases["constant 1e200"] = Rows(np.full_like(X, 1e200), y, qid)
    cases["Unix time"] = column(1.7e9 + 1e5 * rng.uniform(-1, 1, n))
    cases["Unix time of seconds"] = column(1.7e9 + X[:, 1])
    cases["nanoseconds"] = column(1e18 + 1000 * X[:, 1])
    cases["duplicate rows"] = Rows(np.repeat(X[:N_QUERIES], PER_QUERY, axis=0), y, qid)
    for scale in (1e200, LARGEST):
        cases[f"test rows to {scale:g}"] = Rows(X, y, qid, test=X * (scale / np.abs(X).max()))
    return cases


def hostile_rows() -> dict[str, Rows]:
    """Few rows, and few in a query."""
    rows = ordinary()
    X, y, qid = rows.X, rows.y, rows.qid
    cases = {f"{n} rows": Rows(X[:n], y[:n], np.zeros(n, dtype=int)) for n in (1, 2, 3)}
    cases["one query"] = Rows(X, y, np.zeros(len(y), dtype=int))
    cases["one row per query"] = Rows(X, y, np.arange(len(y)))
    cases["one grade"] = Rows(X, np.ones(len(y)), qid)
    return cases


def hostile_targets() -> dict[str, Rows]:
    """Cases that differ from ordinary rows in y."""
    rows = ordinary()
    y, n = rows.y, len(rows.y)
    targets = {
        "y of both ends": np.where(y > 1, LARGEST, -LARGEST),
        "y times 1e-300": y * 1e-300,
        "y times 1e-160": y * 1e-160,
        "y times 1e200": y * 1e200,
        "y to 1.6e308": y * 8e307,
        "y far from zero": y + 1e15,
        "y very far from zero": y * 1e285 + 1e300,
        "one y 1e200": np.where(np.arange(n) == 5, 1e200, y),
    }
    return {name: Rows(rows.X, target, rows.qid) for name, target in targets.items()}


def hostile_weights() -> dict[str, Rows]:
    """Cases that differ from ordinary rows in the weights."""
    rows = ordinary()
    scales = (1e-300, 1e-160, 1e150, 1e300)
    return {
        f"weights {s:g}": Rows(rows.X, rows.y, rows.qid, np.full(len(rows.y), s)) for s in scales
    }
