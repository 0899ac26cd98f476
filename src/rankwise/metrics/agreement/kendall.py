"""Kendall's rank correlation τ of labels and scores, variants a and b.

``(concordant - discordant) / n0`` with ``n0 = m(m-1)/2`` (a), or with
``sqrt((n0 - ties in y)(n0 - ties in f))`` (b), by Knight's counting of inversions (1966, JASA
61:436-439).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.agreement.undefined import AgreementMeasure
from rankwise.metrics.conventions import Empty, check_choice
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class Tau(AgreementMeasure):
    """Kendall's τ in [-1, 1].

    Variant "a" divides by the number of all pairs, so ties keep τ below 1; "b" corrects for ties.
    O(m log m) for a query of m rows. If all scores are equal, τ is 0, whereas
    ``scipy.stats.kendalltau`` returns NaN. Thus the labels alone decide which queries count, and
    no ranker can drop its bad queries by tying them.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3, 2, 1, 1], [0.9, 0.3, 0.5, 0.1], measures="Tau(variant=a)")["Tau(variant=a)"]
    0.5
    """

    name: ClassVar[str] = "Tau"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    variant: str = "b"
    empty: Empty = "skip"  # value of a query whose labels are all equal

    def __post_init__(self) -> None:
        check_choice(self.name, "variant", self.variant, ("b", "a"))
        super().__post_init__()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        pairs = scored.pairs
        agreement = pairs.ordered - pairs.undecided - 2 * pairs.misordered
        if self.variant == "a":
            most = pairs.total.astype(np.float64)
        else:
            most = np.sqrt(pairs.ordered * (pairs.total - pairs.tied_f).astype(np.float64))
        tau = np.clip(agreement / np.where(most > 0, most, 1.0), -1.0, 1.0)
        return self.fill_empty(tau, pairs.ordered > 0)
