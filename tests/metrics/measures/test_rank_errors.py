"""Measures of predicted ranks against scikit-learn, and where they say something else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score
from sklearn.model_selection import cross_val_score

from rankwise import PRank
from rankwise.metrics import evaluate, make_scorer, parse

WEIGHTS = {"none": None, "linear": "linear", "quadratic": "quadratic"}


def one(spec, y, f, preset=None):
    return evaluate(y, f, None, [spec], preset=preset)[spec]


@pytest.mark.parametrize("n_classes", [2, 3, 5, 12])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_kappa_equals_scikit_learn(rng, weights, n_classes):
    for n in (n_classes, 40, 3000):
        y = rng.permutation(np.arange(n) % n_classes)
        f = np.clip(y + rng.integers(-2, 3, n), 0, n_classes - 1)
        wanted = cohen_kappa_score(y, f, weights=WEIGHTS[weights])
        assert one(f"Kappa(weights={weights})", y, f) == pytest.approx(wanted, abs=1e-13)
        assert one("Kappa", y, f, "sklearn") == pytest.approx(cohen_kappa_score(y, f), abs=1e-13)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_kappa_of_labels_with_a_gap_is_that_of_the_whole_range(rng, weights):
    """scikit-learn's default takes 1 and 5 for neighbours where none of 2, 3, 4 appears."""
    y, f = rng.choice([1, 2, 5, 6], 60), rng.choice([1, 2, 5, 6], 60)
    got = one(f"Kappa(weights={weights})", y, f)
    wanted = cohen_kappa_score(y, f, weights=weights, labels=np.arange(1, 7))
    assert got == pytest.approx(wanted, abs=1e-13)
    assert abs(got - cohen_kappa_score(y, f, weights=weights)) > 1e-3


def test_which_queries_have_a_kappa_depends_on_the_labels_alone(rng):
    y, qid = np.array([2, 2, 1, 2]), [0, 0, 1, 1]
    for f in ([2, 2, 2, 2], [2, 1, 1, 2]):
        values = evaluate(y, f, qid, ["Kappa"]).per_query["Kappa"]
        assert np.isnan(values).tolist() == [True, False]
    assert evaluate(y, [2, 2, 2, 2], qid, ["Kappa"])["Kappa"] == 0.0


def test_quadratic_kappa_of_real_scores_is_the_concordance_coefficient(rng):
    y = rng.integers(0, 5, 200)
    f = 0.7 * y + rng.standard_normal(200) + 0.3
    covariance = np.cov(y, f, bias=True)
    lin = 2 * covariance[0, 1] / (np.trace(covariance) + (y.mean() - f.mean()) ** 2)
    assert one("Kappa(weights=quadratic)", y, f) == pytest.approx(lin, rel=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_kappa_is_one_zero_and_free_of_scale(rng, weights):
    spec = f"Kappa(weights={weights})"
    y = rng.integers(0, 4, 300)
    f = np.clip(y + rng.integers(-1, 2, 300), 0, 3)
    assert one(spec, y, y) == 1.0
    assert one(spec, y, np.full(300, 2)) == pytest.approx(0.0, abs=1e-14)
    assert one(spec, y * 1e160, f * 1e160) == pytest.approx(one(spec, y, f), rel=1e-12)
    assert one(spec, y + 1e6, f + 1e6) == pytest.approx(one(spec, y, f), rel=1e-9)


def test_macro_mae_of_two_classes_is_one_less_balanced_accuracy(rng):
    y, f = rng.random(200) < 0.1, rng.random(200) < 0.3
    assert one("MacroMAE", y, f) == pytest.approx(1 - balanced_accuracy_score(y, f), rel=1e-13)


def test_macro_mae_is_the_mae_where_classes_are_of_one_size(rng):
    y = np.repeat(np.arange(5), 20)
    f = rng.integers(0, 5, 100)
    assert one("MacroMAE", y, f) == pytest.approx(one("MAE", y, f), rel=1e-13)


def test_within_no_rank_is_accuracy_and_within_all_is_one(rng):
    y, f = rng.integers(0, 5, 100), rng.integers(0, 5, 100)
    assert one("Within(ranks=0)", y, f) == pytest.approx(1 - one("ZeroOne", y, f), rel=1e-13)
    assert one("Within(ranks=4)", y, f) == 1.0


def test_which_measures_read_labels():
    labels = {"MAE", "ZeroOne", "MacroMAE", "Within", "Kappa"}
    from rankwise.metrics._table import MEASURES

    assert {name for name in MEASURES if parse(name).reads_labels} == labels


def test_no_rows_and_queries_of_one_class():
    for spec in ("Kappa", "Kappa(weights=none)", "MacroMAE"):
        assert math.isnan(one(spec, [], []))
    assert one("MacroMAE", [3, 3], [3, 5]) == 1.0


@pytest.mark.parametrize("spec", ["MAE", "Kappa", "MacroMAE", "ZeroOne", "nDCG@5"])
def test_scorer_reads_named_classes_by_their_rank(spec, rng):
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    classes = np.array(["poor", "fair", "good"])
    names = classes[y]
    scorer = make_scorer(spec)
    numbers = PRank(random_state=0).fit(X, y)
    named = PRank(random_state=0, classes=classes).fit(X, names)
    assert scorer(named, X, names) == scorer(numbers, X, y)
    folds = cross_val_score(clone(named), X, names, scoring=scorer, cv=3)
    assert np.isfinite(folds).all()
