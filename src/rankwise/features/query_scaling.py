"""Scaling of the features within each query, and ranks of values.

Rankers compare documents of the same query, so a query's mean of a feature carries no information,
and the spread of a feature varies between queries [1]_. Equal values share a rank. Values that
differ by at most 1e-13 of the largest count as equal, so that the order of summation does not
matter.

References
----------
.. [1] Lin, "Ranking algorithms", project report, 2010, Table 8: RankSVM with query-level
   normalisation is ahead of overall normalisation.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import Hidden, StrOptions
from rankwise.checks.rows import check_rows
from rankwise.groups import QueryGroups
from rankwise.runtime.finite import FiniteResults, restore_on_error
from rankwise.runtime.renames import SPELLINGS, spell
from rankwise.runtime.scikit_learn import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from rankwise.structure.state_rules import (
    TRAINED_ON,
    Rule,
    Sometimes,
    floats,
    require,
    require_attributes,
)
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Int64Array


class QueryScaler(FiniteResults, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale every feature separately within every query.

    Parameters
    ----------
    scaling : {"min_max", "standard", "rank"}, default="min_max"
        "min_max": to [0, 1], ``(x - min) / (max - min)``. "standard": ``(x - mean) / sd``. "rank":
        to (-1/2, 1/2), ``(below - above) / (2 m)`` with the numbers of rows below and above among
        the m rows of the query. A feature that is constant within a query becomes 0 there.

    Attributes
    ----------
    shift_, scale_ : ndarray of shape (n_features_in_,)
        Scaling ``(x - shift) / scale`` for rows without ids, from all rows of ``fit`` as one query.
    sorted_ : ndarray of shape (n_samples, n_features_in_)
        Only for "rank", instead of ``shift_`` and ``scale_``: the rows of ``fit``, each column
        sorted.
    sorted_weight_ : ndarray of shape (n_samples, n_features_in_)
        Weights of ``sorted_``. Only for "rank" in ensembles that were fitted with weights.
    n_features_in_ : int

    Notes
    -----
    O(n_samples n_features), for "rank" times the logarithm of n_samples; memory is that of the
    result, and for "rank" of the values of fit. Rows are scaled by the query ids passed to
    ``transform``; in a pipeline, call ``predict(X, qid=qid)`` with metadata routing enabled. Rows
    without ids are scaled by the statistics of all rows of ``fit`` ("rank": interpolated linearly
    between their ranks). Sparse rows are rejected, because scaling would make them dense.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features import QueryScaler
    >>> X = np.array([[1.0], [3.0], [10.0], [30.0], [20.0]])
    >>> QueryScaler().fit_transform(X, qid=["a", "a", "b", "b", "b"]).ravel()
    array([0. , 1. , 0. , 1. , 0.5])
    """

    scale_: Float64Array
    shift_: Float64Array

    _structure: ClassVar[dict[str, Rule]] = {
        **TRAINED_ON,
        "shift_": Sometimes(floats("n_features_in_")),
        "scale_": Sometimes(floats("n_features_in_", low=0)),
        "sorted_": Sometimes(floats("n_rows", "n_features_in_")),
        "sorted_weight_": Sometimes(floats("n_rows", "n_features_in_", low=0)),
    }

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True}
    __metadata_request__transform: ClassVar[dict[str, Any]] = {"qid": True}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "scaling": [
            StrOptions({"min_max", "standard", "rank"}),
            Hidden(StrOptions({*SPELLINGS})),
        ],
    }

    def __init__(self, scaling: Literal["min_max", "standard", "rank"] = "min_max") -> None:
        self.scaling = scaling

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Learn the scaling of rows without ids, and validate the ids."""
        self._validate_params()
        X = check_rows(self, X, accept_sparse=False, reset=True)
        QueryGroups.from_qid(qid, X.shape[0])
        self._learn(X.astype(np.float64), None)
        return self

    def _learn(self, rows: Float64Array, weight: Float64Array | None) -> None:
        """Set the scaling of rows without ids."""
        for state in ("shift_", "scale_", "sorted_", "sorted_weight_"):
            vars(self).pop(state, None)
        if self.scaling == "rank":
            order = np.argsort(rows, axis=0, kind="stable")
            self.sorted_: NDArray[Any] = np.take_along_axis(rows, order, axis=0)
            if weight is not None:
                self.sorted_weight_: Float64Array = weight[order]
            return
        shift, scale = _SHIFTS[spell(self.scaling)](rows, np.array([0, len(rows)]), weight)
        self.shift_, self.scale_ = shift[0], scale[0]

    def fit_transform(  # type: ignore[override]  # takes no other fit parameters
        self,
        X: FrameLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> FloatArray:
        """:meth:`fit` and :meth:`transform` of the same rows."""
        with restore_on_error(self):
            return self.fit(X, y, qid=qid).transform(X, qid=qid)

    def transform(self, X: FrameLike, *, qid: ArrayLike | QueryGroups | None = None) -> FloatArray:
        """Scaled rows, in the precision of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        qid : array-like of shape (n_samples,), optional
            Query id of each row. None: scale with the statistics of the rows of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_rows(self, X, accept_sparse=False)
        rows = X.astype(np.float64)
        if qid is None:
            if self.scaling == "rank":
                weight = getattr(self, "sorted_weight_", None)
                scaled = ranks_among(self.sorted_, rows, weight)
            else:
                scaled = _divide_rows(rows - self.shift_, self.scale_)
            return scaled.astype(X.dtype, copy=False)
        groups = QueryGroups.from_qid(qid, X.shape[0])
        return scale_rows(self.scaling, rows, groups).astype(X.dtype, copy=False)

    def _check_structure(self) -> None:
        names = ("sorted_",) if self.scaling == "rank" else ("shift_", "scale_")
        require_attributes(self, *names)
        if self.scaling == "rank":
            require(len(self.sorted_), "sorted_", "hold a row", self.sorted_.shape)


def scale_rows(
    scaling: str, rows: Float64Array, groups: QueryGroups, weight: Float64Array | None = None
) -> Float64Array:
    """Rows scaled within their queries; a row of weight w counts as w equal rows."""
    rows, weight = groups.sort(rows), None if weight is None else groups.sort(weight)
    if scaling == "rank":
        scaled = rank_centred(rows, groups.indptr, weight)
    else:
        shift, scale = _SHIFTS[spell(scaling)](rows, groups.indptr, weight)
        scaled = _divide_rows(rows - shift, scale)
    return groups.unsort(scaled)


def _min_max(
    rows: FloatArray, indptr: Any, weight: Float64Array | None
) -> tuple[FloatArray, FloatArray]:
    """Minimum and range of each row's query."""
    low = _reduce_queries(np.minimum, rows, indptr)
    return low, _reduce_queries(np.maximum, rows, indptr) - low


def _standard(
    rows: FloatArray, indptr: Any, weight: Float64Array | None
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each row's query."""
    copies = np.ones((len(rows), 1)) if weight is None else weight[:, None]
    count = _reduce_queries(np.add, copies, indptr)
    # Subtract the minimum first, so that a constant column has no spread from rounding.
    low = _reduce_queries(np.minimum, rows, indptr)
    above = rows - low
    mean = _reduce_queries(np.add, copies * above, indptr) / count
    spread = np.sqrt(_reduce_queries(np.add, copies * (above - mean) ** 2, indptr) / count)
    return low + mean, spread


_SHIFTS = {"min_max": _min_max, "standard": _standard}


def _reduce_queries(reduce: np.ufunc, rows: FloatArray, indptr: Any) -> FloatArray:
    """Reduce within each query and repeat the result for the query's rows."""
    sizes = np.diff(indptr)
    return np.repeat(reduce.reduceat(rows, indptr[:-1][sizes > 0], axis=0), sizes[sizes > 0], 0)


def _divide_rows(rows: FloatArray, spread: FloatArray) -> FloatArray:
    return np.divide(
        rows, spread, out=np.zeros_like(rows), where=np.broadcast_to(spread > 0, rows.shape)
    )


_EQUAL = 1e-13


def rank_centred(
    rows: FloatArray, indptr: Int64Array, weight: Float64Array | None = None
) -> Float64Array:
    """Centred ranks ``(below - above) / (2 m)`` within queries of m rows.

    ``rows`` (n_samples, n_features) are in group order. Ranks lie in (-1/2, 1/2), with mean 0 in
    every query; all are 0 if a feature is constant within a query. O(n log n) for each feature.
    ``weight`` is (n_samples,), or (n_samples, n_features) if each feature has its own order.
    """
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    first, size = indptr[query], sizes[query]
    out = np.empty(rows.shape)
    for feature, column in enumerate(rows.T):
        order = np.lexsort((column, query))
        ordered = column[order]
        largest = np.maximum(np.abs(ordered[first]), np.abs(ordered[first + size - 1]))
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (np.diff(ordered) > _EQUAL * largest[1:]) | (np.diff(query) != 0)
        starts = np.flatnonzero(new)
        run = np.cumsum(new) - 1
        ends = np.append(starts[1:], len(rows))[run]
        before = np.arange(len(rows) + 1)  # number of rows, or their weight, before each
        if weight is not None:
            copies = weight if weight.ndim == 1 else weight[:, feature]
            before = np.append(0.0, np.cumsum(copies[order]))
        below = before[starts[run]] - before[first]
        above = before[first + size] - before[ends]
        out[order, feature] = (below - above) / (2 * (before[first + size] - before[first]))
    return out


def ranks_among(
    ascending: FloatArray, rows: FloatArray, weight: Float64Array | None = None
) -> Float64Array:
    """Ranks of new rows among stored rows, which are ranked by :func:`rank_centred`.

    Ranks are interpolated linearly between stored values and approach -1/2 and 1/2 beyond the
    outermost ones. They are a continuous, increasing function of the value. ``ascending``
    (n_kept, n_features) holds the stored rows, with every column sorted, and ``weight`` theirs.
    """
    ranks = rank_centred(ascending, np.array([0, len(ascending)]), weight)
    out = np.empty(rows.shape)
    for feature, column in enumerate(rows.T):
        kept, rank = ascending[:, feature], ranks[:, feature]
        scale = kept[-1] - kept[0] or 1.0
        under = np.maximum(kept[0] - column, 0.0) / scale
        over = np.maximum(column - kept[-1], 0.0) / scale
        out[:, feature] = np.interp(column, kept, rank)
        out[:, feature] -= (0.5 + rank[0]) * under / (1.0 + under)
        out[:, feature] += (0.5 - rank[-1]) * over / (1.0 + over)
    return out
