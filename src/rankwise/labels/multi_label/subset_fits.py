"""Efficient fits on many subsets of the same rows, and for many penalties and sizes.

Ridge regression on linear codes of the labels needs only ``Z'WZ``, ``Z'WY`` and ``Y'WY``, with
``Z = [1 X]``. For a subset of the rows, these are the sums over all rows minus the sums over the
held-out rows: twenty splits that hold out a tenth cost two more passes than one fit. With the
eigenvectors of ``Z'Z``, every further penalty costs two small products. A PLST with fewer axes is
the prefix of one with more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.checks.label_data import LabelData, check_label_fit, check_truth
from rankwise.checks.rows import check_rows
from rankwise.labels.multi_label.label_space import LabelSpace, check_sizes
from rankwise.labels.multi_label.plst import EXACT_UP_TO, PLST
from rankwise.solvers.many_labels import (
    LabelStatistics,
    build_centred_path,
    centre_products,
    label_statistics,
    leading_axes,
    shift_from_centre,
)
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix


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
    >>> from rankwise import BinaryRelevance
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
        As in :class:`rankwise.PLST`.

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
