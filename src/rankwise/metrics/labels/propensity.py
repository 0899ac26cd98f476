"""Propensities of labels, and a precision that gives rare labels more weight.

A true label of a row is recorded in the data only with probability p_l, its propensity, which is
lower for rare labels [1]_. With N rows and N_l rows of label l,

    p_l = 1 / (1 + C exp(-A log(N_l + B))),   C = (log N - 1) (B + 1)^A,

and ``PSP@k = 1/k sum over the first k labels of y_l / p_l`` is an unbiased estimate of P@k on the
complete labels. It can exceed 1, so it is divided by the value of the best ranking, both summed
over all rows, as in the programs of the extreme classification repository.

References
----------
.. [1] Jain, Prabhu & Varma, "Extreme multi-label loss functions for recommendation, tagging,
   ranking and other missing label applications", KDD 2016, equation 3 and section 3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankwise.checks.label_data import check_indicator
from rankwise.kernels.topk import add_discounted
from rankwise.metrics.conventions import TIES, check_choice, check_cutoff
from rankwise.metrics.measure import Measure
from rankwise.metrics.ranking.gains import NO_TABLE
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


def label_propensities(Y: Any, A: float = 0.55, B: float = 1.5) -> Float64Array:
    """Propensity of every label from the labels of the training rows.

    Parameters
    ----------
    Y : 0/1 array-like or sparse matrix of shape (n_samples, n_labels)
        Labels of the training part.
    A, B : float > 0
        Parameters of the formula. The defaults are the paper's general values; it uses 0.5 and 0.4
        for Wikipedia, 0.6 and 2.6 for Amazon.

    Returns
    -------
    ndarray of shape (n_labels,), float64
        Propensities in (0, 1].

    Raises
    ------
    ValueError
        If Y is not 0/1, Y has fewer than three rows (log N must exceed 1), or A or B is not
        positive.

    Notes
    -----
    O(stored ones).

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.zeros((100, 3), dtype=int)
    >>> Y[:50, 0] = Y[:5, 1] = 1
    >>> label_propensities(Y).round(3)
    array([0.594, 0.319, 0.173])
    """
    for name, value in (("A", A), ("B", B)):
        if not (isinstance(value, int | float | np.number) and 0 < value < math.inf):
            raise ValueError(f"{name} must be a number > 0, got {value!r}.")
    n_samples = Y.shape[0] if hasattr(Y, "shape") else len(Y)
    ones = check_indicator(Y, n_samples)
    if n_samples < 3:
        raise ValueError(f"Y must have at least 3 rows for log N > 1, got {n_samples}.")
    counts = np.asarray(ones.sum(axis=0), dtype=np.float64).ravel()
    C = (math.log(n_samples) - 1) * (B + 1) ** A
    return 1 / (1 + C * (counts + B) ** -A)


@dataclass(frozen=True)
class PropensityPrecision(Measure):
    """Propensity-scored precision among the first k labels; true labels have the value 1 / p."""

    name: ClassVar[str] = "PSP"
    reads_from_top: ClassVar[bool] = True

    # Divide the mean by that of the best ranking; values per row are not divided
    normalised: bool = True
    ties: str = "mean"
    cutoff: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.normalised, bool):
            raise ValueError(f"PSP: normalised must be True or False, got {self.normalised!r}.")
        check_choice(self.name, "ties", self.ties, TIES)
        check_cutoff(self.name, self.cutoff)

    def prepare(self, scored: ScoredGroups) -> None:
        """Announce the cut-off."""
        scored.need(self.ties, self.cutoff)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        ranked, top = scored.rank(scored.y, self.ties, self.cutoff)
        sums = np.empty(scored.n_queries)
        add_discounted(ranked, top, NO_TABLE, np.ones(self.cutoff), False, self.cutoff, sums)
        return sums / self.cutoff
