"""Pairwise misranking: the share of a query's preferences that the scores violate.

``#{y_i > y_j, f_i < f_j} + ties · #{y_i > y_j, f_i = f_j}`` over ``#{y_i > y_j}``. With
``ties=0.5`` and two grades it is 1 - AUC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.agreement.undefined import AgreementMeasure
from rankwise.metrics.conventions import Empty, check_choice
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array

TIES = (1.0, 0.5, 0.0)


@dataclass(frozen=True)
class Misranking(AgreementMeasure):
    """Pairwise misranking, smaller is better.

    ``ties`` is the loss of a pair with different labels and equal scores: 1 (misordered), 0.5
    (ordered at random) or 0. O(m log m) for a query of m rows.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([2, 1, 0], [0.3, 0.7, 0.3], measures="Misranking")["Misranking"]
    0.6666666666666666
    """

    name: ClassVar[str] = "Misranking"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    greater_is_better: ClassVar[bool] = False
    ties: float = 1.0
    empty: Empty = "skip"  # value of a query whose labels are all equal

    def __post_init__(self) -> None:
        check_choice(self.name, "ties", self.ties, TIES)
        super().__post_init__()
        object.__setattr__(self, "ties", float(self.ties))

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        pairs = scored.pairs
        wrong = pairs.misordered + self.ties * pairs.undecided
        share = wrong / np.maximum(pairs.ordered, 1)
        return self.fill_empty(share, pairs.ordered > 0)
