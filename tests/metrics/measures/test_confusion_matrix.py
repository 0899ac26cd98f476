"""Confusion in rank order against scikit-learn and against the measures of the same rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix, recall_score

from rankwise.metrics import confusion, evaluate


@pytest.fixture
def rows(rng):
    y = rng.integers(0, 5, 300)
    return y, np.clip(y + rng.integers(-2, 3, 300), 0, 4)


def test_counts_and_recall_equal_scikit_learn(rows):
    y, f = rows
    found = confusion(y, f)
    np.testing.assert_array_equal(found.counts, confusion_matrix(y, f))
    np.testing.assert_allclose(found.recall, recall_score(y, f, average=None), rtol=1e-14)


def test_what_follows_from_the_counts_is_what_the_measures_say(rows):
    y, f = rows
    found = confusion(y, f)
    kappas = {w: found.kappa(w) for w in ("linear", "quadratic", "none")}
    specs = ["MAE", "MacroMAE", "Within(ranks=1)", "Within(ranks=0)"]
    specs += [f"Kappa(weights={w})" for w in kappas]
    wanted = [found.mae, found.macro_mae, found.within(1), found.accuracy, *kappas.values()]
    assert list(evaluate(y, f, None, specs).values()) == pytest.approx(wanted, rel=1e-12)
    by_class = [np.abs(y - f)[y == k].mean() for k in range(5)]
    np.testing.assert_allclose(found.class_mae, by_class, rtol=1e-13)


def test_weights_are_repetitions(rng, rows):
    y, f = rows
    weight = rng.integers(0, 4, len(y))
    found = confusion(y, f, sample_weight=weight)
    repeated = confusion(np.repeat(y, weight), np.repeat(f, weight), range(5))
    np.testing.assert_array_equal(found.counts, repeated.counts)
    wanted = cohen_kappa_score(y, f, weights="quadratic", sample_weight=weight)
    assert found.kappa("quadratic") == pytest.approx(wanted, rel=1e-12)


def test_classes_in_another_order_than_they_sort():
    sizes = ["small", "large", "medium", "small"]
    guessed = ["medium", "large", "large", "small"]
    order = ["small", "medium", "large"]
    found = confusion(sizes, guessed, order)
    assert found.counts.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 1]]
    declared = pd.Series(pd.Categorical(sizes, order, ordered=True))
    again = confusion(declared, guessed)
    assert again.classes.tolist() == order
    np.testing.assert_array_equal(again.counts, found.counts)


def test_a_class_without_rows_has_no_recall_and_counts_for_no_mean():
    found = confusion([1, 3, 3], [2, 3, 1], [1, 2, 3])
    assert np.isnan(found.recall).tolist() == [False, True, False]
    assert found.class_mae[[0, 2]].tolist() == [1.0, 1.0]
    assert (found.macro_mae, found.support.tolist()) == (1.0, [1, 0, 2])
    assert str(found).count("nan") == 2 and found.to_dict()["macro_mae"] == 1.0


def test_labels_of_one_class_have_no_kappa():
    found = confusion([2, 2], [1, 2], [1, 2])
    assert np.isnan(found.kappa())
    assert np.isnan(confusion([], [], [1, 2]).mae)


@pytest.mark.parametrize(
    ("y", "predicted", "classes", "message"),
    [
        ([1, 2], [1], None, r"equal length, got shapes \(2,\) and \(1,\)"),
        ([1, 4], [1, 2], [1, 2], r"y must hold classes, got 4. Classes: \[1, 2\]"),
        ([1, 2], [1, 4], [1, 2], "predicted must hold classes, got 4"),
        ([1, 2], [1, 2], [1, 2, 1], "every class once"),
        ([1.0, np.nan], [1, 2], None, "contains NaN at row 1"),
    ],
)
def test_what_cannot_be_counted(y, predicted, classes, message):
    with pytest.raises(ValueError, match=message):
        confusion(y, predicted, classes)
    with pytest.raises(ValueError, match="weights must be one of"):
        confusion([1, 2], [1, 2]).kappa("cubic")
