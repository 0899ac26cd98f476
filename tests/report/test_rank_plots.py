"""Confusion and thresholds: the numbers behind the plots, the plots, their place in the page."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from rankwise import RidgeRanker, compare
from rankwise.metrics import confusion
from rankwise.report import plot_confusion, plot_thresholds, write_report
from rankwise.report.axes import light
from rankwise.report.ordinal_plots import confusions, densities, density
from tests.ordinal_column import OrdinalColumn
from tests.report.test_report import Page
from tests.selection.helpers import graded_data


@pytest.fixture(scope="module")
def compared():
    data = graded_data(np.random.default_rng(3), n_queries=30)
    rankers = {"ordinal": OrdinalColumn(), "shifted": OrdinalColumn(shift=0.4), "ridge": "ridge"}
    return compare(rankers, data, cv=3, measures=["MAE", "nDCG@5"])


@pytest.fixture
def labelled(rng):
    y = rng.integers(1, 5, 400)
    X = (y + rng.normal(0, 0.7, 400))[:, None]
    return X, y


def squares(axes):
    """Colour and darkness by (predicted, label)."""
    return {
        (round(patch.get_x() + 0.47), round(patch.get_y() + 0.47)): (
            to_hex(patch.get_facecolor()),
            patch.get_alpha(),
        )
        for patch in axes.patches
    }


def test_confusion_is_drawn_in_rank_order(labelled):
    X, y = labelled
    found = confusion(y, OrdinalColumn().fit(X, y).predict(X))
    figure = plot_confusion(found)
    assert isinstance(figure, Figure)
    axes = figure.axes[0]
    drawn = squares(axes)
    assert len(drawn) == 16
    share = found.counts / found.support[:, None]
    for (predicted, label), (colour, depth) in drawn.items():
        assert colour == light("accent" if predicted == label else "worse")
        assert depth == pytest.approx(np.sqrt(share[label, predicted]))
    told = {(int(t.get_position()[0]), int(t.get_position()[1])): t.get_text() for t in axes.texts}
    assert told == {
        (j, i): f"{found.counts[i, j]:.0f}"
        for i in range(4)
        for j in range(4)
        if found.counts[i, j]
    }
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["1", "2", "3", "4"]


def test_confusion_of_something_else():
    with pytest.raises(ValueError, match="found must hold at least one Confusion, got an empty"):
        plot_confusion({})
    for other in (np.eye(3), {"a": np.eye(3)}, None):
        with pytest.raises(TypeError, match=r"found must be a Confusion .* got (ndarray|NoneType)"):
            plot_confusion(other)


def test_many_classes_have_no_numbers_and_few_names(rng):
    y = rng.integers(0, 30, 500)
    axes = plot_confusion({"many": confusion(y, rng.integers(0, 30, 500))}).axes[0]
    assert len(axes.texts) == 0
    assert len(axes.get_xticks()) == 10
    assert axes.get_title(loc="left") == "many"


def test_thresholds_cut_the_scores_of_every_class(labelled):
    X, y = labelled
    model = OrdinalColumn().fit(X, y)
    found = density(model, X, y)
    scores = model.rank_score(X)
    inside = (scores >= found.edges[0]) & (scores <= found.edges[-1])
    np.testing.assert_array_equal(found.heights.sum(axis=1), np.bincount(y[inside])[1:])
    axes = plot_thresholds(model, X, y).axes[0]
    vertical = [line.get_xdata()[0] for line in axes.lines if line.get_xdata()[0] not in (0, 1)]
    np.testing.assert_allclose(sorted(vertical), model.thresholds_)
    assert axes.get_title(loc="left") == "OrdinalColumn"
    assert axes.get_ylim()[0] < 0  # below the line of the lowest class


def test_what_thresholds_cannot_be_drawn_of(labelled):
    X, y = labelled
    model = OrdinalColumn().fit(X, y)
    with pytest.raises(TypeError, match="takes a fitted ordinal estimator, got RidgeRanker"):
        plot_thresholds(RidgeRanker().fit(X, y), X, y)
    with pytest.raises(TypeError, match="fitted"):
        plot_thresholds(OrdinalColumn(), X, y)
    with pytest.raises(ValueError, match="classes of the fit, got 7"):
        plot_thresholds(model, X[:2], [1, 7])


def test_text_classes(labelled):
    X, y = labelled
    names = np.array(["a", "b", "c", "d"])[y - 1]
    axes = plot_thresholds(OrdinalColumn(classes=list("abcd")).fit(X, names), X, names).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list("abcd")


def test_a_leaderboard_has_the_sum_of_its_folds(compared):
    found = confusions(compared)
    assert list(found) == [row["ranker"] for row in compared.rows() if row["ranker"] != "ridge"]
    assert found["ordinal"].support.sum() == sum(info.n_rows for info in compared.fold_infos)
    # Queries are of one size here, so that the mean over queries is that over rows.
    by_name = {row["ranker"]: row["mean"] for row in compared.rows()}
    for name, one in found.items():
        assert one.mae == pytest.approx(by_name[name])
    first = densities(compared)
    assert [one.name for one in first] == list(found)
    assert all(len(one.thresholds) == 2 for one in first)


def test_the_page_shows_both_where_classes_are_predicted(compared, tmp_path):
    text = write_report(compared, tmp_path / "r.html").read_text("utf-8")
    page = Page(text)
    assert {"section-confusion", "section-thresholds"} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "% at most one rank off" in page.text
    plain = compare("ridge", graded_data(np.random.default_rng(0)), cv=2)
    text = write_report(plain, tmp_path / "p.html").read_text("utf-8")
    assert "section-confusion" not in text
    assert "section-thresholds" not in text


def test_folds_that_lack_a_class_are_added_up_all_the_same():
    class Board:
        folds = ("one", "two")

        def rows(self):
            return [{"ranker": "r", "rank": 1}, {"ranker": "failed", "rank": None}]

        def cell(self, ranker, fold):
            class FoldResult:
                ranks = {
                    "one": {"classes": [0.0, 1.0], "counts": [[3, 1], [0, 2]]},
                    "two": {"classes": [1.0, 2.0], "counts": [[5, 0], [1, 4]]},
                }[fold]

            return FoldResult

    found = confusions(Board())["r"]
    assert found.classes.tolist() == [0, 1, 2]
    assert found.counts.tolist() == [[3, 1, 0], [0, 7, 0], [0, 1, 4]]
