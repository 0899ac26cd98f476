"""Leave-pair-out against refits that really leave the pair out."""

import itertools
import tracemalloc

import numpy as np
import pytest

from rankwise import PairwiseELM, RidgeRanker
from tests.common.estimators import with_default_grid

GRID = [0.01, 1.0, 30.0]


def data(seed=0, weighted=False):
    rng = np.random.RandomState(seed)
    sizes = [6, 2, 5, 1, 7]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.rand(len(qid), 3)
    y = rng.randint(0, 3, len(qid)).astype(float)
    w = rng.randint(1, 3, len(qid)).astype(float) if weighted else None
    return X, y, qid, w


def refitted(make, X, y, qid, w, value):
    """Mean over queries of the share of pairs that a model without them misorders."""
    shares = []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        wrong = []
        for i, j in itertools.permutations(rows, 2):
            if y[i] <= y[j]:
                continue
            rest = np.setdiff1d(np.arange(len(y)), [i, j])
            weight = None if w is None else w[rest]
            model = make(value).fit(X[rest], y[rest], qid=qid[rest], sample_weight=weight)
            difference = np.subtract(*model.predict(X[[i, j]]))
            wrong.append(float(difference < 0) + 0.5 * float(difference == 0))
        if wrong:
            shares.append(np.mean(wrong))
    return np.mean(shares)


MAKERS = {
    "all": lambda C: PairwiseELM(8, C=C, random_state=0),
    "dual": lambda C: PairwiseELM(60, C=C, random_state=0),
    "distinct": lambda C: PairwiseELM(8, C=C, random_state=0, graph="distinct"),
    "query": lambda C: PairwiseELM(8, C=C, random_state=0, query_weight="query"),
    "distinct document": lambda C: PairwiseELM(
        60, C=C, random_state=0, graph="distinct", query_weight="document"
    ),
    "draws": lambda C: PairwiseELM(8, C=C, random_state=0, n_draws=2),
    "linear": lambda C: PairwiseELM(kernel="linear", C=C),
    "pointwise": lambda alpha: RidgeRanker(alpha=alpha),
    "no intercept": lambda alpha: RidgeRanker(alpha=alpha, fit_intercept=False),
}


CASES = [(name, "grades") for name in MAKERS]
CASES += [
    (name, targets)
    for name in ("distinct", "distinct document")
    for targets in ("half distinct", "distinct")
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "targets"), CASES)
def test_leave_pair_out_equals_refits(name, targets, weighted):
    X, y, qid, w = data(weighted=weighted)
    if targets != "grades":
        new = np.random.RandomState(7).rand(len(y))
        y = np.where(np.arange(len(y)) % 2 == 0, new, y) if targets == "half distinct" else new
    model = MAKERS[name]("lpo")
    parameter = "alpha" if isinstance(model, RidgeRanker) else "C"
    vars(model)[parameter] = "lpo"
    with_default_grid(model, GRID)
    model.fit(X, y, qid=qid, sample_weight=w)
    grid = model.cv_results_[parameter].tolist()
    expected = [refitted(MAKERS[name], X, y, qid, w, value) for value in grid]
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected, atol=1e-12)
    assert sorted(grid) == sorted(GRID)
    assert getattr(model, f"{parameter}_") == grid[int(np.argmin(expected))]


def test_real_targets_and_weights_take_bounded_time_and_memory():
    rng = np.random.RandomState(0)
    X, y = rng.rand(90, 3), rng.rand(90)
    for options, w in (({"graph": "distinct"}, None), ({}, rng.rand(90).round(1) + 0.1)):
        tracemalloc.start()
        PairwiseELM(20, C="lpo", random_state=0, **options).fit(X, y, sample_weight=w)
        assert tracemalloc.get_traced_memory()[1] < 5e7
        tracemalloc.stop()
