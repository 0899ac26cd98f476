"""RankSVM on OHSUMED for a grid of C, and solutions that are stopped early."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from rankwise import RankSVM
from rankwise.datasets import Fold, RankingData
from rankwise.features import QueryScaler
from rankwise.metrics import parse
from rankwise.typing import Float64Array, Int64Array


def hinge(fold: Fold, params: dict[str, Any], preset: str) -> dict[str, Any]:
    """For every C the AP on the validation and on the test part, and the objective.

    The objective is divided by C and by the number of pairs: at large C it is the mean of a pair's
    hinge (with every query counting the same: of the queries' sums over squared sizes).
    """
    train, vali, test = _scaled(fold, params["scaling"])
    ranker = RankSVM(
        C=list(params["C"]), loss=params["loss"], query_weight=params["query_weight"],
        measure=str(parse("AP", preset)), max_iter=10_000,
    )  # fmt: skip
    ranker.fit(train.X, train.y, qid=train.qid, X_val=vali.X, y_val=vali.y, qid_val=vali.qid)
    by_C = dict(zip(ranker.path_["C"], ranker.path_["coef"], strict=True))
    coefs = np.array([by_C[C] for C in params["C"]])
    scores = dict(zip(ranker.cv_results_["C"], ranker.cv_results_["mean_test_score"], strict=True))
    upper, lower = listed_pairs(train)
    query = np.repeat(np.arange(train.n_queries), np.diff(train.groups.indptr))
    share = 1.0 / np.diff(train.groups.indptr)[query[upper]] ** 2.0
    weight = share if params["query_weight"] == "query" else np.ones(len(upper))
    X = train.groups.sort(train.X.astype(np.float64))
    power = 2 if params["loss"] == "squared_hinge" else 1
    return {
        "vali": [scores[C] for C in params["C"]],
        "test": _average_precision(test, coefs, preset),
        "objective": [
            0.5 * float(w @ w) / (C * weight.sum())
            + float(np.average(_slack(X @ w, upper, lower) ** power, weights=weight))
            for C, w in zip(params["C"], coefs, strict=True)
        ],
    }


def stop_early(fold: Fold, params: dict[str, Any], preset: str) -> dict[str, Any]:
    """Dual coordinate descent over the pairs (LIBLINEAR's), stopped after some passes.

    For every C and number of passes the AP on the test part and the objective over its minimum.
    """
    train = fold.train
    upper, lower = listed_pairs(train)
    X = train.groups.sort(train.X.astype(np.float64))
    sign = np.where(np.random.default_rng(params["fold"]).random(len(upper)) < 0.5, 1.0, -1.0)
    pairs = (X[upper] - X[lower]) * sign[:, None]
    found: dict[str, Any] = {"test": [], "excess": []}
    for C in params["C"]:
        least = RankSVM(C=C, loss="hinge", max_iter=10_000).fit(train.X, train.y, qid=train.qid)
        coefs = []
        for passes in params["passes"]:
            model: Any = LinearSVC(
                loss="hinge", C=C, fit_intercept=False, max_iter=passes,
                random_state=params["fold"],
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                coefs.append(model.fit(pairs, sign).coef_[0])
        found["test"].append(_average_precision(fold.test, np.array(coefs), preset))
        values = [0.5 * float(w @ w) + C * _slack(X @ w, upper, lower).sum() for w in coefs]
        found["excess"].append([float(objective) / least.objective_ - 1.0 for objective in values])
    return found


def listed_pairs(data: RankingData) -> tuple[Int64Array, Int64Array]:
    """Upper and lower rows, in group order, of all pairs of distinct grades of a query."""
    y, indptr = data.groups.sort(data.y), data.groups.indptr
    found = [
        np.stack(np.nonzero(y[lo:hi, None] > y[lo:hi])) + lo
        for lo, hi in itertools.pairwise(indptr.tolist())
    ]
    upper, lower = np.concatenate(found, axis=1)
    return upper, lower


def _slack(scores: Float64Array, upper: Int64Array, lower: Int64Array) -> Float64Array:
    return np.maximum(0.0, 1.0 - (scores[upper] - scores[lower]))


def _scaled(fold: Fold, scaling: str) -> list[RankingData]:
    """Training, validation and test part, scaled over the training rows or unscaled."""
    assert fold.vali is not None
    parts = [fold.train, fold.vali, fold.test]
    if scaling != "global":
        return parts
    scaler = QueryScaler("min_max").fit(fold.train.X)
    return [replace(part, X=scaler.transform(part.X)) for part in parts]


def _average_precision(part: RankingData, coefs: Float64Array, preset: str) -> Sequence[float]:
    X = part.X.astype(np.float64)
    measure = parse("AP", preset)
    return [measure.mean(part.y, X @ w, part.groups) for w in coefs]
