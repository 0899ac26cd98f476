"""Exponential loss of ordinal margins, with the optimal thresholds for the scores.

Row n of class y_n (0 to K - 1), weight w_n and score H_n has the margin ``rho_nk = H_n - theta_k``
at the thresholds below its class and ``theta_k - H_n`` at those above. The loss [1]_ is
``sum_n w_n sum_k exp(-rho_nk)`` over all thresholds k ("all") or over the two next to the class
("lr", left and right). The loss and its optimal thresholds depend on the scores only through
``sum w exp(H)`` and ``sum w exp(-H)`` over each class.

References
----------
.. [1] Lin & Li, "Large-margin thresholded ensembles for ordinal regression: theory and practice",
   Algorithmic Learning Theory (2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.kernels.margin_boosting import solve_thresholds
from rankwise.typing import Float64Array


@dataclass(frozen=True, eq=False)
class BestThresholds:
    """Thresholds that minimise the loss, with the loss and its slopes.

    The derivative of the loss for a step h in {-1, 1} of a row of class y is
    ``-h w (up[y] exp(-H) - down[y] exp(H))``. The two terms are the row's loss at the thresholds
    below and above its class.
    """

    # (n_classes - 1,), ascending: -inf if no row is below the threshold, inf if no row is above it
    thresholds: Float64Array
    loss: float
    up: Float64Array  # (n_classes,), as ``down``
    down: Float64Array

    def finite(self, bound: float) -> Float64Array:
        """Thresholds, with infinite ones set beyond ``bound``, which no score exceeds."""
        return np.clip(self.thresholds, -1.0 - bound, 1.0 + bound)


def best_thresholds(sums: Float64Array, form: str) -> BestThresholds:
    """Minimise the loss over the thresholds, in O(n_classes).

    ``sums`` (2, n_classes) holds ``sum w exp(H)`` and ``sum w exp(-H)`` over the rows of each
    class. For the form "all", ``theta_k = log(sum_{y <= k} w exp(H) / sum_{y > k} w exp(-H)) / 2``.
    For "lr", the two sums cover only the classes k and k + 1, and thresholds that are out of order
    are pooled by adding their sums.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.losses.ordinal_exponential import best_thresholds
    >>> counts = np.array([1.0, 2.0, 4.0])  # three classes, all scores 0
    >>> best = best_thresholds(np.stack([counts, counts]), "all")
    >>> np.exp(2 * best.thresholds).round(4)  # 1 below and 6 above, 3 below and 4 above
    array([0.1667, 0.75  ])
    """
    n_classes = sums.shape[1]
    thresholds, up, down = np.empty(n_classes - 1), np.empty(n_classes), np.empty(n_classes)
    loss = solve_thresholds(sums, form == "lr", thresholds, up, down)
    return BestThresholds(thresholds, loss, up, down)
