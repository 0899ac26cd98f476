"""Principal axes of the labels (PLST), and those that the features predict (CPLST).

Principal label space transformation (PLST) [1]_: regression on principal axes of the labels.

Conditional principal label space transformation (CPLST) [2]_: predictable axes of the labels.

References
----------
.. [1] Tai & Lin, "Multilabel classification with principal label space transformation", Neural
   Computation 24 (2012).
.. [2] Chen & Lin, "Feature-aware label space dimension reduction for multi-label classification",
   NIPS 25 (2012).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace, check_size, check_sizes
from rankwise.solvers.many_labels import approximate_axes, centre_products, leading_axes
from rankwise.structure.state_rules import Rule, floats
from rankwise.typing import Float64Array, FrameLike

# Largest number of labels K whose K x K products are decomposed: 128 MB.
EXACT_UP_TO = 4096


class PLST(LabelSpace):
    """Regression on the principal axes of the labels, decoded by projection.

    The M leading right singular vectors V of ``Y - 1 o'`` encode label sets as ``V (y - o)``, which
    has the least encoding error of all sets of M linear codes. Predictions r are decoded as
    ``o + V'r``, and labels whose score exceeds one half are predicted.

    Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and codes ``t_i = V (y_i - o)``. The constants in the first row of B are penalised like all
    coefficients.

    Parameters
    ----------
    n_components : int >= 1 or None, default=None
        Number of axes M. None: all labels.
    alpha : float >= 0, default=0.01
        As in :class:`BinaryRelevance`.
    reference : {"mean", "zero"}, default="mean"
        Reference point o. "mean": share of the training rows with each label. "zero": 0.
    estimator : regressor or None, default=None
        As in :class:`BinaryRelevance`.
    random_state : int, RandomState or None, default=None
        Seed for the random subspace iteration that finds the axes of more than 4,096 labels. Not
        used for fewer labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, as in :class:`BinaryRelevance`.
    offset_ : ndarray of shape (n_labels,), float64
        Reference point o.
    components_ : ndarray of shape (n_codes, n_labels), float64
        Orthonormal axes V, in descending order of their singular values. The axes of a smaller
        ``n_components`` are the first axes of a larger one.
    singular_values_ : ndarray of shape (n_codes,), float64
        Singular values of the axes.
    coef_, intercept_, regressors_
        As in :class:`BinaryRelevance`, for the codes.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Training costs as much as ridge regression on M outputs, plus O(N b^2 + K^2 M) for the axes (for
    more than 4,096 labels O(N b M) for each step). Decoding costs O(K M) for each row.

    With ``reference="zero"`` and all axes, the scores equal those of :class:`BinaryRelevance`. With
    "mean" they are larger by ``alpha z'(Z'Z + alpha I)^-1 e_1`` times the label means, with
    ``z = [1 x]``, because the constant of the regression is penalised and the means are not.

    Composition: columns with a constant x squared loss on principal axes of the labels x Cholesky.

    References
    ----------
    .. [1] Tai & Lin, "Multilabel classification with principal label space transformation",
       Neural Computation 24 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PLST
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> Y = (np.repeat(X, 4, axis=1) > 0).astype(int)  # twelve labels in three groups
    >>> model = PLST(n_components=3).fit(X, Y)
    >>> model.components_.shape
    (3, 12)
    >>> round(model.score(X, Y), 3)
    -0.018
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "singular_values_": floats("n_codes"),
    }

    components_: Float64Array
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelSpace._parameter_constraints,
        "n_components": [minimum(1), None],
        "reference": [StrOptions({"mean", "zero"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        alpha: float = 0.01,
        *,
        reference: Literal["mean", "zero"] = "mean",
        estimator: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.reference = reference
        self.estimator = estimator
        self.random_state = random_state

    def staged_decision_function(
        self, X: FrameLike, n_components: Iterable[int]
    ) -> Iterator[Float64Array]:
        """Scores from the first axes only, equal to those of fits with fewer components.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        n_components : iterable of int
            Numbers of axes to use, from 0 to all.

        Returns
        -------
        iterator of ndarray of shape (n_samples, n_labels), float64

        Raises
        ------
        ValueError
            If a number is outside that range.
        """
        rows = self._check_rows(X)
        sizes = check_sizes("n_components", n_components, len(self.components_))
        codes = self._predict_codes(rows)
        return (codes[:, :n] @ self.components_[:n] + self.offset_ for n in sizes)

    def _set_code(self, source: LabelSource) -> None:
        n_axes = check_size("n_components", self.n_components, source.n_labels)
        self.offset_ = source.means if self.reference == "mean" else np.zeros(source.n_labels)
        few = n_axes <= source.n_labels // 10
        if source.rows is not None and few and source.n_labels > EXACT_UP_TO:
            rng = check_random_state(self.random_state)
            axes, values = approximate_axes(*source.rows, self.offset_, n_axes, rng)
        else:
            products = centre_products(source.products(), source.means, source.weight, self.offset_)
            axes, values = leading_axes(products, n_axes)
        self.components_, self.singular_values_ = axes, np.sqrt(values)


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
