"""Our best method: features, penalty and number of axes chosen on the training rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise.experiments import Cell
from rankwise.features import RandomFourier
from rankwise.labels import plst_path
from rankwise.typing import is_sparse
from rankwise_papers.tai2012.parts import rows_of, split

ALPHAS = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
WIDTHS = (0.25, 1.0)  # times 1 / features: gamma of the Gaussian kernel on standardised columns
N_FREQUENCIES = 500
N_FOLDS = 3
MANY_ROWS = 10_000  # one fold of the inner validation is enough
AXES = 4  # numbers of axes that are tried, the largest all labels

Map = Callable[[Any, Any], tuple[Any, Any]]


def ours(cell: Cell) -> dict[str, Any]:
    """The choice on the training rows of one split, and its loss on the test rows."""
    data, params = rows_of(cell.data), cell.params
    train, test = split(data.n_samples, params["split"])
    sizes = sorted({*params["grid"][-AXES * 2 :: 2], data.n_labels})
    maps = _maps(data.n_features, dense=not is_sparse(data.X))
    folds = _folds(train, params["split"])
    losses = {name: _inner(data, folds, transform, sizes) for name, transform in maps.items()}
    name = min(losses, key=lambda key: losses[key].min())
    best = np.unravel_index(losses[name].argmin(), losses[name].shape)
    alpha, size = ALPHAS[best[0]], sizes[best[1]]
    loss = _path(data, train, test, maps[name], [alpha], [size])[0, 0]
    return {"loss": float(loss), "features": name, "alpha": alpha, "n_axes": size}


def _inner(data: Any, folds: Any, transform: Map, sizes: list[int]) -> Any:
    """Mean loss over the folds, shape (n_alphas, n_sizes)."""
    return np.mean([_path(data, a, b, transform, ALPHAS, sizes) for a, b in folds], axis=0)


def _path(
    data: Any, train: Any, test: Any, transform: Map, alphas: list[float], sizes: list[int]
) -> Any:
    X_train, X_test = transform(data.X[train], data.X[test])
    path = plst_path(
        X_train, data.Y[train], X_test, data.Y[test], alphas=alphas, n_components=sizes
    )
    return path["hamming_loss"]


def _folds(rows: Any, seed: int) -> list[tuple[Any, Any]]:
    order = np.random.default_rng(1000 + seed).permutation(rows)
    parts = np.array_split(order, N_FOLDS)
    used = parts[:1] if len(rows) > MANY_ROWS else parts
    return [(np.setdiff1d(rows, part), np.sort(part)) for part in used]


def _maps(n_features: int, dense: bool) -> dict[str, Map]:
    """Features by name: unchanged and, for dense columns, random Fourier features."""

    def plain(X: Any, X_new: Any) -> tuple[Any, Any]:
        return X, X_new

    def fourier(width: float) -> Map:
        def change(X: Any, X_new: Any) -> tuple[Any, Any]:
            steps = make_pipeline(
                StandardScaler(),
                RandomFourier(
                    gamma=width / n_features, n_frequencies=N_FREQUENCIES, random_state=0
                ),
            )
            return steps.fit_transform(X), steps.transform(X_new)

        return change

    maps: dict[str, Map] = {"columns": plain}
    if dense:
        maps |= {f"Fourier {width:g}": fourier(width) for width in WIDTHS}
    return maps
