"""Conditional principal label space transformation (CPLST) [1]_: predictable axes of the labels.

References
----------
.. [1] Chen & Lin, "Feature-aware label space dimension reduction for multi-label classification",
   NIPS 25 (2012).
"""

from __future__ import annotations

from typing import Any, ClassVar

from rankwise.checks.parameter_constraints import minimum
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace, check_size
from rankwise.solvers.labels.label_axes import leading_axes
from rankwise.structure.rules import Rule, floats
from rankwise.typing import Float64Array


class CPLST(LabelSpace):
    """Regression on the label axes that ridge regression predicts best from the features.

    The rows of V are the M leading eigenvectors of ``(Y - 1 o')'H(Y - 1 o')``, with the label means
    o and the hat matrix H of ridge regression. They minimise the encoding error plus the penalised
    training error of the regression on the codes. Codes are decoded as in :class:`PLST`.

    Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and codes ``t_i = V (y_i - o)``. The constants in the first row of B are penalised like all
    coefficients.

    Parameters
    ----------
    n_components : int >= 1 or None, default=None
        Number of axes M. None: all labels.
    alpha : float >= 0, default=0.01
        L2 penalty as in :class:`BinaryRelevance`. It also determines H, even if ``estimator`` is
        given.
    estimator : regressor or None, default=None
        As in :class:`BinaryRelevance`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, as in :class:`BinaryRelevance`.
    offset_ : ndarray of shape (n_labels,), float64
        Label means o.
    components_ : ndarray of shape (n_codes, n_labels), float64
        Orthonormal axes V.
    fitted_values_ : ndarray of shape (n_codes,), float64
        Eigenvalues in descending order, equal to the inner products of codes and fitted values.
    coef_, intercept_, regressors_
        As in :class:`BinaryRelevance`, for the codes.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Training costs as much as :class:`BinaryRelevance` plus O(K^2 (p + M)) for the axes. A K x K
    matrix is held in memory.

    Composition: columns with a constant x squared loss on predictable axes of the labels x
    Cholesky.

    References
    ----------
    .. [1] Chen & Lin, "Feature-aware label space dimension reduction for multi-label
       classification", NIPS 25 (2012), section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import CPLST, PLST
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(200, 1)), rng.normal(size=(200, 2))
    >>> Y = (np.hstack([X, noise, noise]) > 0).astype(int)  # one of five labels is predictable
    >>> round(CPLST(n_components=1).fit(X, Y).score(X, Y), 3)
    -0.359
    >>> round(PLST(n_components=1).fit(X, Y).score(X, Y), 3)
    -0.376
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "fitted_values_": floats("n_codes"),
    }

    components_: Float64Array
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelSpace._parameter_constraints,
        "n_components": [minimum(1), None],
    }

    def __init__(
        self, n_components: int | None = None, alpha: float = 0.01, *, estimator: Any = None
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.estimator = estimator

    def _set_code(self, source: LabelSource) -> None:
        n_axes = check_size("n_components", self.n_components, source.n_labels)
        self.offset_ = source.means
        self.components_, self.fitted_values_ = leading_axes(source.fitted_products(), n_axes)
