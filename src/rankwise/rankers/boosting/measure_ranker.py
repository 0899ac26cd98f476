"""Base of the linear rankers that directly optimise a measure."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.rows import check_fit, check_rows, check_validation
from rankwise.groups import QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.default import is_graded
from rankwise.metrics.measure import Measure
from rankwise.metrics.undefined_means import refuse_constant
from rankwise.rows.fit_data import FitData
from rankwise.solvers.boosting.measured_rows import MeasuredRows
from rankwise.structure.rules import Plain, Rule, Sometimes, floats, forget
from rankwise.typing import ArrayLike, Float64Array, FrameLike


class MeasureRanker(Ranker):
    """Base of the linear rankers that directly optimise a measure of the training queries.

    A subclass has the parameter ``measure`` and defines ``_learn``, which sets ``coef_``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": floats("n_features_in_"),
        "measure_curve_": Plain(),
        "validation_scores_": Sometimes(Plain()),
    }

    # A repeated row would occupy two ranks of its query, which no weight can express.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": UNUSED}

    coef_: Float64Array
    measure: str

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` is also evaluated.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid (the message names it), or if the measure cannot be optimised.
        """
        self._validate_params()
        forget(self)
        data = check_fit(self, X, y, qid)
        validation = check_validation(self, data, X_val, y_val, qid_val)
        measure = self._check_measure(parse(self.measure))
        self._set_score_name(data.y)
        if is_graded(data.y) and data.y.min() < data.y.max():  # other labels are scaled
            refuse_constant(measure, data.y, "The weights")
        self._learn(MeasuredRows(data, measure), validation, measure)
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher."""
        check_is_fitted(self)
        return np.asarray(check_rows(self, X) @ self.coef_, dtype=np.float64)

    def _check_measure(self, measure: Measure) -> Measure:
        if measure.reads_labels:
            raise ValueError(
                f"measure must be a measure of rankings, got {str(measure)!r}, a measure of "
                "predicted labels. Use for example 'nDCG@10'."
            )
        return measure

    def _learn(self, rows: MeasuredRows, validation: FitData | None, measure: Measure) -> None:
        raise TypeError(f"{type(self).__name__} must define _learn.")
