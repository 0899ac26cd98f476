"""What every ranker and ordinal estimator of the registry does alike."""

from __future__ import annotations

import copy
import inspect
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import rankwise
from rankwise import QueryGroups
from rankwise._registry import REGISTRY
from tests.common.estimators import NO_REPETITION, ORDINAL, RANKERS, accepts, row_scores, small

# Rankers whose fit compares no rows, at least as the registry has them.
POINTWISE = ["linear_regression", "ridge", "pointwise_elm", "elmrank", "svr", "lssvr", "model_tree"]
POINTWISE += ["mc_rank", "calibrated_ranker"]
pytestmark = pytest.mark.parametrize("key", RANKERS + ORDINAL)
TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def scores(key, X, y, qid, at=None, **fit_params):
    return row_scores(small(key).fit(X, y, qid=qid, **fit_params), X if at is None else at)


def any_order(key):
    if "online" in REGISTRY[key].tags:
        pytest.skip("the order of the rows is a part of its data")


# Order and types of the rows ---------------------------------------------------------------------


def test_interleaved_queries_are_the_grouped_ones(key, judged):
    any_order(key)
    X, y, qid = judged
    grouped = np.argsort(qid, kind="stable")
    np.testing.assert_allclose(
        scores(key, X[grouped], y[grouped], qid[grouped], at=X), scores(key, X, y, qid), **TIGHT
    )


def test_order_of_rows_and_queries_does_not_matter(key, judged, rng):
    any_order(key)
    X, y, qid = judged
    expected = scores(key, X, y, qid)
    for _ in range(3):
        rows = rng.permutation(len(y))
        np.testing.assert_allclose(
            scores(key, X[rows], y[rows], qid[rows], at=X), expected, **TIGHT
        )


def test_order_does_not_matter_where_rows_and_queries_repeat(key, rng):
    """Where many queries have the same distinct rows, the number of each tells them apart."""
    any_order(key)
    n, qid = 72, rng.integers(0, 12, 72)
    X = (rng.random((n, 1)) < 0.5).astype(float)
    y = np.minimum(2, X[:, 0] + (rng.random(n) < 0.4)).astype(int)
    rows = np.concatenate([np.arange(n), np.flatnonzero(qid < 2)])
    X, y, qid = X[rows], y[rows], np.concatenate([qid, qid[qid < 2] + 12])
    expected = scores(key, X, y, qid)
    by_query = [np.flatnonzero(qid == q) for q in rng.permutation(np.unique(qid))]
    for rows in (np.concatenate(by_query), rng.permutation(len(y))):
        np.testing.assert_allclose(
            scores(key, X[rows], y[rows], qid[rows], at=X), expected, **TIGHT
        )
    renamed = rng.permutation(14)[qid]
    np.testing.assert_allclose(scores(key, X, y, renamed, at=X), expected, **TIGHT)


# Of these, the others choose a penalty or a depth on X_val by default, or a round in any case.
CHOOSE = {
    "lambdamart": {"early_stopping_rounds": 2},
    "lightgbm": {"early_stopping_rounds": 2},
    "xgboost": {"early_stopping_rounds": 2},
    "catboost": {"early_stopping_rounds": 2},
    "rank_net": {"early_stopping_rounds": 1},
    "list_net": {"early_stopping_rounds": 1},
    "list_mle": {"early_stopping_rounds": 1},
    "lambda_rank": {"early_stopping_rounds": 1},
    "ranking_tree": {"max_depth": "val"},
    "pointwise_elm": {"C": "val"},
    "ridge": {"alpha": "val"},
    "rank_svm": {"C": "val"},
}


def test_order_of_validation_rows_does_not_matter(key, rng):
    """Many scores are tied; in the order of the labels, ties would look like a good ranking."""
    if not accepts(key, "X_val"):
        pytest.skip("fit takes no validation rows")
    qid = rng.integers(0, 10, 150)
    X = (rng.random((150, 2)) < 0.5).astype(float)
    y = np.minimum(2, X[:, 0] + (rng.random(150) < 0.4)).astype(int)
    fit, val = np.arange(90), 90 + np.arange(60)
    expected = None
    for order in (np.lexsort((-y[val], qid[val])), np.argsort(y[val]), rng.permutation(60)):
        rows = val[order]
        ranker = small(key, **CHOOSE.get(key, {}))
        ranker.fit(
            X[fit], y[fit], qid=qid[fit], X_val=X[rows], y_val=y[rows], qid_val=qid[rows]
        )  # fmt: skip
        expected = row_scores(ranker, X) if expected is None else expected
        np.testing.assert_array_equal(row_scores(ranker, X), expected)


def test_any_type_of_qid(key, judged):
    X, y, qid = judged
    expected = scores(key, X, y, qid)
    objects = np.empty(len(qid), dtype=object)
    objects[:] = [("query", int(q)) for q in qid]
    pd = pytest.importorskip("pandas")
    for typed in (
        qid.astype(str),
        qid.astype(np.int8),
        -qid.astype(float) / 3,
        qid.astype("datetime64[D]"),
        objects,
        list(qid),
        pd.Series(qid).astype("category"),
        pd.Series(qid.astype(str)),
        QueryGroups.from_qid(qid, len(qid)),
    ):
        np.testing.assert_allclose(scores(key, X, y, typed), expected, **TIGHT)


def test_no_qid_is_one_query(key, judged):
    X, y, _ = judged
    one = row_scores(small(key).fit(X, y, qid=np.zeros(len(y))), X)
    np.testing.assert_allclose(row_scores(small(key).fit(X, y), X), one, **TIGHT)


def test_queries_without_a_pair_are_refused_where_the_fit_needs_one(key, judged):
    X, y, qid = judged
    for labels, queries, told in [
        (np.ones(len(y)), qid, "equal labels in each of the"),
        (y, np.arange(len(y)), "queries of one row each"),
    ]:
        if key in ORDINAL or key in POINTWISE:
            assert np.isfinite(scores(key, X, labels, queries)).all()
            continue
        with pytest.raises(ValueError, match=told):
            small(key).fit(X, labels, qid=queries)


# Forms of X --------------------------------------------------------------------------------------


def test_float32_rows(key, judged):
    X, y, qid = judged
    X = X.astype(np.float32)
    single = small(key).fit(X, y, qid=qid)
    double = small(key).fit(X.astype(np.float64), y, qid=qid)
    assert row_scores(single, X).dtype == np.float64
    np.testing.assert_allclose(
        row_scores(single, X), row_scores(double, X), atol=1e-3 * np.ptp(row_scores(double, X))
    )


def test_sparse_rows_are_the_dense_ones(key, judged, rng):
    X, y, qid = judged
    X = np.where(rng.random(X.shape) < 0.5, 0.0, X)
    expected = scores(key, X, y, qid)
    unsorted = sparse.csr_matrix(X)
    for row in range(len(y)):
        entries = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
        unsorted.indices[entries] = unsorted.indices[entries][::-1]
        unsorted.data[entries] = unsorted.data[entries][::-1]
    unsorted.has_sorted_indices = False
    for rows in (sparse.csr_array(X), sparse.csr_matrix(X), sparse.coo_array(X), unsorted):
        ranker = small(key).fit(rows, y, qid=qid)
        np.testing.assert_allclose(row_scores(ranker, rows), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(row_scores(ranker, X), expected, rtol=1e-9, atol=1e-9)


def test_read_only_memory_mapped_rows(key, judged, tmp_path):
    expected = scores(key, *judged)
    joblib.dump(judged, tmp_path / "data")
    X, y, qid = joblib.load(tmp_path / "data", mmap_mode="r")
    assert isinstance(X, np.memmap)
    assert not y.flags.writeable
    np.testing.assert_array_equal(scores(key, X, y, qid), expected)


@pytest.mark.parametrize("order", ["F", "strided"])
def test_layout_of_the_rows_does_not_matter(key, order, judged):
    X, y, qid = judged
    other = np.asfortranarray(X) if order == "F" else np.repeat(X, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(scores(key, other, y, qid), scores(key, X, y, qid))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_column_names(key, library, judged):
    frames = pytest.importorskip(library)
    X, y, qid = judged
    names = ["bm25", "length", "pagerank", "clicks", "age"]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    ranker = small(key).fit(frame, frames.Series(y), qid=frames.Series(qid))
    assert list(ranker.feature_names_in_) == names
    np.testing.assert_array_equal(row_scores(ranker, frame), scores(key, X, y, qid))
    with pytest.raises(ValueError, match="feature names"):
        row_scores(ranker, frame[names[::-1]])


# Determinism and copies --------------------------------------------------------------------------


def test_fit_repeats_itself_and_changes_nothing(key, judged):
    X, y, qid = judged
    before = copy.deepcopy((X, y, qid))
    ranker = small(key)
    parameters = copy.deepcopy(ranker.get_params())
    first = row_scores(ranker.fit(X, y, qid=qid), X)
    np.testing.assert_array_equal(row_scores(ranker.fit(X, y, qid=qid), X), first)
    assert ranker.get_params() == parameters
    for array, old in zip((X, y, qid), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_refit_forgets_the_first_rows(key, judged):
    X, y, qid = judged
    ranker = small(key).fit(np.hstack([X, X]) ** 2, -y)
    ranker.fit(X, y, qid=qid)
    np.testing.assert_array_equal(row_scores(ranker, X), scores(key, X, y, qid))
    assert ranker.n_features_in_ == 5


def test_refit_forgets_the_validation_rows_of_the_first(key, judged):
    X, y, qid = judged
    ranker = small(key)
    if "X_val" not in inspect.signature(ranker.fit).parameters:
        pytest.skip("takes no validation rows")
    validation = {"X_val": X[:40], "y_val": y[:40], "qid_val": qid[:40]}
    accepted = inspect.signature(ranker.fit).parameters.keys() & validation.keys()
    ranker.fit(X, y, qid=qid, **{name: validation[name] for name in accepted})
    ranker.fit(X, y, qid=qid)
    assert vars(ranker).keys() == vars(small(key).fit(X, y, qid=qid)).keys()


def test_number_of_threads_does_not_matter(key, rng, monkeypatch):
    # Work is shared out from 3,000 rows on; exact kernels, whose time is cubic, share out 512.
    is_exact_kernel = getattr(small(key), "kernel", None) not in (None, "linear")
    n = 1500 if is_exact_kernel else 5000
    X, y, qid = rng.normal(size=(n, 6)), rng.integers(0, 4, n), rng.integers(0, n // 25, n)
    all_threads = {"n_jobs": None} if "n_jobs" in small(key).get_params() else {}
    got = []
    for threads in ("1", "2"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        got.append(row_scores(small(key, **all_threads).fit(X, y, qid=qid), X))
    # Bits are the same but for BLAS, which may divide its work by the number of threads.
    np.testing.assert_allclose(got[0], got[1], rtol=1e-10, atol=1e-10)


def test_copies_score_the_same(key, judged, tmp_path):
    X, y, qid = judged
    ranker = small(key).fit(X, y, qid=qid)
    expected = row_scores(ranker, X)
    for again in (
        rankwise.load(ranker.save(tmp_path / "model")),
        rankwise.load(rankwise.save(rankwise.load(tmp_path / "model"), tmp_path / "second")),
        pickle.loads(pickle.dumps(ranker)),
        copy.deepcopy(ranker),
        clone(ranker).fit(X, y, qid=qid),
    ):
        assert type(again) is type(ranker)
        assert again.get_params() == ranker.get_params()
        assert again.score_name_ == ranker.score_name_
        assert again.fit_fingerprint_ == ranker.fit_fingerprint_
        np.testing.assert_array_equal(row_scores(again, X), expected)


def test_model_file_describes_the_ranker(key, judged, tmp_path):
    X, y, qid = judged
    ranker = small(key).fit(X, y, qid=qid)
    header = rankwise.persistence.describe(ranker.save(tmp_path / "model"))
    assert header["estimator"].endswith(f".{type(ranker).__name__}")
    assert header["params"].keys() == ranker.get_params().keys()
    assert header["n_features"] == 5
    assert header["fingerprint"]["n_samples"] == len(y)
    assert header["fingerprint"]["n_queries"] == len(np.unique(qid))


# Weights -----------------------------------------------------------------------------------------


def weighted(key):
    if not accepts(key, "sample_weight"):
        pytest.skip("a weight would not be repetition here, so none is accepted")


def test_integer_weights_are_repetition(key, judged, rng):
    weighted(key)
    if key in NO_REPETITION:
        pytest.skip("the library weighs rows or queries where repetition would weigh pairs")
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = scores(key, X[rows], y[rows], qid[rows], at=X)
    np.testing.assert_allclose(
        scores(key, X, y, qid, sample_weight=weight), repeated, rtol=1e-9, atol=1e-9
    )


def test_rows_of_zero_weight_are_not_there(key, judged):
    weighted(key)
    X, y, qid = judged
    kept = np.arange(len(y)) % 3 > 0
    with_noise = np.where(kept[:, None], X, 1e6)
    np.testing.assert_array_equal(
        scores(key, with_noise, y, qid, at=X, sample_weight=kept.astype(float)),
        scores(key, X[kept], y[kept], qid[kept], at=X),
    )


def test_weights_of_one_are_no_weights(key, judged):
    weighted(key)
    X, y, qid = judged
    np.testing.assert_allclose(
        scores(key, X, y, qid, sample_weight=np.ones(len(y))), scores(key, X, y, qid), **TIGHT
    )


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda n: np.zeros(n), "sample_weight must not be all zero"),
        (lambda n: np.full(n, -1.0), "sample_weight must be >= 0, got -1.0 at row 0"),
        (lambda n: np.full(n, np.nan), "sample_weight contains NaN or infinity at row 0"),
        (lambda n: np.ones(n + 1), "sample_weight must have n_samples"),
        (lambda n: np.ones((n, 2)), "Sample weights must be 1D"),
    ],
)
def test_bad_weights_are_named(key, weight, message, judged):
    weighted(key)
    X, y, qid = judged
    with pytest.raises(ValueError, match=message):
        small(key).fit(X, y, qid=qid, sample_weight=weight(len(y)))


# Errors ------------------------------------------------------------------------------------------


def test_missing_values_are_named_or_handled(key, judged):
    X, y, qid = judged
    pd = pytest.importorskip("pandas")
    holes = X.copy()
    holes[7, 2] = np.nan
    if small(key).__sklearn_tags__().input_tags.allow_nan:
        assert np.isfinite(scores(key, holes, y, qid)).all()
    else:
        with pytest.raises(ValueError, match=r"Input X contains NaN at row 7, column 2\."):
            small(key).fit(holes, y, qid=qid)
        frame = pd.DataFrame(holes, columns=list("abcde"))
        with pytest.raises(ValueError, match=r"at row 7, column 2 \('c'\)"):
            small(key).fit(frame, y, qid=qid)
        with pytest.raises(ValueError, match=r"at row 7, column 2\."):
            small(key).fit(sparse.csr_array(holes), y, qid=qid)
        with pytest.raises(ValueError, match=r"at row 7, column 2\."):
            row_scores(small(key).fit(X, y, qid=qid), holes)


def test_infinite_values_are_named(key, judged):
    X, y, qid = judged
    X[3, 4] = -np.inf
    with pytest.raises(ValueError, match="Input X contains infinity at row 3, column 4"):
        small(key).fit(X, y, qid=qid)


def test_qid_of_wrong_length_is_named(key, judged):
    X, y, qid = judged
    n = len(y)
    message = f"qid must have n_samples={n} entries, got {n - 2}. Pass one query id per row of X."
    ranker = small(key)
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        ranker.fit(X, y, qid=qid[:-2])
    ranker.fit(X, y, qid=qid)
    for method in (lambda ids: ranker.score(X, y, qid=ids), lambda ids: ranker.rank(X, ids)):
        with pytest.raises(ValueError, match="qid must have n_samples"):
            method(qid[:-2])
    with pytest.raises(ValueError, match="qid must not be missing, got NaN at row 1"):
        ranker.fit(X, y, qid=np.where(np.arange(n) == 1, np.nan, qid))


def test_rows_are_checked_before_labels(key, judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match="Input X contains infinity"):
        small(key).fit(X * np.inf, np.full(len(y), np.nan), qid=qid[:3])
    with pytest.raises(ValueError, match="Input y contains NaN at row 0"):
        small(key).fit(X, np.full(len(y), np.nan), qid=qid[:3])
    with pytest.raises(ValueError, match="y must have n_samples"):
        small(key).fit(X, y[:-1], qid=qid[:3])


def test_predict_checks_its_rows(key, judged):
    X, y, qid = judged
    with pytest.raises(NotFittedError):
        row_scores(small(key), X)
    ranker = small(key).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match=r"X has 4 features, but \w+ is expecting 5 features"):
        row_scores(ranker, X[:, :4])


def test_validation_rows_are_checked(key, judged):
    if not accepts(key, "X_val"):
        pytest.skip("no validation data")
    X, y, qid = judged

    def fit(**validation):
        small(key).fit(X, y, qid=qid, **validation)

    with pytest.raises(ValueError, match="X_val needs y_val"):
        fit(X_val=X)
    with pytest.raises(ValueError, match="y_val needs X_val"):
        fit(y_val=y)
    with pytest.raises(ValueError, match="qid_val needs X_val"):
        fit(qid_val=qid)
    with pytest.raises(ValueError, match="y_val must have n_samples"):
        fit(X_val=X, y_val=y[:-1])
    with pytest.raises(ValueError, match="Input X_val contains infinity at row 0, column 0"):
        fit(X_val=X * np.inf, y_val=y)
    with pytest.raises(ValueError, match="features"):
        fit(X_val=X[:, :3], y_val=y)
    with pytest.raises(ValueError, match="n_samples"):
        fit(X_val=X, y_val=y, qid_val=qid[:-1])


# Scores and ranks --------------------------------------------------------------------------------


def test_scores_of_a_row_do_not_depend_on_its_neighbours(key, judged):
    X, y, qid = judged
    ranker = small(key).fit(X, y, qid=qid)
    all_rows = row_scores(ranker, X)
    np.testing.assert_allclose(
        np.concatenate([row_scores(ranker, X[[row]]) for row in range(10)]), all_rows[:10], **TIGHT
    )
