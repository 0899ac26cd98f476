"""LSRRank against CLSRRank on the data of ELMRank's experiments; the paper's text has no tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rankwise import CLSRRank, LSRRank
from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise_papers.clsrrank import tables
from rankwise_papers.clsrrank.coefficient_grid import fit_coefficient_grid
from rankwise_papers.clsrrank.kernels import kernel_functions, median_distance
from rankwise_papers.elmrank_qsar.compounds import MEASURES, compounds
from rankwise_papers.elmrank_recommendation.experiment import LOAD
from rankwise_papers.elmrank_recommendation.kernel_grid import KernelGrid, fit_grid
from rankwise_papers.elmrank_recommendation.kernel_methods import choose_for_all
from rankwise_papers.elmrank_recommendation.measures import measure
from rankwise_papers.elmrank_recommendation.reviewers import (
    GROUPS,
    ReferenceTable,
    Reviewer,
    draw_reviewers,
    reference_table,
)
from rankwise_papers.sources import make_fetchers

QSAR = ("dhfr", "cox2")
N_REPETITIONS, N_REVIEWERS, QUICK_REVIEWERS = 10, 300, 8
N_FOLDS, FOLD_SEED = 5, 20
LAM = 10.0 ** np.arange(-5, 2.5, 0.5)  # LSRRank
COEFFICIENT_LAM = 10.0 ** np.arange(-8, 1.5, 0.5)  # CLSRRank, which multiplies it by m


class Clsrrank(Experiment):
    """A Mercer kernel in both, an indefinite and a non-symmetric one in CLSRRank."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([*LOAD, *(f"qsar-{name}" for name in QSAR)])

    def cells(self, quick: bool) -> Sequence[Cell]:
        n_reviewers, size = (QUICK_REVIEWERS, "quick/") if quick else (N_REVIEWERS, "")
        cells = [
            Cell(
                f"{size}{name}/{low}-{high}/repetition{repetition}",
                {"group": [low, high], "repetition": repetition, "n_reviewers": n_reviewers},
                name,
            )
            for repetition in range(1 if quick else N_REPETITIONS)
            for name in LOAD
            for low, high in GROUPS
        ]
        return [*cells, *(Cell(f"qsar/{name}", {}, f"qsar-{name}") for name in QSAR)]

    def run(self, cell: Cell) -> Any:
        if cell.data not in LOAD:
            return _compounds(cell.data.removeprefix("qsar-"))
        params, table = cell.params, _table(cell.data)
        group, repetition = tuple(params["group"]), params["repetition"]
        reviewers = draw_reviewers(table, repetition, group, params["n_reviewers"])
        low, high = table.ratings.scale
        return _recommend(reviewers, repetition, low, high)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, quick)


@cache
def _table(name: str) -> ReferenceTable:
    return reference_table(LOAD[name]())


def _recommend(
    reviewers: Sequence[Reviewer], repetition: int, low: float, high: float
) -> dict[str, Any]:
    """One setting for all reviewers, of the least held-out error on their training halves."""
    fits = [_fit(reviewer, [FOLD_SEED, repetition], low, high - low) for reviewer in reviewers]
    scores = {"constant": [np.full(len(r.y_test), r.y_train.mean()) for r in reviewers]}
    chosen = {}
    for method in tables.METHODS:
        lam = LAM if method.startswith("LSRRank") else COEFFICIENT_LAM
        scores[method], chosen[method] = choose_for_all(
            fits, lambda name, method=method: name.startswith(method), lam
        )
    y = [reviewer.y_test for reviewer in reviewers]
    return {
        "values": {
            method: {
                name: column.round(6).tolist() for name, column in measure(y, predicted).items()
            }
            for method, predicted in scores.items()
        },
        "chosen": chosen,
    }


def _fit(
    reviewer: Reviewer, seed: Sequence[int], low: float, length: float
) -> dict[str, KernelGrid]:
    X = (reviewer.filled(reviewer.medians) - low) / length
    n, y = reviewer.n_train, reviewer.y_train
    fold = reviewer.folds(seed)[0] % N_FOLDS
    grids = {}
    for kernel, settings in kernel_functions(X[:n]).items():
        for setting, function in settings.items():
            K = function(X, X[:n])
            rows = (K[:n], K[n:], y, fold)
            grids[f"CLSRRank {kernel} {setting}"] = fit_coefficient_grid(*rows, COEFFICIENT_LAM)
            if kernel == "Gaussian":
                grids[f"LSRRank {kernel} {setting}"] = fit_grid(*rows, LAM)
    return grids


def _compounds(name: str) -> dict[str, Any]:
    """The estimators themselves, each tuned by ten folds of the training compounds."""
    data = compounds(name)
    gammas = (np.array([1 / 16, 1 / 4, 1.0]) / median_distance(data.X_train)).tolist()
    search = {"measure": "MSD", "cv": 10}
    models = {
        "LSRRank Gaussian": [LSRRank("rbf", gammas, lam=LAM.tolist(), **search)],
        "CLSRRank Gaussian": [CLSRRank("rbf", gammas, lam=COEFFICIENT_LAM.tolist(), **search)],
    }
    for kernel, settings in kernel_functions(data.X_train).items():
        if kernel != "Gaussian":
            models[f"CLSRRank {kernel}"] = [
                CLSRRank(function, lam=COEFFICIENT_LAM.tolist(), **search)
                for function in settings.values()
            ]
    values = {}
    for method, candidates in models.items():
        fitted = [model.fit(data.X_train, data.y_train, qid=0) for model in candidates]
        best = min(fitted, key=lambda model: model.cv_results_["mean_test_score"].min())
        measured = data.measure(best.predict(data.X_test))
        values[method] = {name: measured[name] for name in MEASURES}
    return {"values": values}
