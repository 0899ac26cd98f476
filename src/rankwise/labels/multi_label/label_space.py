"""Base of the multi-label estimators that regress linear codes of the labels.

The labels y of a row are encoded as ``h = P (y - o)`` with a reference point o. A regressor
predicts r for h, and r is decoded to scores, by default ``o + P'r``. If the rows of P are
orthonormal, thresholding the scores at one half gives a Hamming loss of at most
``4 / K (|r - h|^2 + |(I - P'P)(y - o)|^2)`` [1]_.

References
----------
.. [1] Tai & Lin, "Multilabel classification with principal label space transformation", Neural
   Computation 24 (2012).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.label_data import check_truth
from rankwise.checks.parameter_constraints import NOT_NEGATIVE, HasMethods
from rankwise.labels.multi_label.multi_label_classifier import MultiLabel
from rankwise.prediction import fit_clone
from rankwise.solvers.many_labels import (
    LabelStatistics,
    SharedRidge,
    build_centred_solver,
    products_of_labels,
    shift_from_centre,
)
from rankwise.structure.state_rules import (
    Fitted,
    Many,
    MatrixRows,
    Rule,
    Sometimes,
    floats,
    require,
    require_attributes,
)
from rankwise.typing import ArrayLike, Float64Array, Matrix, SparseMatrix, densify, is_sparse

# Largest number of products of features and labels held in memory: 256 MB.
MOST_PRODUCTS = 2**25


class LabelSpace(MultiLabel):
    """Base of the estimators that regress linear codes of the labels.

    A subclass has the parameters ``alpha`` and ``estimator``. It defines ``_set_code``, which sets
    the reference point ``offset_`` and the encoding matrix ``components_``, called o and P.
    ``coef_`` and ``intercept_`` exist only if ``estimator`` is None. Otherwise ``regressors_``
    holds the fitted estimators, one for all codes or one for each code.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "offset_": floats("n_classes"),
        "components_": MatrixRows("n_codes", "n_classes"),
        "coef_": Sometimes(floats("n_codes", "n_features_in_")),
        "intercept_": Sometimes(floats("n_codes")),
        "regressors_": Sometimes(Many(Fitted("n_features_in_"))),
    }

    alpha: float
    estimator: Any
    offset_: Float64Array
    components_: Any  # ndarray or CSR, depending on the subclass
    coef_: Float64Array
    intercept_: Float64Array
    regressors_: list[Any]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [NOT_NEGATIVE],
        "estimator": [HasMethods(["fit", "predict"]), None],
    }

    def encode_labels(self, Y: SparseMatrix) -> Float64Array:
        """Codes ``P (y - o)`` of label sets, the targets of the regression.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n_samples, n_labels)
            Label sets as 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, n_codes), float64
        """
        check_is_fitted(self)
        n_samples = Y.shape[0] if is_sparse(Y) else len(Y)
        truth = check_truth(Y, n_samples, self.classes_, self.target_form_, name="Y")
        return densify(self._encode(truth))

    def decode_scores(self, codes: ArrayLike) -> Float64Array:
        """Label scores decoded from codes or from predictions of codes.

        Parameters
        ----------
        codes : array-like of shape (n_samples, n_codes)
            Codes, or predictions of codes.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), float64
        """
        check_is_fitted(self)
        codes = np.asarray(codes, dtype=np.float64)
        if codes.ndim != 2 or codes.shape[1] != self.components_.shape[0]:
            raise ValueError(
                f"codes must have a column for each of the {self.components_.shape[0]} codes, got "
                f"shape {codes.shape}. Pass the output of encode_labels, or predictions of it."
            )
        return self._decode(codes)

    def _check_structure(self) -> None:
        if self.estimator is None:
            require_attributes(self, "coef_", "intercept_")
            return
        require_attributes(self, "regressors_")
        n, n_codes = len(self.regressors_), self.components_.shape[0]
        require(n in (1, n_codes), "regressors_", f"have 1 or {n_codes} items", n)

    def _fit(self, X: Matrix, Y: SparseMatrix, sample_weight: Float64Array | None) -> None:
        self._forget_regression()
        source = RowSource(X, Y, sample_weight, self.alpha)
        self._set_code(source)
        if self.estimator is not None:
            codes = densify(self._encode(Y))
            if is_classifier(self.estimator) and not ((codes == 0) | (codes == 1)).all():
                raise ValueError(
                    "estimator must be a regressor, because label codes are real numbers, got "
                    f"{self.estimator!r}. Pass a regressor, or use BinaryRelevance with this "
                    "classifier."
                )
            together = codes.shape[1] > 1 and get_tags(self.estimator).target_tags.multi_output
            parts = [codes] if together else list(np.ascontiguousarray(codes.T))
            self.regressors_ = [fit_clone(self.estimator, X, part, sample_weight) for part in parts]
        elif is_sparse(self.components_) or X.shape[1] * Y.shape[1] > MOST_PRODUCTS:
            self._set_coefficients(source.ridge.coefficients(self._encode(Y)))
        else:  # products with sparse labels are cheaper than products with dense codes
            code = self.components_
            self._set_coefficients(source.ridge.code_coefficients(Y, code, self.offset_))

    def _fit_statistics(self, statistics: LabelStatistics, largest_set: int) -> None:
        """Train ridge regression from sums over rows, see :func:`rankwise.labels.fit_splits`."""
        self._forget_regression()
        source = StatisticsSource(statistics, largest_set, self.alpha)
        self._set_code(source)
        centred = statistics.cross - np.outer(statistics.gram[:, 0], self.offset_)
        coefficients = source.solve(centred @ self.components_.T)
        self._set_coefficients(shift_from_centre(coefficients, statistics.centre))

    def _label_scores(self, X: Matrix) -> Float64Array:
        if self.estimator is None or not is_classifier(self.estimator):
            return self._decode(self._predict_codes(X))
        together = len(self.regressors_) < self.components_.shape[0]
        parts = [_scores(model, X, together=together) for model in self.regressors_]
        return self._decode(np.column_stack(parts))

    def _predict_labels(self, X: Matrix) -> NDArray[np.bool_]:
        # A classifier may predict a label whose probability is at most one half.
        return self._decode(self._predict_codes(X)) > 0.5

    def _predict_codes(self, X: Matrix) -> Float64Array:
        """Predictions of the regressor for checked rows, shape (n_samples, n_codes)."""
        if self.estimator is None:
            return X @ self.coef_.T + self.intercept_
        columns = [np.asarray(model.predict(X), dtype=np.float64) for model in self.regressors_]
        return np.column_stack(columns)

    def _set_code(self, source: LabelSource) -> None:
        """Set ``offset_`` and ``components_``."""
        raise TypeError(f"{type(self).__name__} must define _set_code.")

    def _encode(self, Y: SparseMatrix) -> Matrix:
        """``P (y - o)`` for label sets in CSR; the result is CSR if P is CSR and P o is zero."""
        codes = Y @ self.components_.T
        shift = self.components_ @ self.offset_
        if not shift.any():
            return codes
        return densify(codes) - shift

    def _decode(self, codes: Float64Array) -> Float64Array:
        """Decoded scores ``o + P'r``."""
        return codes @ self.components_ + self.offset_

    def _set_coefficients(self, coefficients: Float64Array) -> None:
        self.intercept_ = coefficients[0].copy()
        self.coef_ = np.ascontiguousarray(coefficients[1:].T)

    def _forget_regression(self) -> None:
        """Delete attributes of an earlier fit with another ``estimator``."""
        for name in ("coef_", "intercept_", "regressors_"):
            vars(self).pop(name, None)


def check_size(name: str, value: int | None, most: int) -> int:
    """Checked number of codes; None means all."""
    if value is not None and value > most:
        raise ValueError(
            f"{name} must be at most {most} for these labels, got {value}. Choose a smaller "
            "number, or None for all."
        )
    return most if value is None else int(value)


def check_sizes(name: str, values: Iterable[int], most: int) -> list[int]:
    """Checked numbers of codes, each from 0 to ``most``."""
    sizes = list(values)
    for value in sizes:
        if not isinstance(value, Integral) or not 0 <= value <= most:
            raise ValueError(
                f"{name} must hold integers from 0 to {most}, the number of axes, got {value!r}."
            )
    return sizes


class RowSource:
    """Source of label codes that holds the rows.

    Its labels and weights are ``rows``; ``weight`` is the sum of the row weights, ``means`` (K,) is
    the share of the rows with each label, and ``largest_set`` the most labels of a row.
    """

    alpha: float
    rows: tuple[SparseMatrix, Float64Array | None]

    def __init__(
        self, X: Matrix, Y: SparseMatrix, weight: Float64Array | None, alpha: float
    ) -> None:
        self.X, self.alpha, self.rows = X, alpha, (Y, weight)
        w = np.ones(Y.shape[0]) if weight is None else weight
        self.n_labels: Any = Y.shape[1]
        self.weight: float = float(w.sum())
        self.means: Any = (Y.T @ w) / self.weight
        self.largest_set: int = int(np.diff(Y.indptr).max(initial=0))

    @cached_property
    def ridge(self) -> SharedRidge:
        """Factorised rows of X."""
        return SharedRidge(self.X, self.rows[1], self.alpha)

    def products(self) -> Float64Array:
        """``Y'WY``, shape (K, K)."""
        return products_of_labels(*self.rows)

    def fitted_products(self) -> Float64Array:
        """``(Y - o)' W H (Y - o)`` with means o and the hat matrix H of the ridge, shape (K, K)."""
        return self.ridge.fitted_products(self.rows[0], self.means)


class StatisticsSource:
    """Source of label codes that holds statistics only, see :class:`RowSource`."""

    largest_set: int
    statistics: LabelStatistics
    means: Float64Array
    weight: float

    rows = None

    def __init__(self, statistics: LabelStatistics, largest_set: int, alpha: float) -> None:
        self.statistics, self.largest_set = statistics, largest_set
        self.n_labels: Any = statistics.cross.shape[1]
        self.weight, self.means = statistics.weight, statistics.means
        self.solve: Any = build_centred_solver(statistics.gram, statistics.centre, alpha)

    def products(self) -> Float64Array:
        return self.statistics.labels

    def fitted_products(self) -> Float64Array:
        gram, cross = self.statistics.gram, self.statistics.cross
        centred = cross - np.outer(gram[:, 0], self.means)
        return centred.T @ self.solve(centred)


LabelSource = RowSource | StatisticsSource


def _scores(model: Any, X: Matrix, *, together: bool) -> Float64Array:
    """How likely an output is 1, or each of all outputs that one classifier has ``together``.

    Scores are probabilities if the classifier has them; otherwise ``(1 + d / (1 + |d|)) / 2`` for
    decision values d, which exceeds one half if d > 0; otherwise predictions.
    """
    if hasattr(model, "predict_proba"):
        shares: Any = model.predict_proba(X)
        if not together:
            return _share_of_ones(shares, model.classes_)
        if not isinstance(shares, list):  # one column for each output
            return np.asarray(shares, dtype=np.float64)
        parts = zip(shares, model.classes_, strict=True)
        return np.column_stack([_share_of_ones(*part) for part in parts])
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=np.float64)
        return (1.0 + values / (1.0 + np.abs(values))) / 2.0
    return np.asarray(model.predict(X), dtype=np.float64)


def _share_of_ones(shares: Any, classes: Any) -> Float64Array:
    """Column of class 1; zeros if the training rows do not have this class."""
    ones = np.asarray(classes) == 1
    return np.asarray(shares, dtype=np.float64)[:, ones].sum(axis=1)
