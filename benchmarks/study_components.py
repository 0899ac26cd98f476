"""What other boosters have and LambdaMART's defaults have not, one component at a time.

    python -m benchmarks.study_components > docs/study_components.txt

Five sets, on four of which CatBoost was ahead of LambdaMART's defaults in both measures of
``benchmarks.study_generalisation``; its choosing splits, number of trees, rate and errors. Runs are
fitted separately, and their scores added; "2 losses" are lambdarank's and YetiRank's. Runs of 50 or
25 trees have 2 or 4 times the rate, so that all trees together have the number and the rate of the
defaults. All trees have at most seven leaves.

Values in ``build/study_generalisation.jsonl`` are not computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.study_generalisation import (
    CHOOSING,
    EQUAL,
    LINEAR,
    MOST_ROWS,
    SEVEN_LEAVES,
    measure_all,
    print_differences,
    print_settings,
)
from benchmarks.study_generalisation import SETS as ALL_SETS
from rankwise import LambdaMART
from rankwise.losses.gradient_loss import BoostedLoss
from rankwise.solvers.boosting.tree_boosting import Start, TreeBoosting
from rankwise.trees.boosted.growing_tree import GradientTree, TreeGrower
from rankwise.trees.tree_ensemble import ScoreTree, TreeEnsemble
from rankwise.typing import Float64Array, Int64Array

SETS = ("ohsumed", "mq2008", "expedia", "cranfield", "vaswani")
BASE, THRESHOLDS = "defaults", "random thresholds"
DECAYED = {"objective": "yetirank", "decay": 0.85}
SETTINGS: dict[str, dict[str, Any]] = {
    BASE: {},
    "linear gains": LINEAR,
    "70 % of queries": {"subsample": 0.7},
    "half the columns a node": {"colsample_bynode": 0.5},
    "63 bins": {"max_bins": 63},
    THRESHOLDS: {"extra_trees": True},
    "YetiRank, linear nDCG": {"objective": "yetirank", "measure": "nDCG(gain=linear)"},
    "YetiRank, decay 0.85": DECAYED,
}
HALF = {"n_estimators": 50, "learning_rate": 0.2}
QUARTER = {"n_estimators": 25, "learning_rate": 0.4}
# Settings of the runs; each has a seed of its own.
RUNS: dict[str, list[dict[str, Any]]] = {
    "2 runs, 50 trees, 70 %": [HALF | {"subsample": 0.7}] * 2,
    "4 runs, 25 trees, 50 %": [QUARTER | {"subsample": 0.5}] * 4,
    "2 runs, 100 trees, 70 %": [{"subsample": 0.7}] * 2,
    "4 runs, 100 trees, 50 %": [{"subsample": 0.5, "colsample_bytree": 0.5}] * 4,
    "2 losses, 50 trees each": [HALF | DECAYED, HALF],
    "2 losses, 100 trees each": [DECAYED, {}],
}


class SummedRuns:
    """Sum of the scores of models that are fitted separately."""

    def __init__(self, settings: list[dict[str, Any]]) -> None:
        common: dict[str, Any] = EQUAL | SEVEN_LEAVES
        self._runs = [
            LambdaMART(**common | setting | {"random_state": seed})
            for seed, setting in enumerate(settings)
        ]

    def fit(self, X: Any, y: Any, qid: Any) -> SummedRuns:
        """Fit all models on the same rows."""
        for run in self._runs:
            run.fit(X, y, qid=qid)
        return self

    def predict(self, X: Any) -> Float64Array:
        """Sum of the scores of the rows."""
        return np.sum([run.predict(X) for run in self._runs], axis=0)


@dataclass(frozen=True)
class QueryBootstrap:
    """Bayesian bootstrap: the derivatives of a query count by an exponential draw."""

    def draws(self, number: int) -> bool:
        """Whether the tree of a number leaves rows out."""
        return True

    def draw_and_rescale(
        self,
        rng: np.random.Generator,
        indptr: Int64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> NDArray[np.bool_]:
        """All rows; scales their derivatives."""
        weight = np.repeat(rng.exponential(size=len(indptr) - 1), np.diff(indptr))
        gradients *= weight
        hessians *= weight
        return np.ones(len(weight), dtype=bool)


@dataclass(frozen=True)
class RefittedBoosting(TreeBoosting):
    """Boosting whose leaf values are Newton steps on all rows, whatever the splits were found on.

    Attributes
    ----------
    n_steps : int >= 1
        Newton steps of each leaf; all others but the first follow new derivatives.
    """

    n_steps: int = 1

    def fit(
        self, loss: BoostedLoss, grower: TreeGrower, start: Start, validation: Any = None
    ) -> tuple[TreeEnsemble, int]:
        """Grow all trees; validation rows are ignored."""
        scores, (gradients, hessians) = start.scores, grower.derivatives()
        first, second = np.empty_like(scores), np.empty_like(scores)
        grown: list[ScoreTree] = []
        for number in range(self.n_estimators):
            rng = np.random.default_rng([self.seed, number])
            loss.write(scores, gradients, hessians, number)
            first[:], second[:] = gradients, hessians
            inside, _ = self._rows(rng, number, loss.indptr, gradients, hessians)
            tree = grower.grow(gradients, hessians, 1.0, inside, None, rng)
            if len(tree.leaf_values) < 2:
                continue
            leaves, leaf_of_row = _leaves(grower, tree, len(scores))
            values = np.zeros(len(leaves))
            for step in range(self.n_steps):
                if step > 0:
                    loss.write(scores + values[leaf_of_row], first, second, number)
                # The penalty is on the value, not on the step.
                penalty = grower._rules.relative_lambda * second.sum()
                slopes, curvatures = (
                    np.bincount(leaf_of_row, derivatives, len(leaves))
                    for derivatives in (first, second)
                )
                values += -(slopes + penalty * values) / (curvatures + penalty + 1e-300)
            node_values = tree.tree.values.copy()
            node_values[leaves] = self.learning_rate * values
            scores += self.learning_rate * values[leaf_of_row]
            grown.append(replace(tree.tree, values=node_values))
        return TreeEnsemble.of(grown), self.n_estimators


def _leaves(grower: TreeGrower, grown: GradientTree, n_rows: int) -> tuple[Int64Array, Int64Array]:
    """Nodes that are leaves, and the place of every row's leaf among them."""
    leaves = np.flatnonzero(grown.tree.feature < 0)
    places = grown.tree.values.copy()
    places[leaves] = np.arange(len(leaves))
    out, rows = np.zeros(n_rows), np.arange(n_rows, dtype=np.int32)
    grower._binned.add_leaf_values(replace(grown.tree, values=places), grown.goes_left, out, rows)
    return leaves, np.rint(out).astype(np.int64)


class RefittedLambdaMART(LambdaMART):
    """LambdaMART with leaf values of all rows."""

    n_steps: int = 1

    def _boosting(self, seed: int) -> TreeBoosting:
        plain = super()._boosting(seed)
        parts = {field.name: getattr(plain, field.name) for field in fields(plain)}
        return RefittedBoosting(**parts, n_steps=self.n_steps)


class StepwiseLambdaMART(RefittedLambdaMART):
    """LambdaMART with three Newton steps in a leaf."""

    n_steps = 3


class BootstrappedLambdaMART(LambdaMART):
    """LambdaMART whose trees each see another Bayesian bootstrap of the queries."""

    def _boosting(self, seed: int) -> TreeBoosting:
        sampling: Any = QueryBootstrap()
        return replace(super()._boosting(seed), sampling=sampling)


def _maker(setting: dict[str, Any]) -> Callable[[], Any]:
    return lambda: LambdaMART(**EQUAL | SEVEN_LEAVES | setting)


def _summed(settings: list[dict[str, Any]]) -> Callable[[], Any]:
    return lambda: SummedRuns(settings)


def main() -> None:
    makers = {key: _maker(setting) for key, setting in SETTINGS.items()}
    makers["Bayesian bootstrap"] = lambda: BootstrappedLambdaMART(**EQUAL, **SEVEN_LEAVES)
    makers["3 Newton steps"] = lambda: StepwiseLambdaMART(**EQUAL, **SEVEN_LEAVES)
    makers["50 %, leaves of all"] = lambda: RefittedLambdaMART(
        **EQUAL, **SEVEN_LEAVES, subsample=0.5
    )
    makers |= {key: _summed(settings) for key, settings in RUNS.items()}
    print("study_components: single components on ten splits of queries of five sets")
    print_settings(measure_all(SETS, CHOOSING, makers, MOST_ROWS), BASE)
    print("\nstudy_components: random thresholds on ten splits of all twelve sets")
    makers = {key: makers[key] for key in (THRESHOLDS, BASE)}
    print_differences(measure_all(ALL_SETS, CHOOSING, makers, MOST_ROWS), THRESHOLDS)


if __name__ == "__main__":
    main()
