"""Thresholds of the exponential margin loss against a numerical minimiser."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from rankwise.solvers.boosting.margin_boosting import best_thresholds

FORMS = pytest.mark.parametrize("form", ["all", "lr"])


def loss_at(scores, y, w, thresholds, form):
    """The definition, row by row and threshold by threshold."""
    total = 0.0
    for H, k, weight in zip(scores, y, w, strict=True):
        for j, theta in enumerate(thresholds):
            if form == "all" or j in (k - 1, k):
                total += weight * np.exp(-(H - theta) if k > j else -(theta - H))
    return total


def class_sums(scores, y, w, n_classes):
    return np.stack([np.bincount(y, w * np.exp(s * scores), n_classes) for s in (1, -1)])


def random_rows(rng, n=30, n_classes=5):
    y = np.append(rng.integers(0, n_classes, n - n_classes), np.arange(n_classes))
    return rng.normal(size=n) + 0.3 * y, y, rng.uniform(0.5, 2.0, n)


@FORMS
def test_thresholds_are_the_minimiser_among_ordered_ones(form, rng):
    for _ in range(5):
        scores, y, w = random_rows(rng)
        best = best_thresholds(class_sums(scores, y, w, 5), form)
        assert (np.diff(best.thresholds) >= 0).all()
        assert best.loss == pytest.approx(loss_at(scores, y, w, best.thresholds, form), rel=1e-12)

        def ordered(z):
            return np.cumsum(np.append(z[0], z[1:] ** 2))

        start = np.append(best.thresholds[0] - 0.2, np.sqrt(np.diff(best.thresholds)) + 0.3)
        found = minimize(
            lambda z, rows=(scores, y, w): loss_at(*rows, ordered(z), form),
            start, method="BFGS", options={"gtol": 1e-9},
        )  # fmt: skip
        assert best.loss <= found.fun * (1 + 1e-12)
        assert best.loss == pytest.approx(found.fun, rel=1e-6)


def test_pooling_finds_the_best_of_all_ways_to_pool(rng):
    """Left-right form: thresholds out of order are equal in blocks; enumerate all blocks."""
    pooled = 0
    for _ in range(40):
        sums = rng.uniform(0.1, 2.0, (2, 5))
        best = best_thresholds(sums, "lr")
        least = np.inf
        for cuts in itertools.product([False, True], repeat=3):
            block = np.concatenate([[0], np.cumsum(cuts)])
            below = np.bincount(block, sums[0, :-1])
            above = np.bincount(block, sums[1, 1:])
            thresholds = np.log(below / above) / 2
            if (np.diff(thresholds) >= 0).all():
                least = min(least, 2 * np.sqrt(below * above).sum())
        assert best.loss == pytest.approx(least, rel=1e-12)
        pooled += len(np.unique(best.thresholds)) < 4
    assert pooled > 10


@FORMS
def test_weights_of_the_rows_are_the_derivative_and_cancel(form, rng):
    """A constant step changes the loss by nothing, to first order: a constant never wins."""
    for _ in range(5):
        scores, y, w = random_rows(rng)
        best = best_thresholds(class_sums(scores, y, w, 5), form)
        u = w * (best.up[y] * np.exp(-scores) - best.down[y] * np.exp(scores))
        numeric = np.empty(len(y))
        for i in range(len(y)):
            step = np.zeros(len(y))
            step[i] = 1e-6
            losses = [loss_at(scores + s * step, y, w, best.thresholds, form) for s in (1, -1)]
            numeric[i] = -(losses[0] - losses[1]) / 2e-6
        np.testing.assert_allclose(u, numeric, rtol=1e-6, atol=1e-7)
        assert abs(u.sum()) < 1e-12 * best.loss


@given(st.lists(st.booleans(), min_size=2, max_size=7), st.sampled_from(["all", "lr"]))
def test_classes_without_rows(present, form):
    counts = np.array(present, dtype=float) * np.arange(1, len(present) + 1)
    best = best_thresholds(np.stack([counts, counts]), form)
    assert not np.isnan(best.thresholds).any()
    assert (best.thresholds[:-1] <= best.thresholds[1:]).all()
    assert np.isfinite([best.loss, *best.up, *best.down]).all()
    seen = np.flatnonzero(counts)
    if len(seen):
        assert (best.thresholds[: seen[0]] == -np.inf).all()
        assert (best.thresholds[seen[-1] :] == np.inf).all()
        assert np.isfinite(best.thresholds[seen[0] : seen[-1]]).all()
        finite = best.finite(3.0)
        assert (np.abs(finite) <= 4.0).all()
    for low, high in itertools.pairwise(seen):  # thresholds around an absent class are its gap
        assert len(np.unique(best.thresholds[low:high])) == 1
