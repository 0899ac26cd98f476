"""scikit-learn's own checks, none excused."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise._registry import REGISTRY
from tests.common.estimators import small

ESTIMATORS = []
for key in REGISTRY:
    try:
        ESTIMATORS.append(small(key))
    except pytest.skip.Exception:
        continue


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
