"""scikit-learn's own checks, but for what ordinal estimators do on purpose."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from rankwise._registry import REGISTRY
from rankwise.labels import OrdinalReduction
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from tests.common.estimators import NO_REPETITION, QUERY_WEIGHTS, small

ESTIMATORS = {}
for key in REGISTRY:
    try:
        ESTIMATORS[key] = small(key)
    except pytest.skip.Exception:
        continue
ESTIMATORS["ordinal_svm(probability=True)"] = small("ordinal_svm", probability=True)

# The first estimator of each ``fit`` passes all checks. The others share its code: each passes
# every third check, a different third for neighbours.
SHARE = 3


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
# The check sets cv. Without it, weights are repetitions of all estimators: see the common tests.
FOLDS_WITHOUT_WEIGHTS = dict.fromkeys(REPETITION, "folds judge every row once")
WITHIN_A_QUERY = {"check_sample_weights_not_overwritten": "weights differ within a query"}


def excused(key, estimator):
    """Checks that an estimator fails on purpose."""
    if key in NO_REPETITION:
        return REPETITION | (WITHIN_A_QUERY if key in QUERY_WEIGHTS else {})
    if key == "lambdamart":
        return FOLDS_WITHOUT_WEIGHTS
    is_ordinal = isinstance(estimator, (OrdinalRanker, OrdinalReduction))
    has_calibrated = getattr(estimator, "probability", False)
    return (UNORDERED_TEXT if is_ordinal else {}) | (OWN_THRESHOLDS if has_calibrated else {})


def chosen_checks():
    """Pairs of an estimator and a check, named by both."""
    seen = set()
    for number, (key, estimator) in enumerate(ESTIMATORS.items()):
        fit = type(estimator).fit
        checks = estimator_checks_generator(
            estimator, expected_failed_checks=excused(key, estimator), mark="xfail"
        )
        for place, given in enumerate(checks):
            pair, marks = (given.values, given.marks) if hasattr(given, "marks") else (given, ())
            if fit in seen:
                marks = [*marks, pytest.mark.slow]
            if fit not in seen or (place - number) % SHARE == 0:
                name = getattr(pair[1], "func", pair[1]).__name__.removeprefix("check_")
                yield pytest.param(*pair, marks=marks, id=f"{key}-{place}-{name}")
        seen.add(fit)


@pytest.mark.parametrize(("estimator", "check"), list(chosen_checks()))
def test_scikit_learn_check(estimator, check):
    check(estimator)
