"""Weighted decision stumps: fast evaluation of their sum, and stagewise evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.model_width import check_columns_read
from rankwise.kernels.stump_search import add_stumps
from rankwise.runtime.jit import is_ready
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.solvers.boosting.ensemble import SignEnsemble
from rankwise.solvers.boosting.stump_search import Stump
from rankwise.structure.rules import Array, Rule, floats, integers
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

ROWS_AT_ONCE = 4096
SMALL = 20_000  # rows times columns, up to which one thread is quicker


@dataclass(frozen=True, eq=False)
class StumpEnsemble(SignEnsemble):
    """Stumps in the order in which they were found; all arrays are (n_rounds,).

    Rows whose value is above the threshold go up if the direction is 1 and down if it is -1, by the
    step (> 0); the other rows go the other way. ``missing`` is 1 if rows without a value go up, -1
    if they go down, 0 if they do neither.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "features": integers("n_rounds", low=0, below="n_features_in_"),
        "thresholds": Array(("n_rounds",), numbers="not NaN"),
        "directions": integers("n_rounds", low=-1, high=1),
        "steps": floats("n_rounds"),
        "missing": integers("n_rounds", low=-1, high=1),
    }
    _by_round = tuple(_structure)

    features: Int64Array
    thresholds: Float64Array
    directions: NDArray[np.int8]
    steps: Float64Array
    missing: NDArray[np.int8]

    @classmethod
    def empty(cls) -> StumpEnsemble:
        """No stumps."""
        none = np.empty(0)
        return cls(none.astype(np.int64), none, none.astype(np.int8), none, none.astype(np.int8))

    def single(self, base: Stump, step: float) -> Self:
        """An ensemble of a single stump."""
        return type(self)(
            np.array([base.feature], dtype=np.int64),
            np.array([base.threshold]),
            np.array([base.direction], dtype=np.int8),
            np.array([step]),
            np.array([base.missing], dtype=np.int8),
        )

    def score(self, X: Matrix) -> Float64Array:
        """Sum over all stumps of ``step`` for rows that go up and ``-step`` for rows that go down.

        The stumps of a column add up to a piecewise constant function. Evaluation takes O(log
        n_rounds) per row and column, whereas the sum over stages takes O(n_rounds) per row.
        """
        used, indptr, thresholds, values, missing = self.pieces()
        check_columns_read(used[-1:], X.shape[1])
        out = np.zeros(X.shape[0])
        if X.shape[0] * len(used) < SMALL and not is_ready(add_stumps):
            table = densify(X)  # compiled code takes longer to load than this
            for m, (column, low, high) in enumerate(zip(used, indptr, indptr[1:], strict=False)):
                cells = table[:, column]
                below = np.searchsorted(thresholds[low:high], cells)
                missed = np.isnan(cells)
                below[missed] = 0
                out += np.where(missed, missing[m], values[below + low + m])
            return out

        def add(start: int) -> None:
            rows = slice(start, start + ROWS_AT_ONCE)
            block = X[rows].toarray() if is_sparse(X) else X[rows]
            add_stumps(block, used, indptr, thresholds, values, missing, out[rows])

        n_threads = 1 if X.shape[0] * len(used) < SMALL else available_threads()
        thread_map(add, range(0, X.shape[0], ROWS_AT_ONCE), n_threads)
        return out

    def prepare(self, X: Matrix) -> Matrix:
        """Rows in the form that ``sides`` takes."""
        return X.tocsc() if is_sparse(X) else X

    def sides(self, prepared: Matrix) -> Iterator[NDArray[np.bool_]]:
        """Rows that go up, stump by stump; values may be missing only as in training."""
        for change in self._directions(prepared):
            yield change > 0

    def changes(self, prepared: Matrix) -> Iterator[Float64Array]:
        """Contribution of every stump to the scores of the rows."""
        for direction, step in zip(self._directions(prepared), self.steps.tolist(), strict=True):
            yield step * direction

    def _directions(self, prepared: Matrix) -> Iterator[NDArray[np.int8]]:
        """1 for rows that go up, -1 for those that go down, stump by stump."""
        used, place = np.unique(self.features, return_inverse=True)
        check_columns_read(used[-1:], prepared.shape[1])
        table = prepared[:, used]
        columns = np.ascontiguousarray(densify(table).T)
        holes = [np.flatnonzero(np.isnan(column)) for column in columns]
        for m, threshold, up, missing in zip(
            place, self.thresholds, self.directions, self.missing, strict=True
        ):
            direction = np.where(columns[m] > threshold, up, -up)
            direction[holes[m]] = missing
            yield direction

    def importances(self, n_features: int) -> Float64Array:
        """Share of each feature in the sum of all steps; 0 without stumps."""
        totals = np.bincount(self.features, self.steps, minlength=n_features)
        return totals / (totals.sum() or 1.0)

    def pieces(self) -> tuple[Int64Array, Int64Array, Float64Array, Float64Array, Float64Array]:
        """The piecewise constant functions of single features that the stumps add up to.

        Returns features, indptr, thresholds, values and missing. The features are the n_used ones
        of some stump, ascending. ``thresholds[indptr[m]:indptr[m + 1]]`` are those of feature m,
        ascending. The values of feature m start at ``indptr[m] + m``; value k applies if k
        thresholds are below. ``missing``, (n_used,), is the value for rows in which the feature is
        missing.
        """
        order = np.lexsort((self.thresholds, self.features))
        used, place, counts = np.unique(self.features, return_inverse=True, return_counts=True)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        thresholds, steps = self.thresholds[order], (self.directions * self.steps)[order]
        pieces = [
            # Below all thresholds every stump counts against its direction; each threshold passed
            # turns one around, which is twice its step.
            np.concatenate([[0.0], 2.0 * np.cumsum(column_steps)]) - column_steps.sum()
            for column_steps in np.split(steps, indptr[1:-1])
        ]
        missing = np.bincount(place, self.missing * self.steps, minlength=len(used))
        return used, indptr, thresholds, np.concatenate([np.empty(0), *pieces]), missing
