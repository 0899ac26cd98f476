"""Convert fitted estimators to chains of maps.

Each estimator of the registry that can be exported has one line in ``_READERS``. Pipelines and
searches are resolved to the estimators that they contain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise._registry import REGISTRY
from rankwise.export import expansions, tree_sums
from rankwise.export.maps import Chain, ExportError, Filled, Scaled, Sum, Trees, merge_maps
from rankwise.export.own_model import own_model

Reader = Callable[[Any], Chain]


def blend(estimator: Any) -> Chain:
    """Blend of models on scaled columns or on the features; a blend of trees is a sum of trees."""
    if estimator.columns_.nominal or estimator.columns_.ordered:
        raise ExportError(
            "A blend with columns of categories cannot be exported, because its models read them "
            "in different encodings. Fit it on numbers, or export a LambdaMART."
        )
    of_trees: list[tuple[float, float, Trees]] = []
    others: list[tuple[float, float, Chain]] = []
    numbers = zip(estimator.weights_.tolist(), estimator.levels_.tolist(), strict=True)
    for model, (weight, level) in zip(estimator.models_, numbers, strict=True):
        match chain_of(model) if weight > 0 else ():
            case ():
                pass
            case (Trees() as trees,):
                of_trees.append((weight, level, trees))
            case chain:
                others.append((weight, level, chain))
    summed = _sum_of_trees(of_trees)
    if not others:
        return (summed,)
    with np.errstate(divide="ignore"):
        scaled = Scaled(estimator.center_, 1.0 / estimator.scale_)
    weights, levels, chains = zip(*others, strict=True)
    branches: list[Chain] = [(scaled, Filled(), Sum(chains, np.array(weights), np.array(levels)))]
    if of_trees:
        branches.append((summed,))
    return (Sum(tuple(branches), np.ones(len(branches)), np.zeros(len(branches))),)


def _sum_of_trees(weighted: list[tuple[float, float, Trees]]) -> Trees:
    """Combine weighted sums of trees, minus their levels, into one sum."""
    grown = tuple(
        replace(tree, values=weight * tree.values)
        for weight, _, trees in weighted
        for tree in trees.trees
    )
    constant = sum(weight * (trees.constant - level) for weight, level, trees in weighted)
    every = [trees for _, _, trees in weighted]
    return Trees(
        grown,
        constant,
        any(trees.has_missing for trees in every),
        tells_missing=all(trees.tells_missing for trees in every),
    )


_READERS: dict[str, Reader] = {
    "linear_regression": expansions.score_expansion,
    "ridge": expansions.score_expansion,
    "pointwise_elm": expansions.score_expansion,
    "pairwise_elm": expansions.score_expansion,
    "elmrank": expansions.score_expansion,
    "rankrls": expansions.score_expansion,
    "lsrrank": expansions.score_expansion,
    "clsrrank": expansions.score_expansion,
    "mprank": expansions.score_expansion,
    "svrank": expansions.score_expansion,
    "svr": expansions.score_expansion,
    "lssvr": expansions.score_expansion,
    "rank_svm": expansions.score_expansion,
    "pruned_rank_svm": expansions.score_expansion,
    "pair_ranker": expansions.score_expansion,
    "rank_lr": expansions.score_expansion,
    "ada_rank": expansions.linear_model,
    "coordinate_ascent": expansions.linear_model,
    "rank_boost": tree_sums.stumps,
    "frank": tree_sums.stumps,
    "rank_net": expansions.network,
    "list_net": expansions.network,
    "list_mle": expansions.network,
    "lambda_rank": expansions.network,
    "lambdamart": tree_sums.tree_ensemble,
    "lightgbm": tree_sums.lightgbm,
    "xgboost": tree_sums.booster,
    "catboost": tree_sums.booster,
    "auto": blend,
    "prank": expansions.online_model,
    "voted_prank": expansions.all_hypotheses,
    "widrow_hoff": expansions.online_model,
    "aggregate_prank": expansions.many_hypotheses,
    "ranking_tree": tree_sums.tree_ensemble,
    "ranking_forest": tree_sums.tree_ensemble,
    "orboost": tree_sums.orboost,
    "ordinal_svm": expansions.score_expansion,
    "poly_ordinal_svm": expansions.polynomial,
    "proportional_odds": expansions.linear_model,
    "nystroem": expansions.nystroem,
    "random_fourier": expansions.random_fourier,
    "polynomial_terms": expansions.polynomial_terms,
    "random_perceptrons": expansions.random_perceptrons,
    "random_nodes": expansions.random_nodes,
}
_OF_PATH = {REGISTRY[key].path: reader for key, reader in _READERS.items()}
_OF_PATH["rankwise.rankers.imported.imported_booster:ImportedBooster"] = tree_sums.tree_ensemble
EXPORTABLE = tuple(REGISTRY[key].class_name for key in _READERS)


def chain_of(estimator: Any) -> Chain:
    """Maps that compute the scores, or the features, of rows.

    The fitted estimator is one of this library, a model of LightGBM, XGBoost or CatBoost, a
    pipeline of scikit-learn's scalers and such estimators, or a search. ExportError is raised if
    it, or its settings, cannot be exported.
    """
    if hasattr(estimator, "best_estimator_"):
        return chain_of(estimator.best_estimator_)
    if hasattr(estimator, "steps"):
        parts = [chain_of(step) for step in _check_steps(estimator)]
        return merge_maps(tuple(step for part in parts for step in part))
    estimator = own_model(estimator)
    reader = reader_of(type(estimator)) or _SCALERS.get(_path(type(estimator)))
    if reader is None:
        raise ExportError(
            f"{type(estimator).__name__} cannot be exported. Exportable estimators: "
            f"{', '.join(EXPORTABLE)}; in a pipeline, StandardScaler, MinMaxScaler, MaxAbsScaler "
            "and RobustScaler before them; models of LightGBM, XGBoost and CatBoost."
        )
    check_is_fitted(estimator)
    return merge_maps(reader(estimator))


def _check_steps(pipeline: Any) -> list[Any]:
    """Steps of a pipeline, of which those before the model have to be known here."""
    steps = [step for _, step in pipeline.steps if step not in (None, "passthrough")]
    for step in steps[:-1]:
        is_plain = not hasattr(step, "steps") and not hasattr(step, "best_estimator_")
        if is_plain and not (reader_of(type(step)) or _path(type(step)) in _SCALERS):
            raise ExportError(
                f"the step {type(step).__name__} of the pipeline cannot be exported. Steps before "
                f"the model may be {', '.join(_SCALERS)} and transformers of this library; to_onnx "
                "takes what skl2onnx converts, too."
            )
    return steps


def reader_of(cls: type) -> Reader | None:
    """Function that converts estimators of the class or a subclass to chains; None if none."""
    found = (_OF_PATH.get(_path(base)) for base in cls.__mro__)
    return next((reader for reader in found if reader is not None), None)


def is_exportable(path: str) -> bool:
    """Whether the class at ``"module:Class"`` has a reader."""
    return path in _OF_PATH


def _path(cls: type) -> str:
    if cls.__module__.startswith("sklearn.preprocessing."):
        return cls.__name__
    return f"{cls.__module__}:{cls.__qualname__}"


# Scalers of scikit-learn --------------------------------------------------------------------------


def _standard(scaler: Any) -> Chain:
    n = scaler.n_features_in_
    center = np.zeros(n) if scaler.mean_ is None or not scaler.with_mean else scaler.mean_
    return _scale_columns(center, scaler.scale_, n)


def _robust(scaler: Any) -> Chain:
    return _scale_columns(scaler.center_, scaler.scale_, scaler.n_features_in_)


def _largest(scaler: Any) -> Chain:
    return _scale_columns(None, scaler.scale_, scaler.n_features_in_)


def _smallest_and_largest(scaler: Any) -> Chain:
    if scaler.clip:
        raise ExportError("MinMaxScaler(clip=True) is not an affine map. Fit with clip=False.")
    to_unit = tuple(scaler.feature_range) == (0, 1)
    factor, shift = scaler.scale_, scaler.min_
    return (Scaled(-shift / factor, 1.0 / factor, to_unit, factor, shift),)


def _scale_columns(center: Any, spread: Any, n: int) -> Chain:
    center = np.zeros(n) if center is None else np.asarray(center, dtype=np.float64)
    spread = np.ones(n) if spread is None else np.asarray(spread, dtype=np.float64)
    return (Scaled(center, spread),)


_SCALERS: dict[str, Reader] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _smallest_and_largest,
    "MaxAbsScaler": _largest,
    "RobustScaler": _robust,
}
