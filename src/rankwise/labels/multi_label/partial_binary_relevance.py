"""Partial binary relevance: regressions for some labels and constant scores for the others."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from rankwise.checks.label_data import one_hot
from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace, check_size
from rankwise.structure.rules import Rule, integers
from rankwise.typing import SparseMatrix


class PartialBinaryRelevance(LabelSpace):
    """One regression for each of some randomly drawn labels; the others have a constant score.

    Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and drawn labels, with ``t_i = y_i - o``. The constants in the first row of B are penalised
    like all coefficients.

    Parameters
    ----------
    n_labels : int >= 1 or None, default=None
        Number of labels to draw. None: all.
    reference : {"absent", "zero", "mean"}, default="absent"
        Score of the labels that are not drawn. "absent": 0, so these labels are never predicted.
        "zero": same as "absent". "mean": share of the training rows with the label; the shares of
        the drawn labels are also subtracted before the regression.
    alpha : float >= 0, default=0.01
        As in :class:`BinaryRelevance`.
    estimator : regressor, classifier or None, default=None
        As in :class:`BinaryRelevance`. A classifier needs ``reference="absent"``.
    random_state : int, RandomState or None, default=None
        Seed for drawing the labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, as in :class:`BinaryRelevance`.
    drawn_ : ndarray of shape (n_codes,), int64
        Positions of the drawn labels, ascending.
    offset_ : ndarray of shape (n_labels,), float64
        Reference scores of the labels.
    components_ : CSR of shape (n_codes, n_labels), float64
        Rows of the identity matrix for the drawn labels.
    coef_, intercept_, regressors_
        As in :class:`BinaryRelevance`, for the drawn labels.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Training costs as much as :class:`BinaryRelevance` on the drawn labels.

    Composition: columns with a constant x squared loss on some labels x Cholesky.

    References
    ----------
    .. [1] Tai & Lin, "Multilabel classification with principal label space transformation",
       Neural Computation 24 (2012), section 3.

    Examples
    --------
    >>> from rankwise import PartialBinaryRelevance
    >>> X, Y = [[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [1, 1]]
    >>> model = PartialBinaryRelevance(1, reference="mean", random_state=0).fit(X, Y)
    >>> model.drawn_
    array([1])
    >>> model.predict([[0.0], [2.0]])
    array([[1, 0],
           [1, 1]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "drawn_": integers("n_codes", low=0, below="n_classes"),
    }

    components_: SparseMatrix
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelSpace._parameter_constraints,
        "n_labels": [minimum(1), None],
        "reference": [StrOptions({"absent", "zero", "mean"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_labels: int | None = None,
        reference: Literal["absent", "zero", "mean"] = "absent",
        alpha: float = 0.01,
        *,
        estimator: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_labels = n_labels
        self.reference = reference
        self.alpha = alpha
        self.estimator = estimator
        self.random_state = random_state

    def _set_code(self, source: LabelSource) -> None:
        n_drawn = check_size("n_labels", self.n_labels, source.n_labels)
        rng = check_random_state(self.random_state)
        self.drawn_ = np.sort(rng.choice(source.n_labels, n_drawn, replace=False))
        self.offset_ = source.means if self.reference == "mean" else np.zeros(source.n_labels)
        self.components_ = one_hot(self.drawn_, source.n_labels)
