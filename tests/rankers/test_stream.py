"""A stream gives the model of all rows in memory, wherever it is cut, on any number of threads."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import rankwise.solvers.least_squares.gram as gram
import rankwise.solvers.least_squares.path_selection as path_selection
from rankwise import (
    CLSRRank,
    ELMRank,
    LinearRegressionRanker,
    LSRRank,
    PairwiseELM,
    PointwiseELM,
    RankRLS,
    RidgeRanker,
    evaluate,
    load,
)
from rankwise.rankers import evaluate_stream
from rankwise.streams import stream

GRID = [0.01, 1.0, 100.0]
RANKERS = [
    PairwiseELM(30, C=2.0, random_state=0),
    PairwiseELM(30, C=GRID, random_state=0, n_draws=2, query_weight="query"),
    PairwiseELM(30, C="cv", random_state=0, graph="distinct", query_weight="document"),
    PairwiseELM(30, "linear", C=GRID, random_state=0, n_draws=3),
    PairwiseELM(kernel="linear", C=2.0, graph="distinct"),
    PointwiseELM(30, C="cv", random_state=0, n_draws=2),
    RidgeRanker(GRID),
    RidgeRanker(0.5, fit_intercept=False),
    LinearRegressionRanker(),
    RankRLS(alpha=GRID),
    LSRRank(kernel="linear", lam=0.1),
    RankRLS("rbf", alpha=GRID, approximation="nystroem", n_landmarks=20, random_state=0),
    LSRRank("laplacian", [0.1, 1.0], lam=GRID, approximation="nystroem", n_landmarks=15),
    ELMRank(30, lam=0.1, alpha=1e-3, n_draws=2, random_state=0),
    ELMRank(30, lam="cv", alpha=[1e-2, 0.0], n_draws=2, cv=4, random_state=0),
    ELMRank(30, lam="cv", query_weight="document", cv=3, random_state=0),
]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Chunks of 50 rows, so that small data take every turn: several lanes, giant queries."""
    for module in (gram, path_selection):
        monkeypatch.setattr(module, "CHUNK_ROWS", 50)
    monkeypatch.setattr("rankwise.rankers.basis_expansion.CHUNK_ROWS", 50)
    monkeypatch.setattr("rankwise.solvers.least_squares.stabilised.CHUNK_ROWS", 50)
    monkeypatch.setattr(gram, "GIANT_ROWS", 120)
    monkeypatch.setattr(path_selection, "MEASURED_ROWS", 150)


@pytest.fixture
def case(rng):
    sizes = rng.integers(1, 60, 40)
    sizes[[3, 17, 18]] = 200, 350, 130
    qid = np.repeat(rng.permutation(40), sizes)
    X = rng.random((len(qid), 5))
    y = np.digitize(X[:, 0] + 0.4 * rng.standard_normal(len(qid)), [0.4, 0.8]).astype(float)
    return X, y, qid, rng.integers(0, 4, len(qid)).astype(float)


def chunks(columns, cuts):
    """A callable that gives the rows cut at the given places."""
    bounds = [0, *cuts, len(columns[1])]

    def make():
        for lo, hi in itertools.pairwise(bounds):
            yield tuple(None if column is None else column[lo:hi] for column in columns)

    return make


def cuts_of(rng, n):
    yield [n // 2]
    yield np.sort(rng.choice(np.arange(1, n), 30, replace=False)).tolist()
    yield list(range(7, n, 7))


@pytest.mark.parametrize(
    "ranker", RANKERS, ids=lambda r: f"{type(r).__name__}-{r.get_params()}"[:60]
)
def test_same_model_wherever_the_stream_is_cut(case, rng, ranker):
    X, y, qid, w = case
    if ranker.get_params().get("n_draws") == 2:
        w = None
    if "approximation" in ranker.get_params():
        X = np.round(X, 1)  # repeated rows are one landmark
        ranker = clone(ranker).set_params(random_state=1)
    whole = clone(ranker).fit(X, y, qid=qid, sample_weight=w)
    for cuts in cuts_of(rng, len(y)):
        streamed = clone(ranker).fit(stream(chunks((X, y, qid, w), cuts)))
        np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-10, atol=1e-12)
        assert streamed.score_name_ == whole.score_name_
        for name in ("n_samples", "n_queries", "n_features"):
            assert streamed.fit_fingerprint_[name] == whole.fit_fingerprint_[name]
        if hasattr(whole, "cv_results_"):
            name = "squared_error" if isinstance(ranker, ELMRank) else "fold_test_scores"
            np.testing.assert_allclose(
                streamed.cv_results_[name], whole.cv_results_[name], rtol=1e-12
            )
            assert streamed.get_params() == whole.get_params()


def fit_both(ranker, columns, cuts):
    X, y, qid, w = columns
    whole = clone(ranker).fit(X, y, qid=qid, sample_weight=w)
    return whole, clone(ranker).fit(stream(chunks(columns, cuts)))


@pytest.mark.parametrize("precise", [0, 3e5, 1e10], ids=["never", "dropped", "always"])
@pytest.mark.parametrize("graph", ["all", "distinct", "pointwise"])
def test_same_bits_in_float32(case, rng, monkeypatch, precise, graph):
    monkeypatch.setattr(gram, "PRECISE_FLOPS", precise)
    X, y, qid, w = case
    if graph == "distinct":  # large queries of different grades: equal to rounding only
        monkeypatch.setattr(gram, "GIANT_ROWS", 400)
    ranker = PairwiseELM(30, C=GRID, random_state=0, graph="all" if graph == "pointwise" else graph)
    if graph == "pointwise":
        ranker = PointwiseELM(30, C=GRID, random_state=0)
    for weight in (None, w):
        columns = (X.astype(np.float32), y, qid, weight)
        whole = clone(ranker).fit(columns[0], y, qid=qid, sample_weight=weight)
        for cuts in cuts_of(rng, len(y)):
            streamed = clone(ranker).fit(stream(chunks(columns, cuts)))
            np.testing.assert_array_equal(streamed.output_weights_, whole.output_weights_)
            assert streamed.hidden_weights_.dtype == np.float32
            told = stream(chunks(columns, cuts), n_samples=len(y))
            if weight is None:
                told = clone(ranker).fit(told).output_weights_
                np.testing.assert_array_equal(told, whole.output_weights_)


@pytest.mark.parametrize("ranker", [RANKERS[1], RANKERS[5], RANKERS[6]])
def test_same_bits_for_any_number_of_threads(case, ranker, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4))
    paths = []
    for n_threads in ("1", "2", "3"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", n_threads)
        paths.append(clone(ranker).fit(stream(chunks(case, [111, 444]))).path_["coef"])
    np.testing.assert_array_equal(paths[0], paths[1])
    np.testing.assert_array_equal(paths[0], paths[2])


def test_without_queries_all_rows_are_one(case, rng):
    X, y, _, w = case
    for graph in ("all", "distinct"):
        ranker = PairwiseELM(20, C=0.1, graph=graph, query_weight="query", random_state=0)
        for cuts in cuts_of(rng, len(y)):
            whole, streamed = fit_both(ranker, (X, y, None, w), cuts)
            np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-10)
    for search in (RidgeRanker("cv"), ELMRank(10, lam="cv", cv=5)):
        with pytest.raises(ValueError, match="cv=5 needs at least as many queries in a stream"):
            search.fit(stream([(X[:60], y[:60]), (X[60:], y[60:])]))
    whole = ELMRank(20, lam=0.1, alpha=0.01, random_state=0).fit(X, y, sample_weight=w)
    streamed = clone(whole).fit(stream(chunks((X, y, None, w), [100, 800])))
    np.testing.assert_array_equal(streamed.output_weights_, whole.output_weights_)
    with pytest.raises(ValueError, match="in every chunk or in none"):
        RidgeRanker().fit(stream([(X, y), (X, y, y)]))


@pytest.mark.parametrize("n_rows", [20, 70, 400])
def test_fewer_rows_than_columns(case, n_rows):
    X, y, qid, _ = (column[:n_rows] for column in case)
    for ranker in (
        PairwiseELM(90, C=GRID, cv=2, random_state=0),
        PairwiseELM(300, C=1.0, random_state=0),
        RidgeRanker(0.1),
    ):
        whole, streamed = fit_both(ranker, (X, y, qid, None), [13])
        np.testing.assert_array_equal(streamed.predict(X), whole.predict(X))


def test_validation_data_choose(case, rng):
    X, y, qid, _ = case
    X_val, y_val, qid_val = rng.random((60, 5)), rng.integers(0, 3, 60), np.arange(60) // 10
    vali = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    for ranker in (RidgeRanker("val"), PairwiseELM(20, C=GRID, random_state=0)):
        whole = clone(ranker).fit(X, y, qid=qid, **vali)
        once = (chunk for chunk in chunks((X, y, qid), [400])())
        streamed = ranker.fit(stream(once), **vali)
        for name in ("fold_test_scores", "mean_test_score"):
            np.testing.assert_array_equal(streamed.cv_results_[name], whole.cv_results_[name])


def test_sparse_rows(case, rng):
    X, y, qid, _ = case
    X = sparse.csr_array(X * (rng.random(X.shape) < 0.5))
    for ranker in (PairwiseELM(20, C=GRID, random_state=0), RidgeRanker(GRID)):
        whole, streamed = fit_both(ranker, (X, y, qid, None), [17, 500])
        np.testing.assert_array_equal(streamed.path_["coef"], whole.path_["coef"])
    with pytest.raises(ValueError, match="dense float64 at row 10"):
        RidgeRanker().fit(stream([(X[:10], y[:10]), (X[10:].toarray(), y[10:])]))


def test_rows_of_a_chunk_may_come_in_any_order(case, rng):
    X, y, qid, _ = case
    order = np.argsort(qid, kind="stable")
    rows = np.concatenate(
        [rng.permutation(part) for part in np.split(order, np.flatnonzero(np.diff(qid[order])) + 1)]
    )
    bounds = [0, 300, 301, 700, len(rows)]
    parts = [rng.permutation(rows[lo:hi]) for lo, hi in itertools.pairwise(bounds)]
    ranker = PairwiseELM(20, C=GRID, random_state=0)
    whole = clone(ranker).fit(X, y, qid=qid)
    parts = [  # a query that goes on must end one chunk and start the next
        np.concatenate(
            [
                part[qid[part] == qid[rows[lo]]],
                part[(qid[part] != qid[rows[lo]]) & (qid[part] != qid[rows[hi - 1]])],
                part[(qid[part] == qid[rows[hi - 1]]) & (qid[rows[hi - 1]] != qid[rows[lo]])],
            ]
        )
        for part, (lo, hi) in zip(parts, itertools.pairwise(bounds), strict=True)
    ]
    streamed = ranker.fit(stream([(X[part], y[part], qid[part]) for part in parts]))
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-9)


def test_a_query_that_comes_back_is_an_error(case):
    X, y, qid, _ = case
    apart = [(X, y, qid), (X[:5], y[:5], qid[:5])]
    with pytest.raises(ValueError, match="came back after other queries"):
        PairwiseELM(5).fit(stream(apart))
    with pytest.raises(ValueError, match="came back"):
        RidgeRanker("cv").fit(stream(apart))
    twice = [np.concatenate([column, column[:5]]) for column in (X, y, qid)]
    whole = RidgeRanker().fit(twice[0], twice[1], qid=twice[2])  # pointwise: no pairs to couple
    np.testing.assert_array_equal(RidgeRanker().fit(stream(apart)).coef_, whole.coef_)


def test_errors_name_the_place_and_the_fix(case):
    X, y, qid, w = case
    bad = X.copy()
    bad[333, 2] = np.nan
    with pytest.raises(
        ValueError, match="starts at row 300 of the stream: Input X contains NaN at row 33"
    ):
        RidgeRanker().fit(stream(chunks((bad, y, qid), [300, 600])))
    with pytest.raises(ValueError, match="row 300 of the stream: X has 4 features"):
        RidgeRanker().fit(stream([(X[:300], y[:300]), (X[300:, :4], y[300:])]))
    with pytest.raises(ValueError, match="float32 first and dense float64 at row 300"):
        RidgeRanker().fit(stream([(X[:300].astype(np.float32), y[:300]), (X[300:], y[300:])]))
    with pytest.raises(ValueError, match="no row is left"):
        RidgeRanker().fit(stream([(X, y, qid, 0 * w)]))
    with pytest.raises(ValueError, match="a stream without any"):
        RidgeRanker().fit(stream([]))
    with pytest.raises(ValueError, match="requires y"):
        RidgeRanker().fit(stream([X]))
    with pytest.raises(TypeError, match="y must be part of the stream"):
        RidgeRanker().fit(stream([(X, y)]), y)
    with pytest.raises(TypeError, match="go through a stream"):
        RidgeRanker().fit(iter([(X, y)]))
    for way in ("loqo", "lpo"):
        with pytest.raises(ValueError, match="needs all rows in memory"):
            RidgeRanker(way).fit(stream([(X, y)]))
    with pytest.raises(ValueError, match="cv must be a number"):
        RidgeRanker("cv", cv=[(np.arange(5), np.arange(5, 9))]).fit(stream([(X, y)]))
    with pytest.raises(ValueError, match="reads the stream three times"):
        RidgeRanker("cv").fit(stream(iter([(X, y, qid)])))
    once = stream(iter([(X, y, qid)]))
    RidgeRanker().fit(once)
    with pytest.raises(ValueError, match="has been read already"):
        RidgeRanker().fit(once)
    for ranker in (PairwiseELM(kernel="rbf"), RankRLS("rbf", approximation="pcg"), CLSRRank()):
        with pytest.raises(ValueError, match="stores them"):
            ranker.fit(stream([(X, y)]))
    with pytest.raises(ValueError, match="landmarks read the stream twice"):
        RankRLS("rbf", approximation="nystroem").fit(stream(iter([(X, y)])))
    changing = iter([(X, y, qid), (X, y, qid[::-1])])
    with pytest.raises(ValueError, match="same rows each time"):
        RidgeRanker("cv").fit(stream(lambda: [next(changing)]))
    with pytest.raises(TypeError, match="fit streams"):
        np.asarray(once)


def test_chunks_without_weight_and_reused_memory(case):
    X, y, qid, w = case
    w = np.where(np.arange(len(w)) < 400, 0.0, w)
    whole = RidgeRanker(GRID).fit(X, y, qid=qid, sample_weight=w)
    buffer = np.empty((100, 5))

    def reused():
        for lo in range(0, len(y), 100):
            rows = slice(lo, lo + 100)
            buffer[: len(y[rows])] = X[rows]
            yield buffer[: len(y[rows])], y[rows], qid[rows], w[rows]
        yield buffer[:0], y[:0], qid[:0], w[:0]

    streamed = RidgeRanker(GRID).fit(stream(reused))
    np.testing.assert_array_equal(streamed.coef_, whole.coef_)
    assert streamed.fit_fingerprint_["n_queries"] == whole.fit_fingerprint_["n_queries"]


def test_scores_and_measures_of_streams(case, rng):
    X, y, qid, w = case
    for target in (y, y - 0.5):
        ranker = PairwiseELM(20, C=1.0, random_state=0).fit(X, target, qid=qid)
        for cuts in cuts_of(rng, len(y)):
            rows = stream(chunks((X, target, qid, w), cuts))
            expected = ranker.score(X, target, w, qid=qid)
            np.testing.assert_allclose(ranker.score(rows), expected, rtol=1e-12)
            np.testing.assert_allclose(np.concatenate([*ranker.predict(rows)]), ranker.predict(X))
    result = evaluate_stream(ranker, stream(chunks((X, y, qid), [77])), ["nDCG@10", "AP"])
    whole = evaluate(y, ranker.predict(X), qid, ["nDCG@10", "AP"])
    assert result.qids.tolist() == whole.qids.tolist()
    for name in whole:
        np.testing.assert_allclose(result.per_query[name], whole.per_query[name], rtol=1e-12)
        np.testing.assert_allclose(result[name], whole[name], rtol=1e-12)
    with pytest.raises(ValueError, match="needs labels"):
        ranker.score(stream([X]))


def test_the_model_of_a_stream_is_saved_and_continued_like_any(case, tmp_path):
    X, y, qid, _ = case
    ranker = RidgeRanker(0.5).fit(stream([(X, y, qid)]))
    again = load(ranker.save(tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
