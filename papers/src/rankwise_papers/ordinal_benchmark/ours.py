"""The ordinal estimators of the library, each with the settings that cross-validation tries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankwise import (
    AggregatePRank,
    ORBoost,
    OrdinalSVM,
    PolyOrdinalSVM,
    PRank,
    ProportionalOdds,
    RankingForest,
    RankingTree,
    VotedPRank,
    WidrowHoff,
)
from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.ordinal_benchmark.sets import Task
from rankwise_papers.ordinal_benchmark.tuning import Method, Predict

DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 14, None)
N_TREES = 50
ROUNDS = (10, 30, 100, 300, 1000)
PASSES = (1, 10)
DEGREES = (1, 2)
MOST_COLUMNS = 60  # with which their products are tried
ETAS = (0.01, 0.1, 0.5)
SVM_C = (0.03, 0.3, 3.0, 30.0)
WIDTHS = (0.02, 0.1, 0.5, 2.0)  # gamma times the number of columns
POLY_C = (0.1, 1.0, 10.0, 100.0)
POWERS = (1, 2, 3, 4)
ODDS_C = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)

Rows = Callable[[Task, Int64Array], Float64Array]


def with_nominal(task: Task, rows: Int64Array) -> Float64Array:
    """Columns as published."""
    return task.X[rows]


def standardised(task: Task, rows: Int64Array) -> Float64Array:
    """Numbers of mean 0 and variance 1."""
    return task.Z[rows]


def in_unit_ball(task: Task, rows: Int64Array) -> Float64Array:
    """Numbers, rows of norm 1 on average, for the perceptrons."""
    return task.Z[rows] / np.sqrt(task.Z.shape[1])


def in_unit_interval(task: Task, rows: Int64Array) -> Float64Array:
    """Numbers from -1 to 1 over the training rows, beyond cut off: powers of them stay there."""
    return np.clip(task.Z[rows] / np.abs(task.Z[task.train]).max(axis=0), -1.0, 1.0)


def fit_each(make: Callable[..., Any], rows: Rows) -> Predict:
    """One fit for every setting; ``make(task, *setting)`` gives the estimator."""

    def predict(
        task: Task, train: Int64Array, test: Int64Array, settings: Sequence[Any]
    ) -> Float64Array:
        X, X_test, y = rows(task, train), rows(task, test), task.y[train]
        fitted = (make(task, *setting).fit(X, y) for setting in settings)
        return np.array([model.predict(X_test) for model in fitted], dtype=np.float64)

    return predict


def boosting(form: Any) -> Predict:
    """All numbers of rounds from one fit."""

    def predict(
        task: Task, train: Int64Array, test: Int64Array, settings: Sequence[tuple[int]]
    ) -> Float64Array:
        most = max(rounds for (rounds,) in settings)
        model = ORBoost(most, form).fit(task.Z[train], task.y[train])
        # A fit that ends early has its last round in the place of later ones.
        wanted = {min(rounds, model.n_estimators_) for (rounds,) in settings}
        at = {
            number: predicted
            for number, predicted in enumerate(model.staged_predict(task.Z[test]), 1)
            if number in wanted
        }
        return np.array([at[min(n, model.n_estimators_)] for (n,) in settings], dtype=np.float64)

    return predict


def _tree(task: Task, depth: int | None) -> RankingTree:
    return RankingTree(max_depth=depth, categorical_features=task.categorical)


def _forest(task: Task, max_features: Any) -> RankingForest:
    return RankingForest(
        N_TREES,
        max_features=max_features,
        categorical_features=task.categorical,
        random_state=0,
        n_jobs=1,
    )


def _online(estimator: Any, **params: Any) -> Callable[..., Any]:
    def make(task: Task, degree: int, n_passes: int) -> Any:
        known = {"degree": _affordable(task, degree), "n_epochs": n_passes}
        return estimator(**known, shuffle=True, random_state=0, **params)

    return make


def _affordable(task: Task, degree: int) -> int:
    """Products of many columns are left out: 100 columns have 5,050."""
    return degree if task.Z.shape[1] <= MOST_COLUMNS else 1


def _widrow_hoff(task: Task, degree: int, n_passes: int, eta: float) -> WidrowHoff:
    degree = _affordable(task, degree)
    return WidrowHoff(eta, degree, n_epochs=n_passes, shuffle=True, random_state=0)


def _rbf(task: Task, width: float, C: float) -> OrdinalSVM:
    return OrdinalSVM(kernel="rbf", gamma=width / task.Z.shape[1], C=C)


def _grid(*axes: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    cells: list[tuple[Any, ...]] = [()]
    for axis in axes:
        cells = [(*cell, value) for cell in cells for value in axis]
    return tuple(cells)


def _tree_of_numbers(task: Task, depth: int | None) -> RankingTree:
    return RankingTree(max_depth=depth, categorical_features=None)


_ONLINE = _grid(DEGREES, PASSES)
OURS: dict[str, Method] = {
    "RankingTree": Method(fit_each(_tree, with_nominal), _grid(DEPTHS)),
    "RankingForest": Method(fit_each(_forest, with_nominal), _grid(("sqrt", 1.0)), n_folds=3),
    "ORBoost all": Method(boosting("all"), _grid(ROUNDS)),
    "ORBoost lr": Method(boosting("lr"), _grid(ROUNDS)),
    "OrdinalSVM perceptron": Method(
        fit_each(lambda task, C: OrdinalSVM(kernel="perceptron", C=C), standardised),
        _grid(SVM_C),
    ),
    "OrdinalSVM rbf": Method(fit_each(_rbf, standardised), _grid(WIDTHS, SVM_C)),
    "PolyOrdinalSVM": Method(
        fit_each(lambda task, degree, C: PolyOrdinalSVM(degree=degree, C=C), in_unit_interval),
        _grid(POWERS, POLY_C),
    ),
    "ProportionalOdds": Method(
        fit_each(lambda task, C: ProportionalOdds(C), standardised), _grid(ODDS_C)
    ),
    "PRank": Method(fit_each(_online(PRank), in_unit_ball), _ONLINE),
    "VotedPRank": Method(fit_each(_online(VotedPRank), in_unit_ball), _ONLINE),
    "AggregatePRank bpm": Method(
        fit_each(_online(AggregatePRank, combine="bpm"), in_unit_ball), _ONLINE
    ),
    "AggregatePRank bag": Method(
        fit_each(_online(AggregatePRank, combine="bag"), in_unit_ball), _ONLINE
    ),
    "AggregatePRank vote": Method(
        fit_each(_online(AggregatePRank, combine="vote"), in_unit_ball), _ONLINE
    ),
    "WidrowHoff": Method(fit_each(_widrow_hoff, in_unit_ball), _grid(DEGREES, PASSES, ETAS)),
}
# Beside them on the sets that have nominal columns.
ONE_HOT = "RankingTree, one-hot"
BESIDE: dict[str, Method] = {
    ONE_HOT: Method(fit_each(_tree_of_numbers, standardised), _grid(DEPTHS)),
}
