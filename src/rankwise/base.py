"""Base classes of the rankers: routing of qid, ranks, the default score and saving."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rankwise.checks.constant_scores import warn_of_constant_scores
from rankwise.checks.rows import check_target, check_weight, warn_of_one_query
from rankwise.groups import QueryGroups, RowStream
from rankwise.metrics.default import (
    GRADED,
    check_same_kind,
    default_score_name,
    is_graded,
    mean_score,
    measure_of_score,
)
from rankwise.metrics.measure import MeasureLike
from rankwise.persistence import Save
from rankwise.runtime.finite import FiniteResults, names_its_class
from rankwise.runtime.scikit_learn import BaseEstimator, RegressorMixin
from rankwise.structure.state_rules import TRAINED_ON, Number, Rule, Sometimes, Word
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array


class RanksRows:
    """Mixin of estimators whose scores rank the rows of a query."""

    @names_its_class
    def rank(self, X: FrameLike, qid: ArrayLike | QueryGroups | None = None) -> Int64Array:
        """1-based rank of every row within its query; ties keep the input order.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        qid : array-like of shape (n_samples,), optional
            Query of each row. None or a scalar: all rows form one query.

        Returns
        -------
        ndarray of shape (n_samples,), int64

        Warns
        -----
        OneQueryWarning
            If ``qid`` is missing but the model was fitted on several queries.
        """
        if isinstance(X, RowStream):
            raise X._refused(f"{type(self).__name__}.rank")
        scores = np.asarray(self._predict_within(X, qid))
        warn_of_one_query(self, f"{type(self).__name__}.rank", qid, len(scores))
        return QueryGroups.from_qid(qid, len(scores)).ranks(scores)

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Any:
        """Scores of rows for comparisons within queries."""
        raise NotImplementedError(f"{type(self).__name__} must define _predict_within.")


class Ranker(FiniteResults, Save, RanksRows, RegressorMixin, BaseEstimator):
    """Base of all rankers. ``predict`` returns scores; higher is better.

    ``fit`` and ``score`` request ``qid`` (and ``sample_weight`` if the method supports it) from
    scikit-learn's metadata routing, so users only need to enable routing.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        **TRAINED_ON,
        "score_name_": Word(),
        "_fit_on_grades": Sometimes(Number("b")),
    }

    # Parameters that can prevent all learning, and values that cannot.
    _limits: ClassVar[dict[str, Any]] = {}

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True, "sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True, "sample_weight": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row; a higher score ranks higher within its query."""
        raise TypeError(f"{type(self).__name__} must define predict.")

    def score(
        self,
        X: FrameLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> float:
        """Mean over the queries of the measure ``score_name_``; larger is better.

        It is the parameter ``measure``, where the ranker has one, and else depends on the labels of
        the fit: nDCG@10 for grades (integers from 0 to 1000), 1 - pairwise misranking for other
        targets. :func:`rankwise.evaluate` with ``score_name_`` gives the same value.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of the kind of the fit: grades if these were grades.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight zero are left out; the weight of a query is the mean weight of its rows.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one query.

        Returns
        -------
        float
            NaN if no query counts, such as by nDCG@10 if no row is relevant.

        Raises
        ------
        ValueError
            If y holds fractions or negative numbers although the fit had grades, or the measure
            does not apply to y.

        Warns
        -----
        UndefinedMeasureWarning
            If no query counts.
        OneQueryWarning
            If ``qid`` is missing but the model was fitted on several queries.
        """
        scores = np.asarray(self._predict_within(X, qid), dtype=np.float64)
        y = check_target(y, len(scores))
        warn_of_one_query(self, f"{type(self).__name__}.score", qid, len(scores))
        groups = QueryGroups.from_qid(qid, len(scores))
        weight = None if sample_weight is None else check_weight(sample_weight, len(scores))
        return mean_score(self._measure_of_score(y), y, scores, groups, weight)

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Any:
        """Scores used by ``rank`` and ``score``; overridden if scores depend on the query."""
        return self.predict(X)

    _examine_fit = warn_of_constant_scores

    def _set_score_name(self, y: Float64Array) -> None:
        """Choose the measure of ``score`` by the training labels."""
        self.score_name_: str = default_score_name(y, getattr(self, "measure", None))
        self._fit_on_grades = is_graded(y)

    def _measure_of_score(self, y: Float64Array) -> MeasureLike:
        """The measure of ``score``, after a check that ``y`` is of the kind of the fit."""
        name, measure = getattr(self, "score_name_", None), getattr(self, "measure", None)
        if name is None:  # a user's class need not choose a measure in fit
            name = default_score_name(y, measure)
        elif getattr(self, "_fit_on_grades", name == GRADED):  # unknown in older model files
            check_same_kind(y, name)
        return measure_of_score(name, measure)
