"""Principal axes of the labels (PLST), those that the features predict (CPLST), and many such fits.

Principal label space transformation [1]_ regresses on principal axes of the labels, its conditional
variant [2]_ on predictable axes.

Ridge regression on linear codes of the labels needs only ``Z'WZ``, ``Z'WY`` and ``Y'WY``, with
``Z = [1 X]``. For a subset of the rows, these are the sums over all rows minus the sums over the
held-out rows: twenty splits that hold out a tenth cost two more passes than one fit. With the
eigenvectors of ``Z'Z``, every further penalty costs two small products. A PLST with fewer axes is
the prefix of one with more.

References
----------
.. [1] Tai & Lin, "Multilabel classification with principal label space transformation", Neural
   Computation 24 (2012).
.. [2] Chen & Lin, "Feature-aware label space dimension reduction for multi-label classification",
   NIPS 25 (2012).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.checks.label_data import LabelData, check_label_fit, check_truth
from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.checks.rows import check_rows
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace, check_size, check_sizes
from rankwise.runtime.constraints import check_random_state
from rankwise.solvers.many_labels import (
    LabelStatistics,
    approximate_axes,
    build_centred_path,
    centre_products,
    label_statistics,
    leading_axes,
    shift_from_centre,
)
from rankwise.structure.state_rules import Rule, floats
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix, Seed

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
        Penalty added to the SUM of squared errors, as in :class:`BinaryRelevance`.
    reference : {"mean", "zero"}, default="mean"
        Reference point o. "mean": share of the training rows with each label. "zero": 0.
    estimator : regressor or None, default=None
        As in :class:`BinaryRelevance`.
    random_state : int, RandomState, Generator or None, default=None
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
    more than 4,096 labels O(N b M) for each step). Decoding costs O(K M) for each row. Memory is
    O(K^2) for up to 4,096 labels, else O(K M).

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
    >>> from rankwise.labels import PLST
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> Y = (np.repeat(X, 4, axis=1) > 0).astype(int)  # twelve labels in three groups
    >>> model = PLST(n_components=3).fit(X, Y)
    >>> model.components_.shape
    (3, 12)
    >>> round(model.score(X, Y), 3)
    -0.018
    """

    singular_values_: Float64Array

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
        random_state: Seed = None,
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
        self.offset_: Float64Array = (
            source.means if self.reference == "mean" else np.zeros(source.n_labels)
        )
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
        Penalty added to the SUM of squared errors, as in :class:`BinaryRelevance`. It also
        determines H, even if ``estimator`` is given.
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
    >>> from rankwise.labels import CPLST, PLST
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(200, 1)), rng.normal(size=(200, 2))
    >>> Y = (np.hstack([X, noise, noise]) > 0).astype(int)  # one of five labels is predictable
    >>> round(CPLST(n_components=1).fit(X, Y).score(X, Y), 3)
    -0.359
    >>> round(PLST(n_components=1).fit(X, Y).score(X, Y), 3)
    -0.376
    """

    fitted_values_: Float64Array

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
        self.offset_: Float64Array = source.means
        self.components_, self.fitted_values_ = leading_axes(source.fitted_products(), n_axes)


def fit_splits(
    estimator: LabelSpace,
    X: FrameLike,
    y: ArrayLike | Matrix,
    splits: Iterable[Sequence[int] | NDArray[Any]],
) -> Iterator[Any]:
    """Fit clones of an estimator, each on a subset of the rows.

    Parameters
    ----------
    estimator : BinaryRelevance, PartialBinaryRelevance, PLST, CPLST, CompressedSensing or \
LinearLabelSpaceTransform
        Estimator to clone. With ``estimator=None`` all fits are computed from sums over the rows;
        otherwise each clone is fitted separately.
    X : array-like or CSR of shape (n_samples, n_features)
    y : 0/1 array-like or sparse matrix of shape (n_samples, n_labels)
        Label matrix.
    splits : iterable of int arrays
        Row numbers for each fit; a repeated row counts repeatedly.

    Yields
    ------
    estimator
        Fitted clone, without ``fit_fingerprint_``.

    Raises
    ------
    TypeError
        If the estimator does not regress linear codes of the labels.

    Notes
    -----
    Makes one pass over all rows, and for each split one pass over the held-out rows (over the
    training rows if there are fewer). Results differ from separate fits only by rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.labels import BinaryRelevance
    >>> from rankwise.labels import fit_splits
    >>> X, Y = np.arange(8.0)[:, None], np.arange(8)[:, None] > [2, 4]
    >>> halves = [np.arange(0, 8, 2), np.arange(1, 8, 2)]
    >>> [model.score(X, Y) for model in fit_splits(BinaryRelevance(), X, Y, halves)]
    [0.0, -0.0625]
    """
    if not isinstance(estimator, LabelSpace):
        raise TypeError(
            "estimator must regress linear codes of the labels, as BinaryRelevance and PLST do, "
            f"got {type(estimator).__name__}. Fit other estimators on each split."
        )
    checked: Any = clone(estimator)
    checked._validate_params()
    data = _check_rows(checked, X, y)
    fitted: Any
    if estimator.estimator is not None or data.Y.shape[1] > EXACT_UP_TO:
        for train in splits:
            labels = data.Y[train] if data.form == "sparse" else data.Y[train].toarray()
            fitted = clone(estimator)
            yield fitted.fit(data.X[train], labels)
        return
    total = label_statistics(data.X, data.Y, centre="auto")
    sizes = np.diff(data.Y.indptr)
    for train in splits:
        train = np.asarray(train)
        fitted = clone(estimator)
        fitted.n_features_in_ = checked.n_features_in_
        if hasattr(checked, "feature_names_in_"):
            fitted.feature_names_in_ = checked.feature_names_in_
        fitted._set_form(data)
        fitted._fit_statistics(_sum_part(total, data, train), int(sizes[train].max(initial=0)))
        yield fitted


def plst_path(
    X: FrameLike,
    y: ArrayLike | Matrix,
    X_val: FrameLike,
    y_val: ArrayLike | Matrix,
    *,
    alphas: Sequence[float],
    n_components: Sequence[int],
    reference: Literal["mean", "zero"] = "mean",
) -> dict[str, Any]:
    """Hamming loss of PLST for every penalty and number of axes, from two decompositions.

    Parameters
    ----------
    X, X_val : array-like or CSR of shape (n_samples, n_features)
        Rows for training, and rows for evaluation.
    y, y_val : 0/1 array-like or sparse matrix of shape (n_samples, n_labels)
        Label matrices.
    alphas : sequence of float >= 0
        Penalties.
    n_components : sequence of int
        Numbers of axes, from 0 to n_labels. 0 predicts the reference alone.
    reference : {"mean", "zero"}, default="mean"
        As in :class:`rankwise.labels.PLST`.

    Returns
    -------
    dict
        "alpha" (n_alphas,), "n_components" (n_sizes,) and "hamming_loss" (n_alphas, n_sizes).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.labels import plst_path
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> Y = np.repeat(X, 4, axis=1) > 0
    >>> path = plst_path(X, Y, X, Y, alphas=[0.01, 100.0], n_components=[1, 3])
    >>> path["hamming_loss"].round(3)
    array([[0.297, 0.018],
           [0.31 , 0.023]])
    """
    model = PLST(max(n_components, default=0) or None, reference=reference)
    model._validate_params()
    data = _check_rows(model, X, y)
    n_components = check_sizes("n_components", n_components, data.Y.shape[1])
    X_val = check_rows(model, X_val, name="X_val")
    true = check_truth(y_val, X_val.shape[0], data.classes, data.form, name="y_val").toarray() > 0
    statistics = label_statistics(data.X, data.Y, centre="auto")
    means = statistics.means
    offset = means if reference == "mean" else np.zeros(len(means))
    products = centre_products(statistics.labels, means, statistics.weight, offset)
    axes, _ = leading_axes(products, max(n_components))
    rhs = (statistics.cross - np.outer(statistics.gram[:, 0], offset)) @ axes.T
    solve = build_centred_path(statistics.gram, statistics.centre)
    losses = np.empty((len(alphas), len(n_components)))
    for row, alpha in enumerate(alphas):
        coefficients = shift_from_centre(solve(alpha, rhs), statistics.centre)
        codes = coefficients[0] + X_val @ coefficients[1:]
        losses[row] = _losses(codes, axes, offset, true, n_components)
    return {
        "alpha": np.asarray(alphas, dtype=np.float64),
        "n_components": np.asarray(n_components),
        "hamming_loss": losses,
    }


def _losses(
    codes: Float64Array,
    axes: Float64Array,
    offset: Float64Array,
    true: NDArray[np.bool_],
    n_components: Sequence[int],
) -> Float64Array:
    """Hamming loss for each number of axes; scores are accumulated in ascending order."""
    losses, done = np.empty(len(n_components)), 0
    scores = np.tile(offset, (len(codes), 1))
    for place in np.argsort(n_components, kind="stable"):
        n = n_components[place]
        if n > done:
            scores += codes[:, done:n] @ axes[done:n]
            done = n
        losses[place] = np.mean((scores > 0.5) != true)
    return losses


def _check_rows(estimator: Any, X: FrameLike, y: ArrayLike | Matrix) -> LabelData:
    data = check_label_fit(estimator, X, y, None)
    if data.form == "classes":
        raise ValueError(
            "y must be a 0/1 matrix with a column for every label, but has one class for every "
            "row. Pass an indicator matrix."
        )
    return data


def _sum_part(total: LabelStatistics, data: LabelData, train: NDArray[Any]) -> LabelStatistics:
    """Statistics of the training rows, obtained from those of all rows if that is faster."""
    counts = np.bincount(train, minlength=data.X.shape[0]).astype(np.float64)
    missing = 1.0 - counts
    taken, other = np.flatnonzero(counts), np.flatnonzero(missing)
    if len(other) < len(taken):
        return total - label_statistics(
            data.X[other], data.Y[other], missing[other], centre=total.centre
        )
    return label_statistics(data.X[taken], data.Y[taken], counts[taken], centre=total.centre)
