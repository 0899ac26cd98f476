"""Squared loss of the grades, or of their differences over the pairs of each query."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.losses.problem import Problem
from rankwise.rows.fit_data import FitData


@dataclass(frozen=True)
class SquaredLoss:
    """``sum_i w_i (y_i - f_i)^2``, or the sum over pairs ``((y_i - y_j) - (f_i - f_j))^2``.

    Attributes
    ----------
    graph : {"all", "distinct", "pointwise"}
        All pairs of a query, those of different grades, or no pairs but the grades themselves.
    query_weight : {"pair", "document", "query"}
        Unit of equal total weight: every pair, every document or every query.
    intercept : bool
        Whether a pointwise loss has an unpenalised intercept.
    """

    graph: str
    query_weight: str = "pair"
    intercept: bool = False

    @property
    def takes_shift(self) -> bool:
        """Whether adding a constant to the scores of a query (or to all) keeps the loss."""
        return self.graph != "pointwise" or self.intercept

    def on(self, rows: FitData) -> Problem:
        """Build the loss for checked rows."""
        return Problem(
            rows.X,
            rows.y,
            rows.groups,
            rows.sample_weight,
            self.graph,
            self.query_weight,
            self.intercept,
        )
