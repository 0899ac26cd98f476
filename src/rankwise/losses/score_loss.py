"""Interface of losses of scores, for solvers of linear scores and kernel expansions."""

from __future__ import annotations

from typing import Protocol, TypeVar

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

    Rankers create it from :class:`rankwise.rows.grouped_rows.GroupedRows` with a class method
    ``of``.
    """

    @property
    def indptr(self) -> Int64Array: ...

    def part(self, first: int, last: int) -> LossState:
        """State of the queries ``first:last``."""
        ...


AnyLoss = TypeVar("AnyLoss", bound=ScoreLoss, covariant=True)
