"""Callbacks of training in the form of LightGBM's: logs, records, and an end before the last tree.

A callback is a function of a :class:`CallbackEnv`, called after every tree of
:class:`~rankwise.LambdaMART` and after every epoch of a network. It may raise
:class:`EarlyStopException`, LightGBM's or this library's. Any other exception leaves the estimator
as it was before ``fit``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

from rankwise.metrics.measure import Measure


class EvalResult(NamedTuple):
    """Value of a measure after an iteration, with the fields of LightGBM's class of this name."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool
    metric_std_dev = None

    def is_cv_result(self) -> bool:
        """False: the value is that of one model."""
        return False


@dataclass(frozen=True, eq=False)
class CallbackEnv:
    """State of the training after an iteration.

    Attributes
    ----------
    model : estimator
        The estimator that is trained, with the iterations so far: ``predict`` works.
    params : dict
        Parameters of the estimator.
    iteration : int
        Number of the iteration, from 0: of the tree, or of the epoch.
    begin_iteration : int
        Number of the first iteration; above 0 if ``warm_start`` continues earlier trees.
    end_iteration : int
        Number after the last iteration, if nothing stops the training.
    evaluation_result_list : list of named tuples (str, str, float, bool)
        Data, measure, value, and whether higher is better, as ``dataset_name``, ``metric_name``,
        ``metric_value`` and ``maximize``. Validation rows are called "valid_0". Networks also
        report the training loss, as "training".
    """

    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[EvalResult]
    _publish: Callable[[], Any] = field(repr=False)

    @property
    def model(self) -> Any:
        # Set only when asked for, since collecting the trees costs time.
        return self._publish()


Callback = Callable[[CallbackEnv], Any]


class EarlyStopException(Exception):  # noqa: N818  # LightGBM's name
    """Raised by a callback to end the training; ``fit`` then returns as usual.

    Parameters
    ----------
    best_iteration : int or None, default=None
        Number of the last iteration to keep, from 0. None: all iterations so far, or with
        ``early_stopping_rounds`` those up to the best on X_val.
    best_score : object, optional
        As in LightGBM, for readers of the exception. It is not used.
    """

    def __init__(self, best_iteration: int | None = None, best_score: Any = None) -> None:
        super().__init__()
        self.best_iteration = best_iteration
        self.best_score = best_score


def log_evaluation(period: int = 1) -> Callback:
    """Callback that prints the evaluation results.

    Parameters
    ----------
    period : int >= 1, default=1
        Number of iterations between two lines.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LambdaMART
    >>> from rankwise.rankers import log_evaluation
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> val = {"X_val": X, "y_val": y, "qid_val": qid}
    >>> _ = LambdaMART(4).fit(X, y, qid=qid, **val, callbacks=[log_evaluation(2)])
    [2] valid_0's nDCG@10: 1
    [4] valid_0's nDCG@10: 1
    """

    def log(env: CallbackEnv) -> None:
        if (env.iteration + 1) % period == 0:
            results = (f"{data}'s {name}: {value:g}" for data, name, value, *_ in
                       env.evaluation_result_list)  # fmt: skip
            print(f"[{env.iteration + 1}]", ", ".join(results))

    return log


def record_evaluation(eval_result: dict[str, dict[str, list[float]]]) -> Callback:
    """Callback that records the evaluation results.

    Parameters
    ----------
    eval_result : dict
        Emptied by the first iteration. It then holds a list of values, one per iteration, under the
        names of the data and of the measure: ``eval_result["valid_0"]["nDCG@10"]``.

    Returns
    -------
    callable
    """

    def record(env: CallbackEnv) -> None:
        if env.iteration == env.begin_iteration:
            eval_result.clear()
        for data, name, value, *_ in env.evaluation_result_list:
            eval_result.setdefault(data, {}).setdefault(name, []).append(value)

    return record


class TrainingLog:
    """Calls the callbacks of one fit after its iterations."""

    def __init__(self, estimator: Any, callbacks: Any, verbose: Any, begin: int, end: int) -> None:
        callbacks = [] if callbacks is None else callbacks
        if not isinstance(callbacks, list | tuple) or not all(map(callable, callbacks)):
            raise TypeError(
                f"callbacks must be a list of functions, got {callbacks!r}. Pass for example "
                "[rankwise.rankers.log_evaluation(10)]."
            )
        early = [call for call in callbacks if getattr(call, "before_iteration", False)]
        if early:
            raise ValueError(
                f"callbacks must run after an iteration, got {early[0]!r}, which runs before it. "
                "Parameters cannot change while a model is trained."
            )
        if not isinstance(verbose, Integral) or verbose < 0:
            raise ValueError(
                f"verbose must be True, False or a number of iterations >= 1, got {verbose!r}."
            )
        calls = [*callbacks, log_evaluation(int(verbose))] if verbose else callbacks
        self._calls = sorted(calls, key=lambda call: getattr(call, "order", 0))  # as LightGBM
        self._begin, self._end = begin, end
        self._params = estimator.get_params(deep=False) if calls else {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def __call__(
        self, iteration: int, results: list[EvalResult], publish: Callable[[], Any]
    ) -> int | None:
        """Call the callbacks; number of iterations to keep if one ends the training, else None."""
        env = CallbackEnv(self._params, iteration, self._begin, self._end, results, publish)
        try:
            for call in self._calls:
                call(env)
        except Exception as stop:
            # By name, because LightGBM's own callbacks raise LightGBM's class.
            if type(stop).__name__ != "EarlyStopException":
                raise
            best = getattr(stop, "best_iteration", None)
            last = iteration if best is None else min(int(best), iteration)
            return max(last + 1, self._begin)
        return None


def evaluations(spec: Any, measure: Measure, values: list[float]) -> list[EvalResult]:
    """The last value on the validation rows, under the name that the user gave the measure."""
    name = spec if isinstance(spec, str) else str(measure)
    return [EvalResult("valid_0", name, values[-1], measure.greater_is_better)]
