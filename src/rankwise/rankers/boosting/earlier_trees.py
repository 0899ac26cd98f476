"""Trees that ``warm_start`` continues from, and what else the next ones need of the earlier fit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankwise.rankers.boosting.tree_scores import TreeScores
from rankwise.solvers.boosting.rounds import check_warm_start
from rankwise.trees.column_table import ColumnTable
from rankwise.trees.tree_ensemble import TreeEnsemble


@dataclass(frozen=True, eq=False)
class EarlierTrees:
    """Trees of an earlier fit; none by default."""

    trees: TreeEnsemble = field(default_factory=lambda: TreeEnsemble.of([]))
    n_rounds: int = 0  # rounds of these trees; the draws of a round depend on its number
    # (n_features,); (1,) if there was no earlier fit.
    has_missing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, dtype=bool))
    biases: dict[int, float] = field(default_factory=dict)  # bias of each position in training
    n_features: int | None = None  # None: there was no earlier fit
    columns: ColumnTable | None = None  # categories, to whose codes the trees refer

    @classmethod
    def of(cls, ranker: TreeScores) -> EarlierTrees:
        """Trees of a ranker, none if it is not fitted."""
        fitted = vars(ranker)
        if "trees_" not in fitted:
            return cls()
        biases = {}
        if "positions_" in fitted:
            positions = fitted["positions_"].tolist()
            biases = dict(zip(positions, fitted["position_bias_"].tolist(), strict=True))
        n_rounds = fitted.get("n_rounds_", ranker.n_estimators_)  # models of 0.2.0 lack it
        return cls(
            ranker.trees_, n_rounds, ranker.has_missing_, biases, ranker.n_features_in_,
            ranker.columns_,
        )  # fmt: skip

    def continue_codes(self, columns: ColumnTable) -> ColumnTable:
        """The columns of new rows, with the codes that the trees refer to."""
        return (
            columns if self.columns is None else columns.continue_codes(self.columns, "warm_start")
        )

    def check(self, n_features: int, n_rounds: int) -> None:
        """Raise if the trees have other features or took more rounds; warn if they took as many."""
        if self.n_features is not None:
            check_warm_start(self.n_features, n_features, self.n_rounds, n_rounds)
