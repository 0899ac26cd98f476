"""Learning curves: nested training queries, the same test queries, means of the leaderboards."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from rankwise.metrics import evaluate
from rankwise.selection import compare, learning_curve

from .helpers import Column, graded_data, one_fold


class Fitted(Column):
    """Weights are covariances, so that each training part gives others; keeps the queries."""

    seen: ClassVar[list] = []

    def fit(self, X, y, *, qid=None, sample_weight=None):
        super().fit(X, y, qid=qid)
        type(self).seen.append(np.unique(qid))
        self.weights_ = X.T @ (y - y.mean())
        return self

    def predict(self, X):
        return X @ self.weights_


@pytest.fixture
def data(rng):
    return graded_data(rng, n_queries=20)


def test_training_queries_are_nested_and_test_queries_the_same(data):
    Fitted.seen.clear()
    curve = learning_curve(Fitted(), data, [6, 2, 10], cv=4, measures="AP", isolate=False)
    assert curve.sizes.tolist() == [2, 6, 10]
    seen = np.array(Fitted.seen, dtype=object).reshape(3, 4)
    for fold in range(4):
        parts = [set(part.tolist()) for part in seen[:, fold]]
        assert [len(part) for part in parts] == [2, 6, 10]
        assert parts[0] < parts[1] < parts[2]
        test = set(curve.boards[0].fold_infos[fold].qids)
        assert not parts[2] & test
    for board in curve.boards:
        np.testing.assert_array_equal(board.qids, curve.boards[0].qids)
    assert len({tuple(sorted(part.tolist())) for part in seen[0]}) > 1  # folds draw their own


def test_points_are_the_means_of_fits_on_the_queries(data, rng):
    fold = one_fold(rng)
    curve = learning_curve(
        {"fitted": Fitted(), "column": Column(1)}, fold, [3, 10], measures=["nDCG@5", "AP"],
        isolate=False,
    )  # fmt: skip
    order = np.random.default_rng([0, 0]).permutation(10)
    for place, size in enumerate((3, 10)):
        train = fold.train.queries(order[:size])
        scores = Fitted().fit(train.X, train.y, qid=train.qid).predict(fold.test.X)
        for measure in ("nDCG@5", "AP"):
            expected = evaluate(fold.test.y, scores, fold.test.qid, [measure])[measure]
            assert curve.means(measure)["fitted"][place] == pytest.approx(expected)
        row = next(r for r in curve.boards[place].rows() if r["ranker"] == "fitted")
        assert curve.intervals()["fitted"][place].tolist() == [row["low"], row["high"]]
    assert np.ptp(curve.means()["column"]) == 0
    assert (curve.rankers, curve.measure) == (
        [r["ranker"] for r in curve.boards[1].rows()],
        "nDCG@5",
    )
    text = str(curve).splitlines()
    assert text[0] == "nDCG@5"
    assert text[1].split()[-2:] == curve.rankers
    assert text[2].split() == ["3", *(f"{curve.means()[name][0]:.4f}" for name in curve.rankers)]


def test_all_training_queries_give_the_comparison_itself(rng):
    fold = one_fold(rng)
    curve = learning_curve("ridge", fold, [10], measures="AP", isolate=False)
    board = compare("ridge", fold, measures="AP", isolate=False)
    np.testing.assert_array_equal(curve.boards[0].per_query()["ridge"], board.per_query()["ridge"])


def test_a_failure_leaves_a_gap(data):
    class Demanding(Fitted):
        def fit(self, X, y, *, qid=None, sample_weight=None):
            if len(np.unique(qid)) < 5:
                raise ValueError("too few queries")
            return super().fit(X, y, qid=qid)

    curve = learning_curve(Demanding(), data, [2, 8], cv=5, measures="AP", isolate=False)
    assert np.isnan(curve.means()["Demanding"]).tolist() == [True, False]
    assert "nan" in str(curve)


def test_progress_store_and_columns_of_a_frame(data, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data.X, columns=list("abcd")).assign(grade=data.y, session=data.qid)
    told = []
    options = {"label": "grade", "qid": "session", "cv": 2, "measures": "AP", "isolate": False}
    curve = learning_curve(
        ["ridge", "linear_regression"], frame, [4, 8], store=tmp_path,
        progress=lambda done, total, cell: told.append((done, total)), **options,
    )  # fmt: skip
    assert told == [(n, 8) for n in range(1, 9)]
    again = learning_curve(["ridge", "linear_regression"], frame, [8], store=tmp_path, **options)
    np.testing.assert_array_equal(again.means()["ridge"], curve.means()["ridge"][1:])
    assert len(list((tmp_path).rglob("*.npz"))) == 8


@pytest.mark.parametrize("sizes", [[], [0, 5], [5, 13], [2.5], ["a"]])
def test_sizes_that_cannot_be(data, sizes):
    with pytest.raises(ValueError, match="sizes must be whole numbers from 1 to 12, the training"):
        learning_curve("ridge", data, sizes)
