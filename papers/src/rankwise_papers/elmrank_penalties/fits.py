"""The measures of the test halves at every penalty, means over the reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.typing import Float64Array
from rankwise_papers.elmrank_recommendation.families import FOLD_SEED
from rankwise_papers.elmrank_recommendation.kernel_grid import fit_grid
from rankwise_papers.elmrank_recommendation.kernel_methods import linear_and_rbf
from rankwise_papers.elmrank_recommendation.measures import MEASURES, measure
from rankwise_papers.elmrank_recommendation.reviewers import Reviewer
from rankwise_papers.svrank_path import svrank_path

GAP = 1e-3  # duality gap over the objective at which a solution of SVRank is taken


def compute(reviewers: Sequence[Reviewer], params: dict[str, Any]) -> dict[str, Any]:
    """For every kernel the measures by penalty, and for MPRank its held-out squared error.

    Returns
    -------
    dict
        ``"paths"``: kernel → measure or "held out" → a mean per penalty; ``"constant"``: measure →
        mean of the constant score.
    """
    lam = 10.0 ** np.array(params["exponents"])
    fit = {"MPRank": _mprank, "SVRank": _svrank}[params["method"]]
    scores: dict[str, list[Float64Array]] = {name: [] for name in params["kernels"]}
    held_out: dict[str, list[Float64Array]] = {name: [] for name in params["kernels"]}
    for reviewer in reviewers:
        features = reviewer.filled(reviewer.medians)
        for name, K, K_test in linear_and_rbf(features, reviewer.n_train):
            if name in scores:
                of_test, errors = fit(reviewer, K, K_test, lam, params["repetition"])
                scores[name].append(of_test)
                if errors is not None:
                    held_out[name].append(errors)
    y = [reviewer.y_test for reviewer in reviewers]
    paths = {}
    for name, found in scores.items():
        by_lam = [_means(y, [path[k] for path in found]) for k in range(len(lam))]
        paths[name] = {measure: [means[measure] for means in by_lam] for measure in MEASURES}
        if held_out[name]:
            paths[name]["held out"] = np.mean(held_out[name], axis=0).tolist()
    constant = _means(y, [np.zeros(len(targets)) for targets in y])
    return {"paths": paths, "constant": constant}


def _mprank(
    reviewer: Reviewer, K: Float64Array, K_test: Float64Array, lam: Float64Array, repetition: int
) -> tuple[Float64Array, Float64Array | None]:
    """Scores of the test rows and held-out errors, with the folds of elmrank-recommendation."""
    fold = reviewer.folds([FOLD_SEED, repetition])[0]
    grid = fit_grid(K, K_test, reviewer.y_train, fold, lam)
    return grid.scores, grid.errors


def _svrank(
    reviewer: Reviewer, K: Float64Array, K_test: Float64Array, lam: Float64Array, repetition: int
) -> tuple[Float64Array, Float64Array | None]:
    """Scores of the test rows; every penalty begins at the solution of the one before."""
    results = svrank_path(K, reviewer.y_train, lam, tol=GAP)
    return np.stack([result.x for result in results]) @ K_test.T, None


def _means(y: Sequence[Float64Array], scores: Sequence[Float64Array]) -> dict[str, float]:
    """Means over reviewers; misranking over those with two different ratings."""
    return {name: float(np.nanmean(values)) for name, values in measure(y, scores).items()}
