"""Baselines: a constant, mord, statsmodels' ordered logit, LightGBM.

The libraries are optional; they are imported when a cell needs them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.ordinal_benchmark.sets import Task
from rankwise_papers.ordinal_benchmark.tuning import Method

ALPHAS = tuple(10.0 ** np.arange(-3, 3))
TREES = (10, 20, 40, 80, 160)
LEAVES = (4, 15)
MAX_ITER = 200


def missing_peer(method: str) -> str:
    """What to install for a method, "" where nothing is missing."""
    library = LIBRARY_OF.get(method)
    if library is None or find_spec(library) is not None:
        return ""
    return "Not run: pip install rankwise-papers[baselines]."


def constant(
    task: Task, train: Int64Array, test: Int64Array, settings: Sequence[Any]
) -> Float64Array:
    """The lower median of the training classes."""
    median = np.sort(task.y[train])[(len(train) - 1) // 2]
    return np.full((len(settings), len(test)), float(median))


def mord_at(
    task: Task, train: Int64Array, test: Int64Array, settings: Sequence[Any]
) -> Float64Array:
    """Proportional odds with the all-threshold loss, for every penalty."""
    import mord

    return _mord(mord.LogisticAT, task, train, test, settings)


def mord_it(
    task: Task, train: Int64Array, test: Int64Array, settings: Sequence[Any]
) -> Float64Array:
    """The same with the immediate-threshold loss."""
    import mord

    return _mord(mord.LogisticIT, task, train, test, settings)


def _mord(
    estimator: Any, task: Task, train: Int64Array, test: Int64Array, settings: Sequence[Any]
) -> Float64Array:
    present, codes = np.unique(task.y[train], return_inverse=True)
    lines = []
    with warnings.catch_warnings():
        # mord 0.7 passes an option that SciPy 1.18 will drop.
        warnings.filterwarnings("ignore", "scipy.optimize: The `disp`", DeprecationWarning)
        for alpha in settings:
            model = estimator(alpha=alpha, max_iter=1000).fit(task.Z[train], codes)
            lines.append(present[model.predict(task.Z[test]).astype(int)])
    return np.array(lines, dtype=np.float64)


def ordered_logit(
    task: Task, train: Int64Array, test: Int64Array, settings: Sequence[Any]
) -> Float64Array:
    """Maximum likelihood without a penalty; the median of the predicted distribution."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    present, codes = np.unique(task.y[train], return_inverse=True)
    Z, Z_test = _independent(task.Z[train], task.Z[test])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Separable classes have no maximum: the search ends at its limit, which it says.
        warnings.simplefilter("ignore")
        model = OrderedModel(codes, Z, distr="logit")
        fitted = model.fit(method="bfgs", maxiter=MAX_ITER, disp=0, skip_hessian=True)
        shares = np.asarray(model.predict(fitted.params, exog=Z_test))
    median = (np.cumsum(np.nan_to_num(shares), axis=1) < 0.5).sum(axis=1)
    median = present[np.minimum(median, len(present) - 1)]
    return np.tile(median.astype(np.float64), (len(settings), 1))


def _independent(Z: Float64Array, Z_test: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Columns that are no combinations of those before them, and of the constant."""
    with_ones = np.column_stack([np.ones(len(Z)), Z])
    diagonal = np.abs(np.diag(np.linalg.qr(with_ones, mode="r")))
    kept = np.flatnonzero(diagonal[1:] > 1e-8 * diagonal.max())
    return Z[:, kept], Z_test[:, kept]


def lightgbm_classifier(
    task: Task, train: Int64Array, test: Int64Array, settings: Sequence[Any]
) -> Float64Array:
    """Classes without an order; the median of the predicted distribution."""
    present, codes = np.unique(task.y[train], return_inverse=True)
    if len(present) < 3:
        params = {"objective": "binary"}
    else:
        params = {"objective": "multiclass", "num_class": len(present)}
    lines = []
    for shares in _lightgbm(params, codes, task, train, test, settings):
        full = np.column_stack([1 - shares, shares]) if shares.ndim == 1 else shares
        median = (np.cumsum(full, axis=1) < 0.5).sum(axis=1)
        lines.append(present[np.minimum(median, len(present) - 1)])
    return np.array(lines, dtype=np.float64)


def lightgbm_regressor(
    task: Task, train: Int64Array, test: Int64Array, settings: Sequence[Any]
) -> Float64Array:
    """Class numbers as if they were quantities, rounded."""
    params = {"objective": "regression"}
    lines = _lightgbm(params, task.y[train].astype(np.float64), task, train, test, settings)
    return np.array([np.clip(np.floor(line + 0.5), 0, task.n_classes - 1) for line in lines])


def _lightgbm(
    params: dict[str, Any],
    target: Any,
    task: Task,
    train: Int64Array,
    test: Int64Array,
    settings: Sequence[tuple[int, int]],
) -> list[Float64Array]:
    """Predictions for every (leaves, trees), from one fit for every number of leaves."""
    import lightgbm

    most = {leaves: max(n for other, n in settings if other == leaves) for leaves, _ in settings}
    boosters = {}
    for leaves, n_trees in most.items():
        nominal = np.flatnonzero(task.categorical).tolist()
        options = {"num_leaves": leaves, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}
        if nominal:
            options |= {"min_data_per_group": 5, "cat_smooth": 1.0}
        rows = lightgbm.Dataset(
            task.X[train], target, categorical_feature=nominal or "auto", free_raw_data=True
        )
        boosters[leaves] = lightgbm.train(params | options, rows, num_boost_round=n_trees)
    return [
        np.asarray(boosters[leaves].predict(task.X[test], num_iteration=n_trees, num_threads=1))
        for leaves, n_trees in settings
    ]


PEERS: dict[str, Method] = {
    "median class": Method(constant),
    "mord LogisticAT": Method(mord_at, ALPHAS),
    "mord LogisticIT": Method(mord_it, ALPHAS),
    "statsmodels OrderedModel": Method(ordered_logit),
    "LightGBM classes": Method(
        lightgbm_classifier, tuple((leaves, n) for leaves in LEAVES for n in TREES), n_folds=3
    ),
    "LightGBM regression": Method(
        lightgbm_regressor, tuple((leaves, n) for leaves in LEAVES for n in TREES)
    ),
}
LIBRARY_OF = {
    "mord LogisticAT": "mord",
    "mord LogisticIT": "mord",
    "statsmodels OrderedModel": "statsmodels",
    "LightGBM classes": "lightgbm",
    "LightGBM regression": "lightgbm",
}
