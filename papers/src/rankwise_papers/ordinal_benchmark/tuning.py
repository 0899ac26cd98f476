"""A method's setting by cross-validation inside the training part, and its test predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.ordinal_benchmark.sets import Task

N_FOLDS = 5

# (task, rows to learn, rows to predict, settings) -> class numbers, a line per setting
Predict: TypeAlias = Callable[[Task, Int64Array, Int64Array, Sequence[Any]], Float64Array]


@dataclass(frozen=True)
class Method:
    """A learner with the settings among which cross-validation chooses.

    Attributes
    ----------
    predict : callable
        ``predict(task, train, test, settings)`` learns from some rows and predicts others with
        each of the settings, from one fit where they lie on one path.
    settings : tuple
        Tried in this order; the first of the least error is taken. One: nothing is chosen.
    n_folds : int
    """

    predict: Predict
    settings: tuple[Any, ...] = (None,)
    n_folds: int = N_FOLDS


def fold_numbers(y: Int64Array, n_folds: int, seed: int) -> Int64Array:
    """A fold for every row; classes are dealt out evenly."""
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % n_folds
    return fold


def held_out_errors(method: Method, task: Task, seed: int) -> Float64Array:
    """Sum of absolute errors over the folds of the training rows, one for every setting."""
    fold = fold_numbers(task.y[task.train], method.n_folds, seed)
    errors = np.zeros(len(method.settings))
    for number in range(method.n_folds):
        held = task.train[fold == number]
        predicted = method.predict(task, task.train[fold != number], held, method.settings)
        errors += np.abs(predicted - task.y[held]).sum(axis=1)
    return errors


def tune_and_predict(method: Method, task: Task, seed: int) -> tuple[Any, Float64Array]:
    """The chosen setting and the class numbers it predicts for the test rows."""
    chosen = method.settings[0]
    if len(method.settings) > 1:
        chosen = method.settings[int(np.argmin(held_out_errors(method, task, seed)))]
    return chosen, method.predict(task, task.train, task.test, [chosen])[0]
