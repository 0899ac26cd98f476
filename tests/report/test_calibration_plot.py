"""Calibration plots of estimators and of leaderboards."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import OrdinalSVM, ProportionalOdds, RidgeRanker, compare
from rankwise.metrics import calibration
from rankwise.report import plot_calibration, write_report
from rankwise.report.ordinal_plots import calibrations
from rankwise.selection import query_folds
from tests.selection.helpers import graded_data


@pytest.fixture(scope="module")
def data():
    return graded_data(np.random.default_rng(1), n_queries=60)


@pytest.fixture(scope="module")
def board(data):
    rankers = {"odds": ProportionalOdds(), "svm": OrdinalSVM(C=1.0), "ridge": "ridge"}
    return compare(rankers, data, cv=3, measures=["MAE"], isolate=False)


def test_points_and_intervals_are_those_of_the_calibration(data):
    model = make_pipeline(StandardScaler(), ProportionalOdds()).fit(data.X[:240], data.y[:240])
    X, y = data.X[240:], data.y[240:]
    axes = plot_calibration(model, X, y, n_bins=5).axes[0]
    expected = calibration(y, model.predict_proba(X), [0, 1, 2], n_bins=5)
    diagonal, *drawn = axes.lines
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    for line, one, bars in zip(drawn, expected.lines, axes.collections, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), one.predicted)
        np.testing.assert_array_equal(line.get_ydata(), one.observed)
        ends = [segment[:, 1] for segment in bars.get_segments()]
        np.testing.assert_array_equal(ends, np.column_stack([one.low, one.high]))
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert told == ["label > 0", "label > 1"]
    figure = plot_calibration({"model": model, "given": expected}, X, y)
    assert [one.get_title(loc="left") for one in figure.axes] == ["model", "given"]
    (of_shares,) = plot_calibration(model.predict_proba(X), y=y, n_bins=5).axes
    np.testing.assert_array_equal(of_shares.lines[2].get_ydata(), expected.lines[1].observed)


def test_a_leaderboard_adds_up_the_rows_of_its_folds(board, data):
    found = calibrations(board)
    assert list(found) == ["odds"]  # the SVM without probability=True has no probabilities
    y, shares = [], []
    for fold in query_folds(data, 3):
        model = ProportionalOdds().fit(fold.train.X, fold.train.y)
        y.append(fold.test.y)
        shares.append(model.predict_proba(fold.test.X))
    exact = calibration(np.concatenate(y), np.concatenate(shares))
    for line, other in zip(found["odds"].lines, exact.lines, strict=True):
        assert line.counts.sum() == other.counts.sum() == data.n_samples
        # Rows are kept in narrow bins, so that a few of them lie in the next quantile bin.
        np.testing.assert_allclose(line.predicted, other.predicted, atol=0.01)
        np.testing.assert_allclose(line.observed, other.observed, atol=0.1)


def test_the_page_has_calibration_where_there_are_probabilities(board, data, tmp_path):
    text = write_report(board, tmp_path / "r.html").read_text("utf-8")
    assert 'id="section-calibration"' in text
    plain = compare(["ridge"], data, cv=3, measures=["nDCG@5"], isolate=False)
    assert "section-calibration" not in write_report(plain, tmp_path / "p.html").read_text("utf-8")


def test_what_cannot_be_drawn(data):
    X, y = data.X, data.y
    odds = ProportionalOdds().fit(X, y)
    with pytest.raises(TypeError, match="needs X and y with a ProportionalOdds"):
        plot_calibration(odds, X)
    for other in (RidgeRanker().fit(X, y), OrdinalSVM(C=1.0).fit(X, y)):
        with pytest.raises(TypeError, match=f"with predict_proba, got {type(other).__name__}"):
            plot_calibration(other, X, y)
    with pytest.raises(ValueError, match="at least one estimator, got an empty mapping"):
        plot_calibration({})


def test_many_classes_have_lines_without_markers(rng):
    p = rng.dirichlet(np.ones(12), 300)
    axes = plot_calibration(calibration(rng.integers(0, 12, 300), p)).axes[0]
    assert len(axes.lines) == 12  # and the diagonal
    assert axes.get_legend() is None
