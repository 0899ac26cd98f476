"""Base of all multi-label estimators: label formats, decisions, ranks, score and saving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.classes import order_labels
from rankwise.checks.label_data import (
    LabelData,
    TargetForm,
    check_label_fit,
    check_truth,
    ones_of_mask,
)
from rankwise.checks.rows import check_rows, check_weight
from rankwise.metrics.measures.label_measures import Hamming, count_ones
from rankwise.persistence import Save
from rankwise.runtime.finite import FiniteResults
from rankwise.runtime.scikit_learn import BaseEstimator, ClassifierMixin
from rankwise.structure.state_rules import TRAINED_ON, ClassLabels, Rule, Word
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix, SparseMatrix

# Largest number of label scores held in memory by predict: 128 MB.
MOST_SCORES = 2**24
# Class scores within this relative distance of the largest are ties, broken by class order.
TIE = 1e-12


class MultiLabel(FiniteResults, Save, ClassifierMixin, BaseEstimator):
    """Base of all multi-label estimators: a score for every label of every row.

    A subclass defines ``_fit(X, Y, sample_weight)`` for checked rows, with Y as a CSR matrix of
    ones for all label formats, and ``_label_scores(X)``, the scores of checked rows. A label is
    predicted if its score exceeds one half, unless the subclass overrides ``_predict_labels``.
    ``fit`` and ``score`` request ``sample_weight`` from scikit-learn's metadata routing.

    ``classes_`` holds the names of the labels: the columns of a frame, the tags, or the classes if
    y held one class for every row; otherwise numbers. ``target_form_`` is the format of the labels
    in ``fit`` and ``predict``, and ``score_name_`` the name of the measure that ``score`` returns.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        **TRAINED_ON,
        "classes_": ClassLabels("n_classes"),
        "target_form_": Word(),
        "score_name_": Word(),
    }

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": True}

    classes_: NDArray[Any]
    target_form_: TargetForm

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike | Matrix,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on rows with any number of labels.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels), or (n_samples,)
            Label matrix: 1 if a label is relevant, 0 if not. Alternatively, one class for every
            row, or a list of tags for every row, ``[["cat", "indoor"], ["dog"], []]``. A dense
            column of shape (n_samples, 1) is one class for every row, as in scikit-learn; a sparse
            column is a single label. ``classes_`` holds the column names of a frame, or the tags.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w copies of it.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        self._validate_params()
        data = check_label_fit(self, X, y, sample_weight)
        self._set_form(data)
        self._fit(data.X, data.Y, data.sample_weight)
        return self

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Scores of the labels; higher scores are more relevant.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels), float64
            If y held two classes, shape (n_samples,): score of the second class minus that of the
            first.
        """
        X = self._check_rows(X)
        if self.target_form_ != "classes":
            return self._label_scores(X)
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: FrameLike) -> Any:
        """Labels of every row, in the format of y in ``fit``.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray or CSR of shape (n_samples, n_labels), int64, or ndarray of shape (n_samples,)
            1 for predicted labels; or the class of the largest score, of the type of ``classes_``.
            If y held lists of tags: a list of tuples of tags.
        """
        X = self._check_rows(X)
        if self.target_form_ == "classes":
            return self.classes_[self._class_scores(X).argmax(axis=1)]
        if self.target_form_ == "sparse":
            return self._predict_ones(X)
        if self.target_form_ == "tags":
            ones, names = self._predict_ones(X), self.classes_.tolist()
            rows = np.split(ones.indices, ones.indptr[1:-1])
            return [tuple(names[label] for label in row) for row in rows]
        labels = np.empty((X.shape[0], len(self.classes_)), dtype=np.int64)
        for rows in self._chunks(X.shape[0]):
            labels[rows] = self._predict_labels(X[rows])
        return labels

    def predict_ranking(self, X: FrameLike) -> Int64Array:
        """1-based rank of every label in every row, by score; ties are broken by label order.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels), int64
            1 for the most relevant label.
        """
        order = np.argsort(-self._label_scores(self._check_rows(X)), axis=1, kind="stable")
        ranks = np.empty(order.shape, dtype=np.int64)
        np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1)[None, :], axis=1)
        return ranks

    def score(
        self, X: FrameLike, y: ArrayLike | Matrix, sample_weight: ArrayLike | None = None
    ) -> float:
        """Negative Hamming loss of the predicted labels, or accuracy if y held classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like or sparse matrix of the form of ``fit``
            True labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0.

        Returns
        -------
        float
            Larger is better.
        """
        X = self._check_rows(X)
        n_samples = X.shape[0]
        if self.target_form_ == "classes":
            classes: Any = y
            true = order_labels(classes, n_samples)
            right: Any = true.classes[true.codes] == self.predict(X)
        else:
            truth = check_truth(y, n_samples, self.classes_, self.target_form_)
            counts = count_ones(truth, self._predict_ones(X), axis=1)
            right = -Hamming().by_row(counts, truth.shape[1])
        weight = None if sample_weight is None else check_weight(sample_weight, n_samples)
        return float(np.average(right, weights=weight))

    def _fit(self, X: Matrix, Y: SparseMatrix, sample_weight: Float64Array | None) -> None:
        """Train on checked rows, with Y of shape (n_samples, n_labels) holding ones."""
        raise TypeError(f"{type(self).__name__} must define _fit.")

    def _label_scores(self, X: Matrix) -> Float64Array:
        """Scores of checked rows, shape (n_samples, n_labels), float64."""
        raise TypeError(f"{type(self).__name__} must define _label_scores.")

    def _predict_labels(self, X: Matrix) -> NDArray[np.bool_]:
        """Whether each label of checked rows is predicted, shape (n_samples, n_labels)."""
        return self._label_scores(X) > 0.5

    def _class_scores(self, X: Matrix) -> Float64Array:
        return level_ties(self._label_scores(X))

    def _set_form(self, data: LabelData) -> None:
        self.classes_ = data.classes
        self.target_form_ = data.form
        self.score_name_ = "accuracy" if data.form == "classes" else "-Hamming loss"

    def _check_rows(self, X: FrameLike) -> Matrix:
        check_is_fitted(self)
        return check_rows(self, X)

    def _predict_ones(self, X: Matrix) -> SparseMatrix:
        """Predicted labels of checked rows as an int64 CSR matrix."""
        blocks = [
            ones_of_mask(self._predict_labels(X[rows]), np.int64)
            for rows in self._chunks(X.shape[0])
        ]
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def _chunks(self, n_samples: int) -> Iterator[slice]:
        size = max(1, MOST_SCORES // len(self.classes_))
        yield from (slice(lo, lo + size) for lo in range(0, n_samples, size))


def level_ties(scores: Float64Array) -> Float64Array:
    """Scores in which near-ties with the row maximum are replaced by the maximum."""
    largest = scores.max(axis=1, keepdims=True)
    return np.where(scores >= largest - TIE * np.maximum(np.abs(largest), 1.0), largest, scores)
