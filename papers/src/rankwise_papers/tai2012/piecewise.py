"""Cells of the model tree: M5' in place of ridge regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise import ModelTree
from rankwise.experiments import Cell
from rankwise.labels import PLST, CompressedSensing
from rankwise.solvers.many_labels import cosamp
from rankwise.typing import densify
from rankwise_papers.tai2012.parts import (
    dense_labels,
    hamming,
    partial_losses,
    prefix_losses,
    rows_of,
    split,
)


def tree(cell: Cell) -> dict[str, Any]:
    """Losses of one split for every M of the grid; full BR too where the grid reaches it."""
    data, params = rows_of(cell.data), cell.params
    grid = params["grid"]
    train, test = split(data.n_samples, params["split"])
    X = densify(data.X)
    truth, labels = dense_labels(data.Y[test]), dense_labels(data.Y[train])
    most = max(grid)
    model = PLST(most, estimator=ModelTree()).fit(X[train], data.Y[train])
    codes = np.column_stack([regressor.predict(X[test]) for regressor in model.regressors_])
    order = np.random.default_rng(params["split"]).permutation(data.n_labels)
    absent = truth.sum(axis=0)
    wrong = absent.copy()
    scores = np.zeros(truth.shape)
    for label in order[:most]:
        target = labels[:, label].astype(np.float64)
        scores[:, label] = ModelTree().fit(X[train], target, qid=0).predict(X[test])
        wrong[label] = ((scores[:, label] > 0.5) != truth[:, label]).sum()
    found = {
        "grid": grid,
        "PLST": prefix_losses(codes, model.components_, model.offset_, truth, grid),
        "PBR": partial_losses(wrong, absent, order, len(test), grid),
        "leaves": float(np.mean([regressor.n_leaves_ for regressor in model.regressors_])),
    }
    return found | ({"BR": hamming(scores, truth)} if most == data.n_labels else {})


def sense_labels_by_tree(cell: Cell) -> dict[str, Any]:
    """Losses of compressed sensing on one split for every M of the grid.

    The projections of a draw for M are the first M of those for more, but for their scale, which
    neither trees nor decoding see: one tree for each of the most serves all.
    """
    data, params = rows_of(cell.data), cell.params
    grid, sparsity = params["grid"], params["sparsity"]
    train, test = split(data.n_samples, params["split"])
    X = densify(data.X)
    model = CompressedSensing(
        max(grid), sparsity, random_state=params["draw"], estimator=ModelTree()
    )
    model.fit(X[train], data.Y[train])
    codes = np.column_stack([regressor.predict(X[test]) for regressor in model.regressors_])
    truth = dense_labels(data.Y[test])
    losses = [
        hamming(cosamp(model.components_[:n], codes[:, :n], sparsity, model.max_iter), truth)
        for n in grid
    ]
    return {"grid": grid, "CS": losses}
