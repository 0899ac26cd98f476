"""plan, partition_statistics, merge and solve: any cut, any order of merging, the same model."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import reduce

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import (
    LinearRegressionRanker,
    LSRRank,
    PairwiseELM,
    PointwiseELM,
    RankRLS,
    RidgeRanker,
)
from rankwise.distributed import merge, partition_statistics, plan, solve
from rankwise.streams import stream
from tests.distributed.conftest import cut

GRID = [0.01, 1.0, 100.0]
RANKERS = [
    PairwiseELM(30, C=0.5, random_state=0),
    PairwiseELM(20, C=GRID, random_state=0, n_draws=2, query_weight="query"),
    PairwiseELM(20, C=GRID, random_state=0, graph="distinct", query_weight="document"),
    PointwiseELM(20, C=GRID, random_state=0),
    RidgeRanker(GRID),
    LinearRegressionRanker(),
    RankRLS(alpha=0.3, graph="distinct"),
    LSRRank(kernel="linear", lam=GRID),
]
CUTS = {
    "halves": [500],
    "many": list(range(30, 980, 37)),
    "one query over several": [150, 230, 231, 260, 300, 340, 420],
    "empty ones": [0, 0, 40, 40, 41, 700, 700],
}


def travel(value):
    """What another process would get."""
    return pickle.loads(pickle.dumps(value))


def run(ranker, partitions, order=None):
    job, rounds = plan(ranker, next(part for part in partitions if len(part[1]))), 0
    while not job.finished:
        sent = travel(job.for_workers())
        parts = [travel(partition_statistics(sent, i, part)) for i, part in enumerate(partitions)]
        parts = parts if order is None else [parts[i] for i in order]
        job, rounds = solve(job, reduce(merge, parts)), rounds + 1
    return job.estimator, rounds


@pytest.mark.parametrize("where", CUTS)
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_equals_one_fit(judged, ranker, where, rng):
    cuts, weighted = CUTS[where], where in ("halves", "many")
    partitions = cut(judged, cuts, weighted=weighted)
    weight = judged.sample_weight if weighted else None
    whole = clone(ranker).fit(judged.X, judged.y, qid=judged.qid, sample_weight=weight)
    fitted, rounds = run(ranker, partitions, rng.permutation(len(partitions)))
    assert rounds == (3 if hasattr(whole, "cv_results_") else 1)
    expected = whole.predict(judged.X)
    np.testing.assert_allclose(fitted.predict(judged.X), expected, rtol=1e-10, atol=1e-12)
    for name in ("n_samples", "n_queries", "n_features", "dtype"):
        assert fitted.fit_fingerprint_[name] == whole.fit_fingerprint_[name]
    assert fitted.score_name_ == whole.score_name_
    if rounds == 3:
        np.testing.assert_allclose(
            fitted.cv_results_["fold_test_scores"],
            whole.cv_results_["fold_test_scores"],
            rtol=1e-12,
        )


@pytest.mark.parametrize("graph", ["all", "distinct"])
def test_without_queries_all_rows_are_one(judged, graph):
    ranker = PairwiseELM(15, C=0.1, query_weight="query", graph=graph, random_state=0)
    partitions = [(X, y) for X, y, _, _ in cut(judged, [100, 500, 501])]
    whole = clone(ranker).fit(judged.X, judged.y)
    fitted, _ = run(ranker, partitions)
    np.testing.assert_allclose(fitted.predict(judged.X), whole.predict(judged.X), rtol=1e-10)
    with pytest.raises(ValueError, match="in every partition or in none"):
        run(ranker, [partitions[0], *cut(judged, [100])[1:]])


def test_float32_rows_do_not_show_the_cut(judged, monkeypatch):
    monkeypatch.setattr("rankwise.solvers.least_squares.gram.PRECISE_FLOPS", 0)
    rows = judged.X.astype(np.float32)
    columns = [
        (rows[lo:hi], judged.y[lo:hi], judged.qid[lo:hi]) for lo, hi in [(0, 333), (333, 1000)]
    ]
    many = [
        (rows[lo : lo + 9], judged.y[lo : lo + 9], judged.qid[lo : lo + 9])
        for lo in range(0, len(rows), 9)
    ]
    columns[-1] = (rows[333:], judged.y[333:], judged.qid[333:])
    ranker = PairwiseELM(20, C=1.0, random_state=0)
    a, b = (run(ranker, parts)[0].output_weights_ for parts in (columns, many))
    # Nodes are float32: their last digit may depend on how many rows are mapped at once.
    np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("n_rows", [40, 400])
def test_what_moves_does_not_grow_with_the_rows(n_rows, rng):
    X = rng.random((n_rows * 10, 50))
    y, qid = rng.integers(0, 3, len(X)).astype(float), np.arange(len(X)) // n_rows
    job = plan(PairwiseELM(20, C=GRID, cv=2, random_state=0), (X, y, qid))
    p, n_folds, n_queries = 20, 2, 10
    limits = {
        "queries": 8 * n_queries,
        # Sums of each fold and of two edges.
        "sums": 8 * ((n_folds + 2) * (p**2 + 3 * p) + n_queries),
        # The scores of the edges only.
        "measures": 8 * (2 * n_folds * len(GRID) + 2 * n_rows * (len(GRID) + 1) + n_queries),
    }
    while not job.finished:
        statistics = partition_statistics(job, 0, (X, y, qid))
        fixed = len(pickle.dumps(partition_statistics(job, 1, [])))
        assert len(pickle.dumps(statistics)) - fixed < limits[job.stage] + 4096
        assert len(pickle.dumps(statistics)) < X.nbytes
        assert len(pickle.dumps(job.for_workers())) < 8 * (50 + 2 * len(GRID) + 3) * p + 8192
        job = solve(job, statistics)


def test_errors_name_the_place_and_the_fix(judged):
    ranker = PairwiseELM(10, C=1.0, random_state=0)
    partitions = cut(judged, [300, 600])
    job = plan(ranker, partitions[0])
    a, b, c = (partition_statistics(job, i, part) for i, part in enumerate(partitions))
    with pytest.raises(ValueError, match="got those of 0 to 0, 2 to 2"):
        solve(job, merge(a, c))
    with pytest.raises(ValueError, match="partition 1 is there twice"):
        merge(merge(a, b), b)
    shuffled = [partition_statistics(job, i, partitions[j]) for i, j in enumerate([1, 0, 2])]
    with pytest.raises(ValueError, match="came back after other queries"):
        solve(job, reduce(merge, shuffled))
    X, y, qid, _ = partitions[1]
    bad = X.copy()
    bad[5, 2] = np.nan
    with pytest.raises(
        ValueError, match="starts at row 0 of the stream: Input X contains NaN at row 5"
    ):
        partition_statistics(job, 1, (bad, y, qid))
    with pytest.raises(ValueError, match="expecting 5 features"):
        partition_statistics(job, 1, (X[:, :3], y, qid))
    with pytest.raises(ValueError, match="All chunks must have the same format and dtype"):
        partition_statistics(plan(ranker, (X.astype(np.float32), y, qid)), 1, (X, y, qid))
    search = plan(ranker.set_params(C="cv"), partitions[0])
    with pytest.raises(ValueError, match="the plan is for 'queries'"):
        solve(search, a)
    with pytest.raises(ValueError, match="cv=5 needs at least as many queries"):
        solve(search, partition_statistics(search, 0, (X[:9], y[:9], np.arange(9) // 3)))
    with pytest.raises(ValueError, match="needs all rows in memory"):
        plan(ranker.set_params(C="loqo"), partitions[0])
    from sklearn.dummy import DummyRegressor

    with pytest.raises(TypeError, match="closed form whose statistics add"):
        plan(DummyRegressor(), partitions[0])


def test_the_steps_need_no_dask():
    code = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
import rankwise.distributed as steps
steps.plan, steps.partition_statistics, steps.merge, steps.solve
for name in ("fit", "predict", "evaluate"):
    try:
        getattr(steps, name)
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'rankwise[dask]'") == 3


def test_partitions_may_be_streams(judged, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(judged.X, columns=list("abcde")).assign(label=judged.y, qid=judged.qid)
    frame[:600].to_parquet(tmp_path / "0.parquet")
    frame[600:].to_parquet(tmp_path / "1.parquet")
    files = [stream(tmp_path / f"{i}.parquet", dtype=np.float64, chunk_rows=101) for i in (0, 1)]
    ranker = RidgeRanker(GRID)
    job = plan(ranker, files[0])
    while not job.finished:
        parts = [partition_statistics(travel(job), i, travel(f)) for i, f in enumerate(files)]
        job = solve(job, reduce(merge, parts))
    whole = ranker.fit(judged.X, judged.y, qid=judged.qid)
    np.testing.assert_allclose(job.estimator.coef_, whole.coef_, rtol=1e-10)
    assert job.estimator.feature_names_in_.tolist() == list("abcde")
