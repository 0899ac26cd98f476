"""What losses of scores have in common: their interface, and the weights of pairs.

Interface of losses of scores, for solvers of linear scores and kernel expansions.

Weights of pairs that depend on their two grades.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from rankwise.typing import Float64Array, Int64Array


class LossState(Protocol):
    """The loss of a part of the queries, at the scores last visited."""

    def value_grad(self, scores: Float64Array, out: Float64Array) -> float:
        """Value at the scores of the part's rows; the gradient is written to ``out``."""
        ...

    def curvature(self, step: Float64Array, out: Float64Array) -> None:
        """Second derivative at the scores last visited, times ``step``, written to ``out``."""
        ...

    def total_curvature(self) -> float:
        """Trace of the second derivative at the scores last visited."""
        ...


class ScoreLoss(Protocol):
    """A loss of the scores of whole queries, rows in group order.

    Rankers create it from :class:`rankwise.groups.GroupedRows` with a class method
    ``of``.
    """

    @property
    def indptr(self) -> Int64Array: ...

    def part(self, first: int, last: int) -> LossState:
        """State of the queries ``first:last``."""
        ...


AnyLoss = TypeVar("AnyLoss", bound=ScoreLoss, covariant=True)
QueryWeight = Literal["pair", "document", "query"]
# The pairs of a query of total weight W are divided by W to this power.
QUERY_POWERS = {"pair": 0, "document": 1, "query": 2}
QUERY_WEIGHTS = ("pair", "document", "query")
FEW_GRADES = 48  # maximum number of labels with a table of pair weights
LARGEST_TABLE = 4096
PAIR_WEIGHTS = ("difference", "gain", "power", "product")
PairWeight: TypeAlias = (
    Literal["difference", "gain", "power", "product"]
    | Callable[[Float64Array, Float64Array], Any]
    | None
)


def pair_weights(pair_weight: PairWeight, upper: Float64Array, lower: Float64Array) -> Float64Array:
    """Weight of every pair of labels, ``upper`` above ``lower``, both (n_pairs,).

    For labels a > b: 1 if ``pair_weight`` is None; "difference" ``a - b``; "gain" ``2^a - 2^b``;
    "power" ``a^(a - b)`` and "product" ``a (a - b)`` [1]_; or a function of the arrays of upper and
    lower labels that returns as many weights, finite and >= 0.

    .. [1] Tsai et al., "Ranking algorithms of the Yahoo learning to rank challenge", 2010: the
       weight ``max(y_i, y_j)^|y_i - y_j|``, read as a power; the product is another reading.
    """
    a, b = upper, lower
    with np.errstate(over="ignore", invalid="ignore"):
        if callable(pair_weight):
            weights = np.asarray(pair_weight(a, b), dtype=np.float64)
        elif pair_weight is None:
            weights = np.ones(len(a))
        else:
            weights = {
                "difference": lambda: a - b,
                "gain": lambda: 2.0**a - 2.0**b,
                "power": lambda: np.power(a, a - b),
                "product": lambda: a * (a - b),
            }[pair_weight]()
    if weights.shape != a.shape:
        raise ValueError(
            f"pair_weight must return one weight per pair of grades, shape {a.shape}, got "
            f"{weights.shape}."
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        pair = int(np.argmax(bad))
        raise ValueError(
            f"pair_weight must be finite and >= 0, got {weights[pair]:g} for the labels "
            f"{a[pair]:g} and {b[pair]:g} (pair_weight={pair_weight!r}). Use another weight, or "
            "labels from 0."
        )
    return weights


def pair_table(pair_weight: PairWeight, grades: Float64Array) -> Float64Array:
    """Weight of every pair of grades, the upper grade first; 0 unless the first is higher.

    ``grades`` (n_grades,) are the distinct labels, ascending, at most 4096; the table is
    (n_grades, n_grades). See :func:`pair_weights`.
    """
    if len(grades) > LARGEST_TABLE:
        raise ValueError(
            f"pair_weight takes at most {LARGEST_TABLE} distinct labels, got {len(grades)}. Use "
            "pair_weight=None, or round the labels."
        )
    upper, lower = np.tril_indices(len(grades), -1)
    table = np.zeros((len(grades), len(grades)))
    table[upper, lower] = pair_weights(pair_weight, grades[upper], grades[lower])
    return table


def table_of_few(pair_weight: PairWeight, grades: Float64Array) -> Float64Array | None:
    """:func:`pair_table`, or None if all pairs weigh 1 and a binary tree of sums is faster."""
    if pair_weight is None and len(grades) > FEW_GRADES:
        return None
    return pair_table(pair_weight, grades)


def label_codes(y: Float64Array, indptr: Int64Array, table: Float64Array | None) -> Int64Array:
    """Rank of every label, from 0: among all labels if there is a table, else within its query."""
    if table is not None:
        return np.unique(y, return_inverse=True)[1].astype(np.int64)
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((y, query))
    new_query = np.diff(query[order], prepend=-1) != 0
    new = new_query | (np.diff(y[order], prepend=np.nan) != 0)
    rank = np.cumsum(new)
    first = np.repeat(rank[new_query], sizes[sizes > 0])
    codes = np.empty(len(y), dtype=np.int64)
    codes[order] = rank - first
    return codes


def query_scale(
    indptr: Int64Array, weight: Float64Array, query_weight: QueryWeight
) -> Float64Array:
    """Weight ``c_q`` of every query: 1, ``1 / W_q`` or ``1 / W_q^2`` for its total weight W_q."""
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    totals = np.bincount(query, weights=weight, minlength=len(sizes))
    power = float(QUERY_POWERS[query_weight])
    return np.where(totals > 0, np.where(totals > 0, totals, 1.0) ** -power, 0.0)
