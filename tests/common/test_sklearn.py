"""scikit-learn's own checks, but for what ordinal estimators do on purpose."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise import OrdinalReduction
from rankwise._registry import REGISTRY
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from tests.common.estimators import NO_REPETITION, QUERY_WEIGHTS, small

ESTIMATORS = []
for key in REGISTRY:
    try:
        ESTIMATORS.append(small(key))
    except pytest.skip.Exception:
        continue
ESTIMATORS.append(small("ordinal_svm", probability=True))


# The check fits "one", "two", "three" and expects them in alphabetical order, which ordinal
# estimators refuse. Common tests fit text in a declared order.
UNORDERED_TEXT = {"check_classifiers_classes": "text classes need a declared order"}
# Calibrated probabilities have thresholds of their own, as those of scikit-learn's SVC.
OWN_THRESHOLDS = {"check_classifiers_train": "predict is not the most probable class"}
# Adapters pass weights on to libraries that weigh rows or whole queries, not pairs.
REPETITION = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weight is no repetition"
    for kind in ("dense", "sparse")
}
WITHIN_A_QUERY = {"check_sample_weights_not_overwritten": "weights differ within a query"}


def excused(estimator):
    """Checks that an estimator fails on purpose."""
    key = type(estimator).__module__.rpartition(".")[2]
    if key in NO_REPETITION:
        return REPETITION | (WITHIN_A_QUERY if key in QUERY_WEIGHTS else {})
    is_ordinal = isinstance(estimator, (OrdinalRanker, OrdinalReduction))
    has_calibrated = getattr(estimator, "probability", False)
    return (UNORDERED_TEXT if is_ordinal else {}) | (OWN_THRESHOLDS if has_calibrated else {})


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=excused)
def test_scikit_learn_check(estimator, check):
    check(estimator)
