"""Perceptron steps with ordered thresholds, for one or many hypotheses on the same rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.perceptron_ranking import prank_csr, prank_rows, prank_value
from rankwise.ordinal.online.hypotheses import Hypotheses
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse

# With fewer products of weights and entries, one thread is faster.
SMALL_WORK = 1e6
LEAST_PRANKS = 16  # per thread


class PerceptronSteps:
    """Update rule of PRank."""

    def on_rows(
        self, known: Hypotheses, features: Matrix, codes: Int64Array, coins: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """Update hypotheses in place from rows of explicit features.

        ``coins`` marks the rows that each hypothesis sees. Returns the number of thresholds that
        each row lowered and raised, shape (n_rows, P, 2).
        """
        moves = np.zeros((*coins.shape, 2), dtype=np.int32)
        state = (coins, known.weights, known.thresholds, known.tallies, moves)

        def learn(span: tuple[int, int]) -> None:
            if is_sparse(features):
                arrays = (features.data, features.indices, features.indptr)
                prank_csr(*arrays, codes, *state, span)
            else:
                prank_rows(features, codes, *state, *span)

        n_entries = features.nnz if is_sparse(features) else features.size
        n_threads = available_threads() if n_entries * coins.shape[1] > SMALL_WORK else 1
        n_spans = max(1, min(n_threads, coins.shape[1] // LEAST_PRANKS))
        ends = np.linspace(0, coins.shape[1], n_spans + 1).astype(int).tolist()
        thread_map(learn, list(pairwise(ends)), n_threads)
        return moves

    def on_value(
        self,
        known: Hypotheses,
        values: Float64Array,
        code: int,
        coins: NDArray[np.bool_],
        weights: Float64Array,
        moves: NDArray[np.int32],
    ) -> bool:
        """Update hypotheses with the given ``weights`` from the kernel values of one row.

        Returns whether the row becomes a support row.
        """
        return prank_value(values, code, coins, weights, known.thresholds, known.tallies, moves)
