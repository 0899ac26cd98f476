"""scikit-learn scorers for the measures of labels."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from rankwise.metrics._table import LABEL_MEASURES
from rankwise.metrics.labels.label_evaluation import evaluate_labels
from rankwise.metrics.labels.label_sets import SetMeasure
from rankwise.metrics.labels.propensity import PropensityPrecision
from rankwise.metrics.measure import Measure
from rankwise.metrics.spec import parse
from rankwise.typing import ArrayLike, Matrix


class LabelScorer(BaseEstimator):
    """Scorer of one measure of labels, by its full spec."""

    def __init__(self, measure: str) -> None:
        self.measure = measure

    def score(self, estimator: Any, X: Any, y: ArrayLike | Matrix) -> float:
        """Value of the measure on the rows, negated if smaller is better."""
        measure = parse(self.measure, also=LABEL_MEASURES)
        if isinstance(measure, SetMeasure):
            result = evaluate_labels(y, None, measure, predicted=estimator.predict(X))
        else:
            result = evaluate_labels(y, estimator.decision_function(X), measure)
        value = result[str(measure)]
        return value if measure.greater_is_better else -value

    __call__ = score


def make_label_scorer(measure: str | Measure = "Hamming") -> LabelScorer:
    """Make a scorer of label matrices for ``GridSearchCV``, ``cross_validate`` and similar tools.

    Parameters
    ----------
    measure : str or Measure
        Measure of :func:`rankwise.metrics.evaluate_labels` except PSP, whose propensities come
        from the training part. Measures of sets use ``predict``, others ``decision_function``.

    Returns
    -------
    scorer
        ``scorer(estimator, X, Y)``; the value is negated if smaller is better.

    Raises
    ------
    ValueError
        If there is no such measure, or the measure is PSP.

    Examples
    --------
    >>> make_label_scorer("LRAP")
    LabelScorer(measure='LRAP(rel=1,empty=1)')
    """
    parsed = parse(measure, also=LABEL_MEASURES)
    if isinstance(parsed, PropensityPrecision):
        raise ValueError("PSP needs the propensities of the training part: use evaluate_labels.")
    return LabelScorer(str(parsed))
