"""Splits keep queries whole, cover every row once, and balance the queries."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.model_selection import learning_curve as sklearn_learning_curve

from rankwise import RidgeRanker, compare
from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.exceptions import OneQueryWarning
from rankwise.metrics import make_scorer
from rankwise.selection import learning_curve
from rankwise.selection.splits import QueryKFold, convert_to_folds, letor_folds, query_folds
from tests.selection.helpers import graded_data


def make_data(qid, name="made"):
    qid = np.asarray(qid)
    X = np.arange(2 * len(qid), dtype=np.float64).reshape(-1, 2)
    return RankingData(X, np.arange(len(qid), dtype=float), qid=qid, name=name)


def compare_ridge(data, cv):
    return compare(["ridge"], data, cv=cv)


def learn_ridge(data, cv):
    return learning_curve(["ridge"], data, [2], cv=cv)


@given(
    qid=st.lists(st.integers(0, 8), min_size=3, max_size=60).filter(lambda q: len(set(q)) >= 3),
    shuffle=st.booleans(),
    as_text=st.booleans(),
)
def test_parts_are_whole_queries_that_cover_all_rows_once(qid, shuffle, as_text):
    ids = np.array([f"q{q}" for q in qid]) if as_text else np.array(qid)
    splitter = QueryKFold(3, shuffle=shuffle, random_state=4 if shuffle else None)
    tested = np.zeros(len(ids), dtype=int)
    n_queries = []
    for train, test in splitter.split(np.empty((len(ids), 1)), qid=ids):
        assert not set(ids[train]) & set(ids[test])
        assert sorted([*train, *test]) == list(range(len(ids)))
        tested[test] += 1
        n_queries.append(len(set(ids[test])))
    assert (tested == 1).all()
    assert max(n_queries) - min(n_queries) <= 1


def test_shuffling_is_seeded_and_differs_from_blocks():
    qid = np.repeat(np.arange(20), 2)

    def tests(**params):
        return [b.tolist() for _, b in QueryKFold(4, **params).split(qid[:, None], groups=qid)]

    assert tests()[0] == list(range(10))
    assert tests(shuffle=True, random_state=1) == tests(shuffle=True, random_state=1)
    assert tests(shuffle=True, random_state=1) != tests(shuffle=True, random_state=2)
    assert tests(shuffle=True, random_state=1) != tests()
    assert QueryKFold(4).get_n_splits() == 4


@pytest.mark.parametrize(
    ("splitter", "qid", "message"),
    [
        (QueryKFold(3), None, "needs the query of every row"),
        (QueryKFold(3), ["a", "a", "b", "b"], "between 2 and n_queries=2, got 3"),
        (QueryKFold(2, random_state=1), ["a", "a", "b", "b"], "no effect with shuffle=False"),
        (QueryKFold(2), ["a", "b"], "n_samples=4 entries, got 2"),
    ],
)
def test_wrong_use_names_the_rule(splitter, qid, message):
    with pytest.raises(ValueError, match=message):
        list(splitter.split(np.empty((4, 1)), groups=qid))


def test_a_search_needs_the_qid_only(rng):
    qid = np.repeat([f"q{i}" for i in range(12)], 5)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 3, 60).astype(float)
    seen = []

    class Recorder(QueryKFold):
        def split(self, X, y=None, groups=None, qid=None):
            for train, test in super().split(X, y, groups, qid):
                seen.append((train, test))
                yield train, test

    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=Recorder(3)).fit(X, y, qid=qid)
        scores = cross_validate(Ridge(), X, y, cv=Recorder(4), params={"groups": qid})
    assert search.n_splits_ == 3
    assert len(scores["test_score"]) == 4
    assert len(seen) == 7
    assert all(not set(qid[a]) & set(qid[b]) for a, b in seen)


def searches():
    """Ways of scikit-learn to split rows and to pass the qid on."""
    cv, params = QueryKFold(3), {"alpha": [0.1, 1.0]}
    return {
        "GridSearchCV": lambda X, y, qid: GridSearchCV(RidgeRanker(), params, cv=cv).fit(
            X, y, qid=qid
        ),
        "RandomizedSearchCV": lambda X, y, qid: RandomizedSearchCV(
            RidgeRanker(), params, n_iter=1, cv=cv
        ).fit(X, y, qid=qid),
        "cross_val_score": lambda X, y, qid: cross_val_score(
            RidgeRanker(), X, y, cv=cv, params={"qid": qid}
        ),
        "cross_val_predict": lambda X, y, qid: cross_val_predict(
            RidgeRanker(), X, y, cv=cv, params={"qid": qid}
        ),
        "learning_curve": lambda X, y, qid: sklearn_learning_curve(
            RidgeRanker(), X, y, cv=cv, params={"qid": qid}
        ),
        "StackingRegressor": lambda X, y, qid: StackingRegressor(
            [("ridge", RidgeRanker())], RidgeRanker(), cv=cv
        ).fit(X, y, qid=qid),
    }


@pytest.mark.parametrize("name", searches())
def test_routing_that_is_switched_off_is_named(rng, name):
    X, y, qid = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    with (
        sklearn.config_context(enable_metadata_routing=False),
        pytest.raises(ValueError, match="enable_metadata_routing=True") as caught,
    ):
        searches()[name](X, y, qid)
    assert "set_config" in str(caught.value)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match="QueryKFold needs the query") as caught:
            [*QueryKFold(3).split(X)]
        assert "routing" not in str(caught.value)


def test_a_scorer_without_qid_names_routing_that_is_switched_off(rng):
    X, y, qid = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    for scoring in (None, make_scorer("nDCG@10")):
        options = {"cv": QueryKFold(3), "groups": qid, "params": {"qid": qid}, "scoring": scoring}
        with pytest.warns(OneQueryWarning, match="enable_metadata_routing=True"):
            cross_val_score(RidgeRanker(), X, y, **options)


def test_letor_rotation_is_that_of_letor():
    data = make_data(np.repeat(np.arange(1, 11), 3))  # S1 holds queries 1 and 2, and so on
    folds = letor_folds(data, 5)
    assert folds.fold_names == ("fold1", "fold2", "fold3", "fold4", "fold5")
    parts = {i: [2 * i - 1, 2 * i] for i in range(1, 6)}
    table = {1: (1, 2, 3, 4, 5), 2: (2, 3, 4, 5, 1), 3: (3, 4, 5, 1, 2), 4: (4, 5, 1, 2, 3),
             5: (5, 1, 2, 3, 4)}  # fmt: skip
    for fold, (a, b, c, vali, test) in zip(folds, table.values(), strict=True):
        assert fold.train.groups.ids.tolist() == parts[a] + parts[b] + parts[c]
        assert fold.vali.groups.ids.tolist() == parts[vali]
        assert fold.test.groups.ids.tolist() == parts[test]
    with pytest.raises(ValueError, match="n_splits must be >= 3"):
        letor_folds(data, 2)


@pytest.mark.parametrize("cv", ["auto", 4, 3, GroupKFold(4), QueryKFold(4)])
def test_fold_i_tests_and_fold_i_plus_1_validates(cv, rng):
    qid = rng.permutation(np.repeat([f"q{i}" for i in range(13)], 4))
    folds = list(query_folds(make_data(qid), cv))
    tests = [set(fold.test.qid) for fold in folds]
    for i, fold in enumerate(folds):
        assert set(fold.vali.qid) == tests[(i + 1) % len(folds)]
        assert set(fold.train.qid) == set(qid) - set(fold.vali.qid) - tests[i]
        assert fold.train.n_samples + fold.vali.n_samples + fold.test.n_samples == len(qid)
        assert (np.diff(fold.train.X[:, 0]) > 0).all()  # the rows keep their order
    assert sorted(q for test in tests for q in test) == sorted(set(qid))
    assert len(folds) == {"auto": 5}.get(cv, getattr(cv, "n_splits", cv))


def test_folds_of_little_data():
    two = list(query_folds(make_data(["a", "a", "b", "b"])))
    assert [fold.vali for fold in two] == [None, None]
    assert [fold.train.qid[0] for fold in two] == [fold.test.qid[0] for fold in two[::-1]]
    three = list(query_folds(make_data([1, 2, 3])))
    assert len(three) == 3
    assert all(fold.vali.n_samples == 1 for fold in three)
    with pytest.raises(ValueError, match="at least 2 queries"):
        query_folds(make_data([5, 5, 5]))


def test_a_splitter_that_cuts_queries_is_refused():
    with (
        pytest.warns(UserWarning, match="groups parameter is ignored by KFold"),
        pytest.raises(ValueError, match="puts query 'b' into both parts of fold 1"),
    ):
        query_folds(make_data(["a", "b", "b", "c", "c", "d"]), KFold(3))


def test_sparse_rows_and_weights_travel_with_the_folds():
    qid = np.repeat(np.arange(6), 2)
    data = RankingData(
        sparse.csr_array(np.arange(24.0).reshape(12, 2)), np.arange(12.0), qid=qid,
        sample_weight=np.arange(12.0) + 1,
    )  # fmt: skip
    for fold in query_folds(data, 3):
        for part in (fold.train, fold.vali, fold.test):
            rows = part.y.astype(int)
            np.testing.assert_array_equal(part.X.toarray(), data.X.toarray()[rows])
            np.testing.assert_array_equal(part.sample_weight, rows + 1)
            np.testing.assert_array_equal(part.qid, qid[rows])


@pytest.mark.parametrize("cv", [-1, 0, 1, 5, np.int64(7), True])
@pytest.mark.parametrize("run", [convert_to_folds, query_folds, compare_ridge, learn_ridge])
def test_cv_beyond_the_queries_is_named(cv, run):
    said = rf"cv must lie between 2 and the number of queries, 4, got {cv}\. Use cv=2 to 4"
    with pytest.raises(ValueError, match=said):
        run(make_data(np.repeat(np.arange(4), 2)), cv=cv)


@pytest.mark.parametrize("data", [np.zeros((4, 2)), [1, 2], None], ids=["array", "list", "None"])
@pytest.mark.parametrize("cv", ["auto", 3])
def test_what_holds_no_rows_is_refused_by_kind(data, cv):
    with pytest.raises(TypeError, match="data must be a frame, a RankingData, a Fold"):
        convert_to_folds(data, cv)


def test_whatever_holds_folds_is_taken():
    data = make_data(np.repeat(np.arange(6), 2))
    fold = Fold(data.queries([0, 1, 2]), data.queries([3]), data.queries([4, 5]), "only")
    assert convert_to_folds(fold).fold_names == ("only",)
    assert convert_to_folds([fold, fold]).fold_names == ("fold1", "fold2")
    folded = FoldedData("mine", ("a",), lambda i: fold)
    assert convert_to_folds(folded).fold_names == ("a",)
    assert convert_to_folds(folded)[0] is fold
    twice = FoldedData("mine", ("a", "a"), lambda i: fold)
    assert convert_to_folds(twice).fold_names == ("fold1", "fold2")
    with pytest.raises(ValueError, match="already have folds"):
        convert_to_folds(fold, 3)
    with pytest.raises(TypeError, match="RankingData, a Fold, a FoldedData or a sequence"):
        convert_to_folds([data.X])
    with pytest.raises(TypeError, match="sequence of Fold"):
        convert_to_folds([])


@pytest.mark.parametrize(
    ("make", "fix"),
    [
        (lambda table: "lambdarank", r"got 'lambdarank'. Load it first: load_dataset\('lambdarank"),
        (lambda table: (table.X, table.y), r"a tuple of 2 \(ndarray, ndarray\).*RankingData\(X, y"),
        (lambda table: [(table.X, table.y)] * 2, r"of 2 \(tuple, tuple\).*Fold\(train, vali, test"),
        (lambda table: (table, table), r"Fold\(train, vali, test\), with None"),
        (lambda table: table.X, r"got ndarray. Combine arrays"),
        (lambda table: [], "got a list of 0"),
        (lambda table: None, "got NoneType"),
    ],
)
def test_what_is_no_data_is_told_how_to_become_data(make, fix):
    table = RankingData(np.zeros((4, 1)), np.arange(4.0), qid=np.array([1, 1, 2, 2]))
    with pytest.raises(TypeError, match=fix):
        convert_to_folds(make(table))


def test_folds_show_their_names():
    def folded(name, n):
        return repr(FoldedData(name, tuple(f"fold{i + 1}" for i in range(n)), lambda i: None))

    assert folded("mine", 1) == "FoldedData('mine': 1 folds, fold1)"
    assert folded("", 2) == "FoldedData(2 folds, fold1, fold2)"
    assert folded("m", 5).endswith("fold4, fold5)")
    assert folded("m", 9).endswith("fold5, …)")


def test_iterables_of_splits_are_taken_as_they_are(rng):
    data = graded_data(rng, n_queries=6)
    parts = [np.flatnonzero(data.qid % 3 == k) for k in range(3)]
    rows = [(np.setdiff1d(np.arange(data.n_samples), test), test) for test in parts]
    masks = [(data.qid % 3 != k, data.qid % 3 == k) for k in range(3)]
    for cv in (rows, iter(rows), masks, LeaveOneGroupOut()):
        folds = query_folds(data, cv)
        expected = 6 if isinstance(cv, LeaveOneGroupOut) else 3
        assert len(folds) == expected
        if expected == 3:
            for fold, test in zip(folds, parts, strict=True):
                np.testing.assert_array_equal(fold.test.y, data.y[test])


def test_wrong_splits_are_refused(rng):
    data = graded_data(rng, n_queries=6)
    with pytest.raises(ValueError, match=r"puts query .* into both parts of fold 1"):
        query_folds(data, [(np.arange(10), np.arange(10, data.n_samples))])
    with pytest.raises(ValueError, match="fold 1 has 0 and"):
        query_folds(data, [(np.zeros(0, dtype=int), np.arange(data.n_samples))])
    with pytest.raises(ValueError, match="Expected `cv` as an integer"):
        query_folds(data, 2.5)
    for cv in (None, "five"):
        with pytest.raises(ValueError, match=f'cv must be "auto", a number .* got {cv!r}'):
            query_folds(data, cv)
