"""LambdaMART with random options: weights are repetition, and no order or name of queries matters.

``main`` tries as many models as asked for: ``python -m
tests.rankers.boosting.test_lambdamart_properties 0 2000``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rankwise import LambdaMART

N_CASES = 40
# Each of these groups needs kernels of its own; a test draws from one of them.
KINDS = ("plain", "nominal", "random thresholds", "signs")


def draw_options(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """Parameters, most of them at their defaults."""
    options: dict[str, Any] = {
        "n_estimators": int(rng.integers(1, 5)),
        "min_samples_leaf": int(rng.integers(1, 4)),
        "learning_rate": 0.5,
        "max_leaf_nodes": 6,
        "random_state": 0,
        "n_jobs": 1,
    }
    for share, name, values in [
        (0.6, "objective", ["yetirank", "xendcg", "logistic", "squared"]),
        (0.4, "measure", ["nDCG@3", "AP", "RR", "ERR", "P@3", "nDCG(gain=linear)"]),
        (0.3, "growth", ["depth", "symmetric"]),
        (0.3, "subsample", [0.5]),
        (0.2, "sampling", ["goss"]),
        (0.3, "drop_rate", [0.5]),
        (0.2, "colsample_bytree", [0.5]),
        (0.2, "colsample_bynode", [0.5]),
        (0.2, "reg_lambda", [1.0]),
        (0.2, "query_weight", ["document", "query"]),
        (0.2, "max_bins", [2, 4]),
        (0.2, "truncation_level", [None]),
        (0.3, "decay", [0.85]),
    ]:
        if rng.random() < share:
            options[name] = values[rng.integers(len(values))]
    if kind == "nominal" and rng.random() < 0.5:
        options["categorical_features"] = [2]
    if kind == "random thresholds":
        options["extra_trees"] = True
    if kind == "signs":
        options |= {"reg_alpha": 0.1, "monotonic_cst": [1, 0, 0]}
    return options


def draw_rows(rng: np.random.Generator, kind: str) -> tuple[Any, Any, Any, Any]:
    """Few distinct values, so that rows and queries repeat; X, y, qid and whole weights."""
    n = int(rng.integers(8, 60))
    X = rng.integers(0, rng.integers(2, 6), (n, 3)).astype(float)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=n) * 0.7), 0, 4)
    if rng.random() < 0.3:
        X[rng.random((n, 3)) < 0.2] = np.nan
    return X, y, rng.integers(0, rng.integers(1, 10), n), rng.integers(0, 4, n)


def differing(number: int) -> list[str]:
    """Ways to write the same rows that gave another model; None of them may."""
    rng, kind = np.random.default_rng(number), KINDS[number % len(KINDS)]
    options, (X, y, qid, weight) = draw_options(rng, kind), draw_rows(rng, kind)
    table: Any = X
    if kind == "nominal" and "categorical_features" not in options:
        # Text would be left out of rows that hardly repeat, but not of copies of them.
        names = [None if np.isnan(v) else f"v{v:g}" for v in X[:, 2]]
        table = pd.DataFrame(X, columns=list("abc")).assign(c=pd.Series(names, dtype="category"))

    def scores(rows: Any, qid: Any = qid, weight: Any = None) -> Any:
        ranker = LambdaMART(**options)
        part = table.iloc[rows] if table is not X else X[rows]
        weight = None if weight is None else weight[rows]
        ranker.fit(part, y[rows], qid=qid[rows], sample_weight=weight)
        return ranker.predict(table)

    every, names = np.arange(len(y)), rng.permutation(20).astype(str)
    by_query = [np.flatnonzero(qid == q) for q in rng.permutation(np.unique(qid))]
    copies = np.repeat(every, weight)
    try:
        expected = scores(every, weight=weight)
    except ValueError as error:
        assert "y must differ" in str(error) or "qid must give" in str(error)
        return []
    found = {
        "copies of rows": scores(copies),
        "copies of rows, shuffled": scores(rng.permutation(copies)),
        "rows, shuffled": scores(rng.permutation(every), weight=weight),
        "queries in another order": scores(np.concatenate(by_query), weight=weight),
        "renamed queries": scores(every, qid=names[qid], weight=weight),
    }
    return [what for what, values in found.items() if (values != expected).any()]


@pytest.mark.parametrize("number", range(N_CASES))
def test_the_same_rows_give_the_same_model(number):
    assert differing(number) == []


def main() -> int:
    """Try the models of the numbers given; print those that differ."""
    first, last = map(int, sys.argv[1:])
    failed = 0
    for number in range(first, last):
        if ways := differing(number):
            failed += 1
            print(number, ways, flush=True)
    print(f"{last - first} models, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
