"""Leave-pair-out and leave-query-out against refits that really leave rows out."""

import itertools
import tracemalloc

import numpy as np
import pytest

from rankwise import LSRRank, MPRank, PairwiseELM, PointwiseELM, RidgeRanker, evaluate
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


LONG = {
    "all": lambda C: PairwiseELM(4, C=C, random_state=0, measure="MSD"),
    "distinct": lambda C: PairwiseELM(
        4, C=C, random_state=0, graph="distinct", query_weight="document", measure="MSD"
    ),
    "query": lambda C: PairwiseELM(
        kernel="linear", C=C, n_draws=2, query_weight="query", random_state=0, measure="MSD"
    ),
    "mean": lambda lam: LSRRank("linear", lam=lam, query_weight="document", measure="MSD"),
    "kernel": lambda lam: LSRRank("rbf", lam=lam, gamma=0.5, measure="MSD"),
    "sum": lambda lam: MPRank("linear", lam=lam, measure="MSD"),
    "nodes": lambda C: PointwiseELM(4, C=C, random_state=0, measure="MSD"),
    "intercept": lambda alpha: RidgeRanker(alpha=alpha, measure="MSD"),
    "no intercept": lambda alpha: RidgeRanker(alpha=alpha, fit_intercept=False, measure="MSD"),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LONG)
def test_leave_query_out_of_more_rows_than_columns_equals_refits(name, weighted):
    rng = np.random.RandomState(3)
    qid = np.repeat(np.arange(4), [25, 3, 40, 12])
    X = rng.rand(8, 3)[rng.randint(8, size=len(qid))]  # of rank 8 for any kernel
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    y = rng.randint(0, 3, len(qid)).astype(float)
    w = rng.randint(1, 3, len(qid)).astype(float) if weighted else None
    model = with_default_grid(LONG[name]("loqo"), GRID).fit(X, y, qid=qid, sample_weight=w)
    parameter = next(iter(model.path_))
    for query in range(4):
        test, train = np.flatnonzero(qid == query), np.flatnonzero(qid != query)
        weight = None if w is None else w[train]
        for place, value in enumerate(model.cv_results_[parameter]):
            refit = LONG[name](float(value))
            refit.fit(X[train], y[train], qid=qid[train], sample_weight=weight)
            expected = evaluate(y[test], refit.predict(X[test]), None, ["MSD"])["MSD"]
            found = model.cv_results_["fold_test_scores"][query, place]
            assert found == pytest.approx(expected, rel=1e-8), (query, value)


def test_leave_query_out_of_long_lists_takes_no_squares_of_their_lengths():
    rng = np.random.RandomState(0)
    X, y, qid = rng.rand(6000, 3), rng.randint(0, 3, 6000), np.repeat([0, 1], 3000)
    tracemalloc.start()
    LSRRank("linear", lam="loqo").fit(X, y, qid=qid)
    assert tracemalloc.get_traced_memory()[1] < 2e7  # 3000^2 numbers are 72 MB
    tracemalloc.stop()
