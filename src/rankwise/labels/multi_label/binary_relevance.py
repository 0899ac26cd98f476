"""Binary relevance: an independent regression for every label."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.checks.label_data import one_hot
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace
from rankwise.typing import Float64Array, SparseMatrix


class BinaryRelevance(LabelSpace):
    """One regression for every label; a label is predicted if its regression exceeds one half.

    Minimises ``sum_i w_i |y_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and labels. The constants in the first row of B are penalised like all coefficients.

    Parameters
    ----------
    alpha : float >= 0, default=0.01
        L2 penalty: factor of the squared norm of the coefficients, including the constants. Not
        used if ``estimator`` is given.
    estimator : regressor, classifier or None, default=None
        Any scikit-learn regressor or classifier. It is fitted once on all labels if it supports
        multiple outputs, and is cloned for each label otherwise. None: ridge regression with one
        factorisation.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels; or the classes, if y held one class for every row.
    coef_ : ndarray of shape (n_labels, n_features), float64
        Only if ``estimator`` is None.
    intercept_ : ndarray of shape (n_labels,), float64
        Only if ``estimator`` is None.
    regressors_ : list of estimators
        Fitted estimators, only if ``estimator`` is given.
    offset_ : ndarray of shape (n_labels,), float64
        Reference point of the label codes: zeros.
    components_ : CSR of shape (n_labels, n_labels), float64
        Matrix of the label codes: the identity.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    If ``estimator`` is a classifier, its predictions are the labels. Labels are ranked by its
    probabilities; without ``predict_proba``, its decision values d give the scores ``(1 + d / (1 +
    |d|)) / 2``.

    For N rows with p features and b of K labels each, the cost is O(N p^2 + N p b + p^3 + p^2 K):
    all labels share one Gram matrix and one Cholesky factor.

    If the mean of a column exceeds 100 standard deviations, dense rows are centred first, so large
    offsets do not reduce accuracy. Sparse rows are not centred, because this would make them dense,
    and neither are data with fewer rows than columns: subtract large offsets beforehand.

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
