"""Probabilities of ordered classes from one score: ``P(y <= k | s) = F(theta_k - a s)``.

F is logistic, the slope a is not negative and the thresholds ascend: a cumulative link model of one
column. Probabilities therefore lie between 0 and 1, sum to 1, and move to higher classes as the
score rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.cumulative_link import LINKS
from rankwise.rows.fit_data import FitData
from rankwise.solvers.newton.cumulative_newton import CumulativeNewton
from rankwise.solvers.newton.cumulative_path import CumulativeModel, CumulativePath
from rankwise.structure.rules import Number, Rule, floats
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array

LINK = LINKS["logit"]
SOLVER = CumulativeNewton(tol=1e-6, max_iter=100)
# Weight of the losses relative to half the squared slope per standard deviation of the scores. The
# penalty keeps the slope finite if the scores separate the classes.
C = Penalties(np.array([10.0]), "C")
# Spreads below this share of the largest score are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    """A map from scores, clipped to ``low`` and ``high``, to probabilities."""

    _structure: ClassVar[dict[str, Rule]] = {
        "slope": Number(low=0),
        "thresholds": floats("n_classes - 1"),
        "low": Number(),
        "high": Number(),
    }

    slope: float
    thresholds: Float64Array  # ascending; -1e300 and 1e300 below and above all classes with rows
    low: float
    high: float

    @classmethod
    def of(
        cls,
        codes: Float64Array,
        weight: Float64Array | None,
        n_classes: int,
        scores: Float64Array,
        low: float,
        high: float,
    ) -> Self:
        """Maximum-likelihood slope and thresholds, with a light penalty on the slope.

        ``codes`` are class numbers; ``codes``, ``weight`` and ``scores`` are (n_samples,).
        """

        def solved(column: Float64Array) -> CumulativeModel:
            rows = FitData(
                column[:, None],
                codes,
                QueryGroups.single(len(codes)),
                weight,
                classes=np.arange(n_classes),
            )
            return CumulativePath(rows, None, LINK, C, SOLVER).solve().models[0]

        scores = np.clip(scores, low, high)
        _, spread = mean_and_deviation(scores, weight)
        if spread == 0.0:
            return cls(0.0, solved(np.zeros(len(scores))).thresholds, low, high)
        model = solved(scores / spread)
        if model.coef[0] < 0:  # scores that mislead tell nothing
            model = solved(np.zeros(len(scores)))
        return cls(float(model.coef[0] / spread), model.thresholds, low, high)

    def probabilities(self, scores: Float64Array) -> Float64Array:
        """Probability of every class, shape (n_samples, n_classes)."""
        return LINK.probabilities(
            self.slope * np.clip(scores, self.low, self.high), self.thresholds
        )


def mean_and_deviation(scores: Float64Array, weight: Float64Array | None) -> tuple[float, float]:
    """Weighted mean and standard deviation; a deviation due to rounding alone becomes 0."""
    mean = float(np.average(scores, weights=weight))
    largest = float(np.abs(scores).max()) or 1.0  # so that squares of tiny scores stay numbers
    share = float(np.sqrt(np.average(((scores - mean) / largest) ** 2, weights=weight)))
    return mean, largest * share if share > ROUNDING else 0.0
