"""The data sets, their splits, and Hamming losses of scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets import MultiLabelData, load_mulan
from rankwise.typing import Float64Array, Int64Array, is_sparse
from rankwise_papers.tai2012.plan import TRAIN_SHARE


@lru_cache(maxsize=1)
def rows_of(source: str) -> MultiLabelData:
    """All rows of a set; the last one is kept for the cells that follow."""
    return load_mulan(source.removeprefix("mulan-"))  # type: ignore[arg-type]


def split(n_samples: int, seed: int, n_rows: int | None = None) -> tuple[Int64Array, Int64Array]:
    """Training rows, nine tenths, and test rows, each ascending.

    Parameters
    ----------
    n_samples, seed : int
    n_rows : int, optional
        Size of a random subset that is split; all rows by default.
    """
    order = np.random.default_rng(seed).permutation(n_samples)[:n_rows]
    n_train = round(TRAIN_SHARE * len(order))
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def dense_labels(Y: Any) -> NDArray[np.bool_]:
    """Which labels are there."""
    return (Y.toarray() if is_sparse(Y) else np.asarray(Y)) > 0


def hamming(scores: Float64Array, truth: NDArray[np.bool_]) -> float:
    """Hamming loss of predicting what exceeds one half."""
    return float(np.mean((scores > 0.5) != truth))


def prefix_losses(
    codes: Float64Array,
    axes: Float64Array,
    offset: Float64Array,
    truth: NDArray[np.bool_],
    grid: Sequence[int],
) -> list[float]:
    """Hamming loss with the first M codes, for every M of an ascending grid."""
    scores, done, losses = np.tile(offset, (len(codes), 1)), 0, []
    for n in grid:
        scores += codes[:, done:n] @ axes[done:n]
        losses.append(hamming(scores, truth))
        done = n
    return losses


def partial_losses(
    wrong: Int64Array, absent: Int64Array, order: Int64Array, n_samples: int, grid: Sequence[int]
) -> list[float]:
    """Hamming loss of partial BR on the first M labels of an order, all others predicted absent.

    Parameters
    ----------
    wrong, absent : ndarray of shape (n_labels,)
        Errors on every label: of its own regression, and of predicting it absent.
    order : ndarray of shape (n_labels,)
    n_samples : int
    grid : sequence of int
    """
    gained = np.concatenate([[0], np.cumsum((wrong - absent)[order])])
    return [float((absent.sum() + gained[n]) / (n_samples * len(order))) for n in grid]
