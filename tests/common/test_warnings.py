"""Warnings of ``fit`` point to the line that calls it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.common.estimators import small

STOPPED = {
    "rank_svm": {"tol": 1e-12},
    "pruned_rank_svm": {"tol": 1e-12},
    "rank_lr": {"tol": 1e-12},
    "svrank": {"tol": 1e-12},
    "ordinal_svm": {},
    "poly_ordinal_svm": {"tol": 1e-12},
    "proportional_odds": {},
}


@pytest.mark.parametrize("key", STOPPED)
def test_no_convergence_is_told_at_the_callers_line(key, rng):
    X, y, qid = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), np.repeat(range(6), 10)
    estimator = small(key, max_iter=1, **STOPPED[key])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        estimator.fit(X, y, qid=qid)
    assert {warning.category for warning in told} == {ConvergenceWarning}
    assert {warning.filename for warning in told} == {__file__}
