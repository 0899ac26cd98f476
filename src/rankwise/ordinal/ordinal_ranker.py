"""Bases of all ordinal estimators: ordered classes, thresholds on one score, ranks, saving."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from rankwise.base import RanksRows
from rankwise.checks.classes import are_whole, class_positions, ordinal_labels
from rankwise.checks.column_sizes import ColumnLimit
from rankwise.checks.constant_scores import warn_of_constant_scores
from rankwise.checks.rows import check_fit, check_target, check_weight, routing_hint
from rankwise.equation import Equation, fit_equation
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics.default import (
    check_same_kind,
    default_score_name,
    mean_score,
    measure_of_score,
)
from rankwise.metrics.measure import MeasureLike
from rankwise.metrics.spec import parse
from rankwise.persistence import Save
from rankwise.prediction import grades_of
from rankwise.runtime.finite import FiniteResults
from rankwise.runtime.frames import Table
from rankwise.runtime.scikit_learn import BaseEstimator, ClassifierMixin
from rankwise.structure.state_rules import (
    TRAINED_ON,
    ClassLabels,
    Number,
    Plain,
    Rule,
    Sometimes,
    Word,
    floats,
)
from rankwise.tuning import PenaltySearch
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array


class OrdinalRanker(FiniteResults, Save, RanksRows, ClassifierMixin, BaseEstimator):
    """Base of all ordinal estimators: classifiers for ordered classes that rank by one score.

    A subclass accepts ``classes``, sets ``thresholds_`` in ``fit`` and defines ``rank_score``. The
    class number of a row is the number of thresholds that its score reaches. ``fit`` and ``score``
    request ``qid`` (and ``sample_weight`` if the method supports it) from scikit-learn's metadata
    routing.

    ``classes_`` ascends: sorted numbers, or the order that the parameter ``classes`` or an ordered
    categorical dtype declares. ``thresholds_`` ascends, too, and ``score_name_`` is the name of the
    measure that ``score`` returns.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        **TRAINED_ON,
        "classes_": ClassLabels("n_classes"),
        "thresholds_": floats("n_classes - 1"),
        "score_name_": Word(),
    }

    # Parameters that can prevent all learning, and values that cannot.
    _limits: ClassVar[dict[str, Any]] = {}

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}

    classes: ArrayLike | None = None
    n_features_in_: int
    classes_: NDArray[Any]
    score_name_: str
    thresholds_: Float64Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags

    _examine_fit = warn_of_constant_scores

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Score that ranks the rows; higher is better.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        raise TypeError(f"{type(self).__name__} must define rank_score.")

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of every row; its number is the number of thresholds that the score reaches.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
        """
        scores = self.rank_score(X)
        return self.classes_[np.searchsorted(self.thresholds_, scores, side="right")]

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Distance of the score from the thresholds of each class, in scikit-learn's shape.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            For two classes: score minus threshold, positive for the upper class. For more: distance
            of the score from the nearer threshold of each class, negative if the score lies outside
            the class. The predicted class has the largest value.
        """
        return class_margins(np.asarray(self.rank_score(X), dtype=np.float64), self.thresholds_)

    @available_if(lambda estimator: callable(estimator.predict_proba))
    def predict_log_proba(self, X: FrameLike) -> Float64Array:
        """Logarithm of ``predict_proba``, if the estimator has it; minus infinity for 0.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
        """
        model: Any = self
        with np.errstate(divide="ignore"):
            return np.log(model.predict_proba(X))

    def score(
        self,
        X: FrameLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> float:
        """Mean over the queries of the measure ``score_name_``; larger is better.

        It is the parameter ``measure``, where the estimator has one, and else MAE; losses are
        negated. Measures of predicted ranks read ``predict``, others ``rank_score``.
        :func:`rankwise.evaluate` with ``score_name_`` gives the same value.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True classes. Numbers are used as they are, even if the fit had no such class; named
            classes become ranks from 0.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. The weight of a query is the mean weight of its rows, which
            also weigh within it by MAE, ZeroOne and Within.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one query, so all rows have equal weight.

        Returns
        -------
        float
            NaN if no query counts.

        Raises
        ------
        ValueError
            If y holds text or ordered categories that are not in ``classes_``, or fractions or
            negative numbers although all classes are whole numbers from 0 on.

        Warns
        -----
        UndefinedMeasureWarning
            If no query counts.
        """
        are_numbers = self.classes_.dtype.kind in "biuf"
        measure = measure_of_score(self.score_name_, getattr(self, "measure", None))
        reads_labels = parse(measure).reads_labels
        read = self.predict(X) if reads_labels else self.rank_score(X)
        if reads_labels and not are_numbers:
            read = class_positions(read, self.classes_, len(read))
        labels = check_target(grades_of(self, y), len(read))
        groups = QueryGroups.from_qid(qid, len(labels))
        weight = None if sample_weight is None else check_weight(sample_weight, len(labels))
        if are_numbers and are_whole(self.classes_):
            check_same_kind(labels, self.score_name_)
        return mean_score(measure, labels, np.asarray(read, float), groups, weight)

    def _set_score_name(self, y: Float64Array | None = None) -> None:
        """Choose the measure of ``score``, which no labels of the fit decide."""
        self.score_name_ = default_score_name(np.zeros(1), getattr(self, "measure", "MAE"))

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Any:
        return self.rank_score(X)


def check_ordinal_fit(
    estimator: OrdinalRanker,
    X: FrameLike | Table,
    y: ArrayLike | None,
    qid: ArrayLike | QueryGroups | None,
    sample_weight: ArrayLike | None = None,
    *,
    accept_sparse: bool = True,
    allow_nan: bool = False,
    by_query: str | None = None,
    column_limit: ColumnLimit | None = None,
) -> FitData:
    """Check the rows, with class numbers as ``y``, and set ``classes_`` and ``score_name_``.

    ``by_query`` is the parameter setting that requires ``qid``, as written in the error message.
    None: ``qid`` is optional.
    """
    data = check_fit(
        estimator,
        X,
        y,
        qid,
        sample_weight,
        accept_sparse=accept_sparse,
        allow_nan=allow_nan,
        read_classes=partial(ordinal_labels, classes=estimator.classes),
        column_limit=column_limit,
    )
    if by_query is not None and qid is None:
        raise ValueError(
            f"{by_query} needs qid, the query of each row, got qid=None. Pass qid to fit, or "
            f"qid=np.zeros(n_samples) if all rows form one query.{routing_hint()}"
        )
    assert data.classes is not None
    estimator.classes_ = data.classes
    estimator._set_score_name()
    return data


def class_margins(scores: Float64Array, thresholds: Float64Array) -> Float64Array:
    """Distances of the scores from the thresholds, see :meth:`OrdinalRanker.decision_function`."""
    above = scores[:, None] - thresholds
    # A score on a threshold belongs to the class above it.
    tiny = np.finfo(np.float64).tiny
    if len(thresholds) == 1:
        return np.where(above[:, 0] == 0, tiny, above[:, 0])
    below = np.where(above == 0, -tiny, -above)
    margins = np.full((len(scores), len(thresholds) + 1), np.inf)
    margins[:, 1:] = above
    margins[:, :-1] = np.minimum(margins[:, :-1], below)
    return margins if len(thresholds) else np.zeros((len(scores), 1))


class SearchedOrdinalRanker(OrdinalRanker):
    """Base of ordinal estimators that are solved along C; a subclass defines ``_equation``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "C_": Number(low=0, finite=False),
        "n_iter_": Number("i", low=0),
        "objective_": Number(finite=False),
        "path_": Plain(),
        "cv_results_": Sometimes(Plain()),
    }

    measure: MeasureLike
    cv: Any
    C_: float

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Train on rows of ordered classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Features. For a precomputed kernel: the kernel values between the rows, shape
            (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Ordered classes: numbers, an ordered categorical, or text with ``classes``.
        qid : array-like of shape (n_samples,), optional
            Query of each row, for folds and measures. Required by ``costs="err"``.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w copies of it.
        X_val, y_val, qid_val : optional
            Validation rows for the search over a list or "val".

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        rows = fit_equation(self, X, y, qid, sample_weight, (X_val, y_val, qid_val))
        self._complete_fit(rows)
        return self

    @property
    def _query_setting(self) -> str | None:
        """Parameter setting that requires ``qid``, as error messages write it."""
        return None

    def _equation(self) -> Equation:
        raise NotImplementedError(f"{type(self).__name__} must define _equation.")

    def _check_fit(
        self, equation: Equation, search: PenaltySearch, X: Any, y: Any, qid: Any, weight: Any
    ) -> FitData:
        limit = equation.features.column_limit
        return check_ordinal_fit(
            self, X, y, qid, weight, by_query=self._query_setting, column_limit=limit
        )

    def _complete_fit(self, rows: FitData) -> None:
        """Fit what needs the published solution."""


def ordinal_codes(y: ArrayLike, classes: ArrayLike | None = None) -> Int64Array:
    """Position of every label among its ordered classes, from 0 for the lowest.

    Some tools of scikit-learn change the classes before an ordinal estimator sees them.
    ``BaggingClassifier``, ``VotingClassifier``, ``StackingClassifier`` and ``cross_val_predict`` of
    probabilities number classes in alphabetical order; ``AdaBoostClassifier`` drops the order of a
    categorical. Pass codes to these tools.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels: text, numbers or an ordered categorical.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. None: the categories of an ordered categorical, or the sorted
        numbers.

    Returns
    -------
    ndarray of shape (n_samples,), int64
        Class numbers. ``numpy.asarray(classes)[codes]`` recovers the labels.

    Raises
    ------
    ValueError
        If y is text without an order, or if a label is missing or is not one of the classes.

    Examples
    --------
    >>> from rankwise.ordinal import ordinal_codes
    >>> ordinal_codes(["good", "poor", "fair"], ["poor", "fair", "good"])
    array([2, 0, 1])
    """
    return ordinal_labels(y, classes=classes).codes
