"""Binary relevance: one regression for every label, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.checks.labels import one_hot
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace
from rankwise.typing import Float64Array, SparseMatrix


class BinaryRelevance(LabelSpace):
    """One regression for every label; a label is predicted where the regression exceeds one half.

    Minimises ``sum_i w_i |y_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and labels, with the constants in the first row of B penalised like all coefficients.

    Parameters
    ----------
    alpha : float >= 0, default=0.01
        Multiplies the squared norm of the coefficients, the constant's among them, against the sum
        of squared errors. Not used with ``estimator``.
    estimator : regressor, classifier or None, default=None
        Any scikit-learn regressor or classifier, fitted on all labels where it takes several
        outputs and cloned for each label where it does not. None: ridge regression with one
        factorisation.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels; the classes where one class for every row was given.
    coef_ : ndarray of shape (n_labels, n_features), float64
        Where ``estimator`` is None.
    intercept_ : ndarray of shape (n_labels,), float64
        Where ``estimator`` is None.
    regressors_ : list of estimators
        Where ``estimator`` is given.
    offset_ : ndarray of shape (n_labels,), float64
        Zeros.
    components_ : CSR of shape (n_labels, n_labels), float64
        The identity.
    target_form_ : {"dense", "sparse", "classes"}
        How labels were given, and are predicted.
    score_name_ : str

    Notes
    -----
    A classifier predicts the labels itself; labels are ranked by its probabilities, or by its
    decision values d as ``(1 + d / (1 + |d|)) / 2`` where it has no ``predict_proba``.

    O(N p^2 + N p b + p^3 + p^2 K) for N rows of p features and b of K labels each: the labels
    share one Gram matrix and one Cholesky factor.

    Dense rows, more than columns, are centred before they are multiplied where a column's mean
    exceeds 100 standard deviations, so that large offsets cost no digits. Sparse rows are not,
    which would fill them, nor are fewer rows than columns: subtract large offsets before.

    Composition: columns with a constant x squared loss on every label x Cholesky.

    References
    ----------
    .. [1] Tai & Lin, "Multilabel classification with principal label space transformation",
       Neural Computation 24 (2012).

    Examples
    --------
    >>> from rankwise import BinaryRelevance
    >>> X, Y = [[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [0, 1]]
    >>> model = BinaryRelevance().fit(X, Y)
    >>> model.predict([[0.0], [2.0]])
    array([[1, 0],
           [0, 1]])
    >>> model.predict_ranking([[0.0], [2.0]])
    array([[1, 2],
           [2, 1]])
    """

    components_: SparseMatrix

    def __init__(self, alpha: float = 0.01, *, estimator: Any = None) -> None:
        self.alpha = alpha
        self.estimator = estimator

    def _set_code(self, source: LabelSource) -> None:
        self.offset_ = np.zeros(source.n_labels)
        self.components_ = one_hot(np.arange(source.n_labels), source.n_labels)

    def _encode(self, Y: SparseMatrix) -> SparseMatrix:
        return Y

    def _decode(self, codes: Float64Array) -> Float64Array:
        return codes
