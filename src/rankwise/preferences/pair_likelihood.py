"""Negative log-likelihood of paired comparisons as a function of strengths and effects.

The advantage of the first item is ``eta = s_first - s_second + z . b``. Parameters are, in this
order, the strengths s, the effects b of the columns Z, and the parameter of ties if the model has
one. The design has two entries per comparison, so a Newton step costs O(R + m^2) for R distinct
comparisons of m items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.preferences.outcome_models import OUTCOME_MODELS, TIE, TIE_STARTS, OutcomeTerms
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class PairLikelihood:
    """Negative log-likelihood of aggregated comparisons.

    Without ties in the data, the parameter of ties has no estimate (``has_tie`` is false), and
    every model is that of Bradley and Terry.
    """

    n_items: int
    first: Int64Array  # first and second: items of each distinct comparison (row)
    second: Int64Array
    Z: Float64Array  # (n_rows, n_effects): columns of order and covariates
    # (3, n_rows): weight of wins of the first item, of ties and of wins of the second
    counts: Float64Array
    model: str  # key of ``OUTCOME_MODELS``
    has_tie: bool  # whether the parameter of ties is estimated

    @property
    def n_parameters(self) -> int:
        """Number of strengths, effects and parameters of ties."""
        return self.n_items + self.Z.shape[1] + self.has_tie

    def start(self) -> Float64Array:
        """Parameters to begin with: all items are equal."""
        theta = np.zeros(self.n_parameters)
        if self.has_tie:
            theta[-1] = TIE_STARTS[self.model]
        return theta

    def largest_advantage(self, theta: Float64Array) -> float:
        """Largest absolute advantage in a comparison, or parameter of ties."""
        tie = abs(float(theta[-1])) if self.has_tie else 0.0
        return float(np.abs(self._eta(theta)).max(initial=tie))

    def value(self, theta: Float64Array) -> float:
        """Negative log-likelihood; infinite outside the domain."""
        if self.has_tie and self.model == "rao-kupper" and theta[-1] <= 0.0:
            return np.inf
        return float(np.einsum("ij,ij->", self.counts, self.terms(theta).value))

    def derivatives(self, theta: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Gradient and Hessian, of shapes (n_parameters,) and (n_parameters, n_parameters)."""
        terms = self.terms(theta)
        by_eta, by_tie, eta_eta, eta_tie, tie_tie = (
            np.einsum("ij,ij->j", self.counts, term) for term in terms[1:]
        )
        m, q = self.n_items, self.Z.shape[1]
        gradient, hessian = np.empty(self.n_parameters), np.zeros((self.n_parameters,) * 2)
        gradient[:m] = self._sum_by_item(by_eta)
        gradient[m : m + q] = self.Z.T @ by_eta
        across = np.bincount(self.first * m + self.second, eta_eta, m * m).reshape(m, m)
        across += across.T
        hessian[:m, :m] = np.diag(across.sum(axis=1)) - across
        for column in range(q):
            hessian[:m, m + column] = self._sum_by_item(eta_eta * self.Z[:, column])
        hessian[m : m + q, m : m + q] = self.Z.T @ (eta_eta[:, None] * self.Z)
        if self.has_tie:
            gradient[-1], hessian[-1, -1] = by_tie.sum(), tie_tie.sum()
            hessian[:m, -1] = self._sum_by_item(eta_tie)
            hessian[m : m + q, -1] = self.Z.T @ eta_tie
        # The blocks above fill the upper triangle; that of the strengths is symmetric.
        return gradient, np.triu(hessian) + np.triu(hessian, 1).T

    def terms(self, theta: Float64Array) -> OutcomeTerms:
        """Terms of every outcome of every distinct comparison."""
        model = OUTCOME_MODELS[self.model if self.has_tie else "half"]
        return model(self._eta(theta), float(theta[-1]) if self.has_tie else 0.0)

    def scores(
        self, theta: Float64Array, row: Int64Array, outcome: Int64Array, weight: Float64Array
    ) -> Any:
        """Gradient of each original comparison, CSR of shape (n_comparisons, n_parameters).

        ``row`` is the distinct comparison of each original one.
        """
        terms = self.terms(theta)
        by_eta = weight * terms.by_eta[outcome, row]
        n, m = len(row), self.n_items
        columns = [self.first[row], self.second[row]]
        values = [by_eta, -by_eta]
        for column in range(self.Z.shape[1]):
            columns.append(np.full(n, m + column))
            values.append(by_eta * self.Z[row, column])
        if self.has_tie:
            columns.append(np.full(n, self.n_parameters - 1))
            values.append(weight * terms.by_tie[outcome, row])
        per_row = len(columns)
        return sparse.csr_array(
            (
                np.stack(values, axis=1).ravel(),
                np.stack(columns, axis=1).ravel(),
                np.arange(n + 1) * per_row,
            ),
            shape=(n, self.n_parameters),
        )

    def middle(self, theta: Float64Array) -> Float64Array:
        """Sum of the outer products of the gradients of all comparisons."""
        outcomes, rows = np.nonzero(self.counts)
        scores = self.scores(theta, rows, outcomes, np.sqrt(self.counts[outcomes, rows]))
        return (scores.T @ scores).toarray()

    def dispersion(self, theta: Float64Array) -> float:
        """Variance of the gradients by the advantage, as a share of the second derivatives.

        1 for a likelihood. Half a win is none: its gradient varies less.
        """
        n = float(self.counts.sum()) - (self.n_parameters - 1)
        if self.model != "half" or not self.counts[TIE].any() or n <= 0:
            return 1.0
        terms = self.terms(theta)
        squares = float(np.einsum("ij,ij->", self.counts, terms.by_eta**2))
        curvature = float(np.einsum("ij,ij->", self.counts, terms.eta_eta))
        # Fitted parameters take up part of the squares.
        return min(squares / curvature * (n + self.n_parameters - 1) / n, 1.0)

    def _eta(self, theta: Float64Array) -> Float64Array:
        m, q = self.n_items, self.Z.shape[1]
        eta = theta[self.first] - theta[self.second]
        return eta + self.Z @ theta[m : m + q] if q else eta

    def _sum_by_item(self, values: Float64Array) -> Float64Array:
        m = self.n_items
        return np.bincount(self.first, values, m) - np.bincount(self.second, values, m)
