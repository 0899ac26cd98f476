"""State of online ordinal learners: weights and thresholds of several hypotheses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.perceptron_ranking import LOSS, MISTAKES, SURVIVAL
from rankwise.structure.rules import Rule, floats, integers
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """P hypotheses that are trained on the same rows.

    ``weights`` holds the weights of the columns, or the coefficients of the support rows of a
    kernel.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "weights": floats("n_weights", "n_hypotheses"),
        "thresholds": floats("n_hypotheses", "n_classes - 1"),
        "tallies": integers("n_hypotheses", 3, low=0),
    }

    weights: Float64Array
    thresholds: Float64Array  # on the scores, ascending
    tallies: Int64Array  # counts behind ``survival``, ``n_mistakes`` and ``total_loss``

    @classmethod
    def zeros(cls, n_rows: int, n_hypotheses: int, n_classes: int) -> Hypotheses:
        """Hypotheses that have not seen any row."""
        return cls(
            np.zeros((n_rows, n_hypotheses)),
            np.zeros((n_hypotheses, n_classes - 1)),
            np.zeros((n_hypotheses, 3), dtype=np.int64),
        )

    def copy(self) -> Hypotheses:
        """Copy with separate arrays."""
        return Hypotheses(self.weights.copy(), self.thresholds.copy(), self.tallies.copy())

    @property
    def survival(self) -> Int64Array:
        """Number of rows each hypothesis has seen since its last mistake, including that row."""
        return self.tallies[:, SURVIVAL]

    @property
    def n_mistakes(self) -> Int64Array:
        """Number of rows that each hypothesis assigned to a wrong class when it saw them."""
        return self.tallies[:, MISTAKES]

    @property
    def total_loss(self) -> Int64Array:
        """Sum over the rows of the distance in ranks between the predicted and the true class."""
        return self.tallies[:, LOSS]
