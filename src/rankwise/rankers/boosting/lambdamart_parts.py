"""Rows and algorithms of LambdaMART, built from parameters and arguments of ``fit``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rankwise.checks.positions import check_positions
from rankwise.losses.boosted_objectives import objective_of
from rankwise.losses.gradient_loss import GradientLoss, JudgedRows
from rankwise.losses.position_bias import PositionBias
from rankwise.metrics import parse
from rankwise.metrics.measure import Measure
from rankwise.metrics.ranking.ndcg import DCG, NDCG
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import distinct_rows_of_queries
from rankwise.solvers.boosting.dropout import Dropout
from rankwise.solvers.boosting.rounds import check_room
from rankwise.solvers.boosting.row_sampling import GradientSampling, QuerySampling
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.solvers.boosting.tree_boosting import TreeBoosting, Validation
from rankwise.trees.boosted.constraints import interaction_groups, monotone_signs
from rankwise.trees.boosted.rules import GrowthRules
from rankwise.trees.columns import encode_rows
from rankwise.trees.ensemble import TreeEnsemble
from rankwise.trees.ordered_rows import OrderedRows
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FrameLike,
    Int64Array,
    is_sparse,
)

if TYPE_CHECKING:
    from rankwise.rankers.boosting.lambdamart import LambdaMART


class TrainingRows(NamedTuple):
    """Distinct rows of each query, sorted by content.

    Attributes
    ----------
    ordered : OrderedRows
    loss : GradientLoss
    place : ndarray of shape (n_distinct,), int64, or None
        Place at which each row was shown.
    """

    ordered: OrderedRows
    loss: GradientLoss
    place: Int64Array | None

    @property
    def weight(self) -> Float64Array | None:
        """Weights of the rows, shape (n_distinct,); None: all 1."""
        return self.loss.rows.weight


def training_rows(
    estimator: LambdaMART, data: FitData, position: ArrayLike | None, seed: int, n_threads: int
) -> TrainingRows:
    """Merge the equal rows of each query; X is not copied."""
    X = data.X
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    places = None if position is None else check_positions(position, data)
    rows, indptr, weight = distinct_rows_of_queries(
        X, data.y, data.groups, data.sample_weight, places, n_threads=n_threads
    )
    judged = JudgedRows(data.y[rows], indptr, weight, estimator.query_weight)
    measure = followed_measure(estimator)
    loss = objective_of(estimator.objective, judged, measure, estimator.normalize, seed, n_threads)
    return TrainingRows(OrderedRows(X, rows), loss, None if places is None else places[rows])


def watched(measure: Measure, data: FitData, before: TreeEnsemble) -> Validation:
    """Validation rows; existing trees are evaluated first."""
    rows, staged = OrderedRows(data.X), StagedMeasure(measure, data.y, data.groups)
    for tree in before.score_trees():
        staged.add(rows.scores(TreeEnsemble.of([tree])))
    return Validation(rows, staged)


def biased(
    estimator: LambdaMART,
    loss: GradientLoss,
    place: Int64Array | None,
    before: dict[int, float],
) -> PositionBias | None:
    """Loss at the scores plus position biases; None if no positions are given."""
    if place is None:
        return None
    rate, penalty = estimator.learning_rate, estimator.position_bias_regularization
    return PositionBias(loss, place, before, rate, penalty)


def followed_measure(estimator: LambdaMART) -> Measure:
    """Measure that the gradients follow; nDCG and DCG reach down to ``truncation_level``."""
    measure, level = parse(estimator.measure), estimator.truncation_level
    if (
        estimator.objective == "lambdarank"
        and isinstance(measure, NDCG | DCG)
        and measure.cutoff is not None
        and level is not None
    ):
        return replace(measure, cutoff=max(measure.cutoff, level))
    return measure


def growth_rules(estimator: LambdaMART) -> GrowthRules:
    """Limits on the growth of a tree."""
    return GrowthRules(
        estimator.max_leaf_nodes,
        estimator.max_depth,
        estimator.min_samples_leaf,
        estimator.min_hessian_leaf,
        estimator.reg_lambda,
        estimator.reg_alpha,
        estimator.min_split_gain,
        estimator.growth,
        estimator.colsample_bylevel,
        estimator.colsample_bynode,
        estimator.extra_trees,
        monotone_signs(estimator, estimator.monotonic_cst, estimator.columns_.nominal),
        interaction_groups(estimator, estimator.interaction_cst),
    )


def tree_boosting(estimator: LambdaMART, seed: int) -> TreeBoosting:
    """Boosting algorithm with the parameters of the ranker."""
    sampling: QuerySampling | GradientSampling = QuerySampling(estimator.subsample)
    if estimator.sampling == "goss":
        top, other = estimator.top_rate, estimator.other_rate
        if top + other > 1:
            raise ValueError(
                f"top_rate + other_rate must be at most 1, got {top} + {other}. Lower one of them."
            )
        sampling = GradientSampling(top, other, int(1 / estimator.learning_rate))
    return TreeBoosting(
        estimator.n_estimators,
        estimator.learning_rate,
        estimator.early_stopping_rounds,
        sampling,
        estimator.colsample_bytree,
        Dropout(estimator.drop_rate, estimator.skip_drop),
        seed,
    )


def trees_before(estimator: LambdaMART, n_features: int | None) -> TreeEnsemble:
    """Trees to continue from, grown on ``n_features`` features; None without trees."""
    if n_features is None:
        return TreeEnsemble.of([])
    if estimator.n_features_in_ != n_features:
        raise ValueError(
            f"warm_start needs the {n_features} features of the earlier fit, got "
            f"{estimator.n_features_in_}. Set warm_start=False to start again."
        )
    check_room(estimator.trees_.n_trees, estimator.n_estimators)
    return estimator.trees_


def coded(estimator: LambdaMART, X: FrameLike) -> FrameLike:
    """X with codes for categories; column names are checked first if there are categories."""
    table = estimator.columns_
    return encode_rows(estimator, table, X) if table.nominal or table.ordered else X
