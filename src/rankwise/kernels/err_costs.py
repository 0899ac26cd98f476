"""Cost of one wrong rank in a query's expected reciprocal rank.

Take one row out of a list ranked by true grades. Let ``R_j`` be the probability of stopping at the
row with rank ``j``, and ``P_j`` that of passing all rows before it. If the row taken out stops the
reader with probability ``R``, moving it from rank ``j`` to ``j + 1`` lowers the measure by
``P_j (1/j - 1/(j+1)) (R - R_j)``. The values for all ranks are therefore running sums.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit


@njit
def err_costs(counts, stop, out):
    """Write the loss of expected reciprocal rank by query, true grade and predicted grade.

    ``counts`` (n_queries, n_grades), int64; ``stop`` (n_grades,) ascending, below 1; ``out``
    (n_queries, n_grades, n_grades) is written, zero for grades that the query lacks. A row ties
    with the rows of its predicted grade: the loss is the mean over its possible ranks among them.
    """
    n_queries, n_grades = counts.shape
    means = np.empty(n_grades)
    for q in range(n_queries):
        for y in range(n_grades):
            for k in range(n_grades):
                out[q, y, k] = 0.0
            if counts[q, y] == 0:
                continue
            value, passing, place = 0.0, 1.0, 1
            for k in range(n_grades - 1, -1, -1):
                # The list is that of the other rows: the row itself is taken out.
                others = counts[q, k] - (1 if k == y else 0)
                total = value
                for _ in range(others):
                    step = 1.0 / (place * (place + 1.0))
                    value -= passing * step * (stop[y] - stop[k])
                    passing *= 1.0 - stop[k]
                    place += 1
                    total += value
                means[k] = total / (others + 1)
            for k in range(n_grades):
                if k != y:
                    # The true grade is the best rank; a negative difference is rounding.
                    out[q, y, k] = max(means[y] - means[k], 0.0)
