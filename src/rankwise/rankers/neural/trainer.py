"""Trainer of all networks: one optimizer step for each batch of whole queries.

All random numbers come from NumPy. On the CPU, torch runs on one thread during training, so equal
seeds give bit-identical results with the same library version. On CUDA, the order of sums is not
fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from rankwise.rankers.neural._torch import torch
from rankwise.rankers.neural.segments import Tensor
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.typing import Float64Array, Int64Array, Matrix


@dataclass(frozen=True)
class NetworkRows:
    """Training rows, sorted by query: query q has the rows ``indptr[q]:indptr[q + 1]``."""

    X: Matrix
    labels: Float64Array
    indptr: Int64Array
    prepare: Callable[[Matrix], Float64Array]  # maps rows of X to float64 inputs of the network


@dataclass(frozen=True)
class Batch:
    """Rows of some queries as tensors on the device."""

    X: Tensor
    labels: Tensor
    indptr: Int64Array


Objective = Callable[[list[Tensor], Batch], Tensor]  # one loss per query of the batch


@dataclass(frozen=True)
class Schedule:
    """Training schedule, with the parameters of the rankers."""

    n_epochs: int
    batch_size: int
    optimizer: str
    learning_rate_init: float
    alpha: float
    early_stopping_rounds: int | None
    device: str


@dataclass(frozen=True)
class Monitor:
    """Validation rows and the measure that is evaluated on them."""

    staged: StagedMeasure  # evaluates the measure after every epoch
    # Maps weights to the scores of the validation rows.
    scores: Callable[[list[Float64Array]], Float64Array]


@dataclass(frozen=True)
class Training:
    """Result of training."""

    weights: list[Float64Array]  # weights and intercepts of the layers
    # Mean loss of the queries in every epoch; the loss of a batch is taken before its step.
    losses: list[float] = field(default_factory=list)
    n_epochs: int = 0  # epochs after which the kept weights were reached


def train(
    objective: Objective,
    weights: Sequence[Float64Array],
    rows: NetworkRows,
    schedule: Schedule,
    rng: np.random.RandomState,
    monitor: Monitor | None = None,
) -> Training:
    """Minimise the mean of ``objective`` over the queries, starting from ``weights``.

    Stops ``early_stopping_rounds`` epochs after the best epoch on the monitor, and restores the
    weights of that epoch. A loss that is no longer finite raises ValueError.
    """
    _check_device(schedule.device)
    patience = schedule.early_stopping_rounds if monitor is not None else None
    with _one_thread():
        tensors = [torch.tensor(w, device=schedule.device, requires_grad=True) for w in weights]
        optimizer = _optimizer(tensors, schedule)
        losses: list[float] = []
        kept, n_kept = list(weights), 0
        previous = 0.0
        for epoch in range(1, schedule.n_epochs + 1):
            losses.append(_one_epoch(objective, tensors, optimizer, rows, schedule, rng))
            if not np.isfinite(losses[-1]) or not all(torch.isfinite(w).all() for w in tensors):
                raise ValueError(
                    f"learning_rate_init must be small enough to converge, got "
                    f"{schedule.learning_rate_init}: the loss was {losses[-1]} in epoch {epoch}. "
                    "Lower learning_rate_init, or scale the features."
                )
            now = [w.detach().cpu().numpy().copy() for w in tensors]
            if monitor is not None:
                scores = monitor.scores(now)
                monitor.staged.add(scores - previous)
                previous = scores
            if patience is None or monitor is None or monitor.staged.best == epoch:
                kept, n_kept = now, epoch
            elif monitor.staged.stages_since_best >= patience:
                break
    return Training(kept, losses, n_kept)


def _one_epoch(
    objective: Objective,
    tensors: list[Tensor],
    optimizer: torch.optim.Optimizer,
    rows: NetworkRows,
    schedule: Schedule,
    rng: np.random.RandomState,
) -> float:
    """Train once on every query, in a new order, and return the mean loss."""
    n_queries = len(rows.indptr) - 1
    order = rng.permutation(n_queries)
    total = 0.0
    for first in range(0, n_queries, schedule.batch_size):
        queries = order[first : first + schedule.batch_size]
        values = objective(tensors, batch_of(rows, queries, schedule.device))
        loss = values.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += float(values.detach().sum())
    return total / n_queries


def batch_of(rows: NetworkRows, queries: Int64Array, device: str = "cpu") -> Batch:
    """Batch of the rows of some queries, sorted by query."""
    starts, sizes = rows.indptr[queries], rows.indptr[queries + 1] - rows.indptr[queries]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
    X = rows.prepare(rows.X[places])
    return Batch(
        torch.tensor(X, device=device), torch.tensor(rows.labels[places], device=device), indptr
    )


def _optimizer(tensors: list[Tensor], schedule: Schedule) -> torch.optim.Optimizer:
    """Optimizer with a penalty on weights but not on intercepts."""
    groups = [
        {"params": [w for w in tensors if w.ndim > 1], "weight_decay": schedule.alpha},
        {"params": [w for w in tensors if w.ndim == 1], "weight_decay": 0.0},
    ]
    kinds = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
    return kinds[schedule.optimizer](groups, lr=schedule.learning_rate_init)


def _check_device(device: str) -> None:
    """Raise ValueError if torch cannot use the device."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device must be available to torch, got {device!r} "
            f"({str(error).splitlines()[0]}). Use device='cpu'."
        ) from None


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread; batches are small, and results do not depend on the CPU count."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
