"""Rankers that :class:`AutoRanker` tries, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rankwise.losses.laplacian import QueryWeight
from rankwise.losses.measure_changes import OPTIMISED, check_objective
from rankwise.metrics import parse
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.rankers.elm.pairwise_elm import PairwiseELM
from rankwise.rankers.linear.ridge import RidgeRanker
from rankwise.rankers.svm.rank_svm import RankSVM

Family = Literal["linear", "nodes", "trees"]
FAMILIES: tuple[Family, ...] = ("linear", "nodes", "trees")

N_NODE_BAGS, N_TREE_BAGS = 4, 8
# Settings of the trees, starting with the one that suits most data. All are given in full, so that
# other defaults of LambdaMART would not change the trials.
_UNPENALISED: dict[str, Any] = {"reg_lambda": 0.0, "subsample": 1.0}
_TREE_SETTINGS: tuple[dict[str, Any], ...] = (
    {"max_leaf_nodes": 15, "min_samples_leaf": 20},
    {"max_leaf_nodes": 31, "min_samples_leaf": 100, "colsample_bytree": 0.5},
    {"max_leaf_nodes": 7, "min_samples_leaf": 20},
    {"max_leaf_nodes": 31, "min_samples_leaf": 20, "subsample": 0.7, "colsample_bytree": 0.7},
    {"max_leaf_nodes": 63, "min_samples_leaf": 200, "colsample_bytree": 0.5},
)
N_TRIALS = 5 + len(_TREE_SETTINGS) + N_NODE_BAGS + N_TREE_BAGS
# Seconds of an eigendecomposition of a matrix of n rows, by n^3, and of a weight of a random node.
_SECONDS_A_CUBE, _SECONDS_A_WEIGHT = 3e-10, 1e-7
# Seconds of a node's value for a row, of a product of two, and of a solution with n nodes, by n^3.
_SECONDS_A_VALUE, _SECONDS_A_PRODUCT, _SECONDS_A_SOLUTION = 2e-8, 3e-11, 5e-11
_BAGGED = {"subsample": 0.7, "colsample_bytree": 0.7}


@dataclass(frozen=True)
class Trial:
    """Setting of a family."""

    name: str
    family: Family
    estimator: Any  # unfitted ranker whose ``fit`` accepts validation rows

    def least_seconds(self, shapes: Iterable[tuple[int, int]]) -> float:
        """Seconds that a trial takes at least, by the shapes of the rows of each part.

        Ridge decomposes a matrix of the smaller side, which takes hours for many rows of many
        columns. Every node has a weight for each column, a value for each row, and a place in the
        matrix of products of all nodes. All other trials are linear in the values of the rows: 0.
        """
        if isinstance(self.estimator, RidgeRanker):
            return _SECONDS_A_CUBE * float(sum(min(shape) ** 3 for shape in shapes))
        if isinstance(self.estimator, PairwiseELM):
            n_nodes, sizes = self.estimator.n_nodes, list(shapes)
            weights = n_nodes * float(sum(n_columns for _, n_columns in sizes))
            values = n_nodes * float(sum(n_rows for n_rows, _ in sizes))
            cubes = float(sum(min(n_rows, n_nodes) ** 3 for n_rows, _ in sizes))
            of_values = (_SECONDS_A_VALUE + _SECONDS_A_PRODUCT * n_nodes) * values
            return _SECONDS_A_WEIGHT * weights + of_values + _SECONDS_A_SOLUTION * cubes
        return 0.0

    def again(self, name: str, **params: Any) -> Trial:
        """Copy of the trial with other parameters."""
        changed = self.estimator.get_params(deep=False) | params
        return Trial(name, self.family, type(self.estimator)(**changed))


def settings(
    measure: str,
    is_graded: bool,
    seed: int,
    n_jobs: int | None,
    *,
    watched: str | None = None,
    query_weight: QueryWeight | None = None,
) -> Iterator[Trial]:
    """Settings of all families, cheap ones first.

    ``measure`` is the tuning metric for penalties, and the objective of the trees if possible.
    ``watched`` is the measure of early stopping; None: the objective of the trees. ``is_graded``
    says whether labels are grades, ``seed`` is that of the trials, and ``n_jobs`` counts threads of
    the trees. ``query_weight=None`` takes "pair" and "document" in turn, and "pair" for trees.
    """
    weightings = ("pair", "document") if query_weight is None else (query_weight,)
    yield Trial("ridge", "linear", RidgeRanker("val", measure=measure))
    for weight in weightings:
        svm = RankSVM("val", query_weight=weight, measure=measure)
        yield Trial(f"rank_svm {weight}", "linear", svm)
    for weight in weightings:
        nodes = PairwiseELM(C="val", query_weight=weight, measure=measure, random_state=seed)
        yield Trial(f"pairwise_elm {weight}", "nodes", nodes)
    objective = objective_of(measure, is_graded)
    for number, setting in enumerate(_TREE_SETTINGS, 1):
        trees = LambdaMART(
            500,
            learning_rate=0.05,
            measure=objective,
            early_stopping_rounds=50,
            random_state=seed,
            n_jobs=n_jobs,
            validation_measure=watched,
            query_weight=query_weight or "pair",
            **_UNPENALISED | setting,
        )
        yield Trial(f"lambdamart {number}", "trees", trees)


def bags(best: Sequence[Trial], seed: int) -> Iterator[Trial]:
    """Additional draws of the best setting of each random family, in turn.

    ``best`` holds the best trial of each family. ``seed`` is that of the settings; bags have the
    seeds that follow.
    """
    for number in range(1, max(N_NODE_BAGS, N_TREE_BAGS) + 1):
        for trial in best:
            if trial.family == "nodes" and number <= N_NODE_BAGS:
                yield trial.again(f"{trial.name} bag {number}", random_state=seed + number)
            if trial.family == "trees" and number <= N_TREE_BAGS:
                again = trial.again(f"{trial.name} bag {number}", random_state=seed + number)
                yield again.again(again.name, **_BAGGED)


def objective_of(measure: str, is_graded: bool) -> str:
    """The measure if trees can optimise it, otherwise nDCG (of all rows for real labels)."""
    if isinstance(parse(measure), OPTIMISED):
        check_objective(parse(measure), "AutoRanker")
        return measure
    return "nDCG@10" if is_graded else "nDCG"
