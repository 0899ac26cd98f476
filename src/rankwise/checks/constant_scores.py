"""Warning for fitted models that give every training row the same score, with the cause.

A few training rows are scored after every fit. Only if their scores are equal, all rows are scored,
and the model is fitted again with one limit removed at a time, to name the limit that is the cause.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import clone

from rankwise.runtime.finite import RangeError
from rankwise.runtime.frames import Table, convert_to_values
from rankwise.runtime.messages import callers_level
from rankwise.typing import Float64Array, Int64Array

FEW_ROWS = 64
MOST_ROWS = 200_000  # more rows are neither scored nor fitted again
_NOISE = 4 * np.finfo(np.float64).eps
# Parameters of penalties, and factors that make each of them weak.
_PENALTIES = {"C": 1e6, "alpha": 1e-6, "lam": 1e-6}
_ROWS_ON_BOTH_SIDES = "no split leaves {0} rows on both sides"
_HESSIANS_ON_BOTH_SIDES = "no split leaves second derivatives of {0} on both sides"
_REASONS = {
    "min_samples_leaf": _ROWS_ON_BOTH_SIDES,
    "min_child_samples": _ROWS_ON_BOTH_SIDES,
    "min_hessian_leaf": _HESSIANS_ON_BOTH_SIDES,
    "min_child_weight": _HESSIANS_ON_BOTH_SIDES,
    "min_split_gain": "no split gains more than {0}",
    "estimator": "the classifier with its own defaults, {0}, finds no split",
}


class ConstantScoresWarning(UserWarning):
    """A fitted model gives every training row the same score, so it ranks nothing."""


def warn_of_constant_scores(estimator: Any, given: Mapping[str, Any]) -> None:
    """Warn if the fitted estimator scores all training rows alike.

    ``_limits`` of the estimator maps parameters that can prevent all learning to values that
    cannot. ``given`` holds the arguments of its ``fit``; streams of rows are not examined. Scores
    64 rows, and if they are equal also all rows (at most 200,000).
    """
    X, y = given.get("X"), given.get("y")
    if X is None or y is None:
        return
    if sparse.issparse(X):
        X = X.tocsr()
    elif not isinstance(X, np.ndarray):
        X = Table.of(X).rows
        X = X if isinstance(X, list) or hasattr(X, "columns") else np.asarray(X)
    given = {**given, "X": X}
    labels, rows = _find_weighted_rows(y, given.get("sample_weight"))
    for most in (FEW_ROWS, MOST_ROWS):
        if len(rows) < 2 or _differ(_scores(estimator, X, _spread(rows, most))):
            return
    n = f"all {len(rows)} training rows" if len(rows) > 2 else "both training rows"
    if (labels[rows] == labels[rows[0]]).all():
        cause = (
            f"all their labels are {labels[rows[0]]}, so there is nothing to learn. Check that y "
            "was read from the right column."
        )
    else:
        cause = _cause(estimator, given, rows)
    warnings.warn(
        f"{type(estimator).__name__} gives {n} the same score: {cause}",
        ConstantScoresWarning,
        stacklevel=callers_level(),
    )


def _find_weighted_rows(y: Any, sample_weight: Any) -> tuple[Any, Int64Array]:
    """Labels of all rows, and the rows of positive weight."""
    labels = convert_to_values(y).ravel()
    rows = np.arange(len(labels))
    weight = np.asarray(1.0 if sample_weight is None else convert_to_values(sample_weight), float)
    if weight.ndim:
        rows = rows[weight > 0]
    return labels, rows


def _take(X: Any, rows: Int64Array) -> Any:
    """Rows of a list, an array or a frame, as the same type."""
    if isinstance(X, list):
        return [X[row] for row in rows]
    return (
        nw.from_native(X, eager_only=True)[rows].to_native() if hasattr(X, "columns") else X[rows]
    )


def _spread(rows: Int64Array, most: int) -> Int64Array:
    """At most that many of the rows, evenly spaced."""
    return rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)]


def _scores(estimator: Any, X: Any, rows: Int64Array) -> Float64Array:
    """Scores of some rows; NaN, which differ, if they leave the range of float64."""
    score = getattr(estimator, "rank_score", estimator.predict)
    try:
        return np.asarray(score(_take(X, rows)), dtype=np.float64)
    except RangeError:
        return np.full(len(rows), np.nan)


def _differ(scores: Float64Array) -> bool:
    """Whether scores differ by more than rounding."""
    low, high = 0.5 * scores.min(), 0.5 * scores.max()  # halves, as the range could overflow
    return not high - low <= _NOISE * max(abs(low), abs(high))


def _cause(estimator: Any, given: Mapping[str, Any], rows: Int64Array) -> str:
    if not _varies(_take(given["X"], _spread(rows, MOST_ROWS))):
        return "no column of X varies. Add features, or check how X was read."
    if len(rows) <= MOST_ROWS and (cause := _cause_in_weights(estimator, given, rows)):
        return cause
    trials = list(_trials(estimator)) if len(rows) <= MOST_ROWS else []
    for name, value, free in trials:
        if _learns(estimator, given, rows, {name: free}):
            reason = _REASONS.get(name, "{0} leaves nothing to learn")
            fix = "another value"
            if isinstance(value, Real):
                fix = "a smaller value" if free < value else "a larger value"
            return (
                f"{reason.format(f'{name}={value!r}')}. With {name}={free!r} the scores differ. "
                f"Set {fix}, or add rows."
            )
    needed = {name: (value, free) for name, value, free in trials}

    def learns_without(names: Iterable[str]) -> bool:
        return _learns(estimator, given, rows, {name: needed[name][1] for name in names})

    if len(trials) > 1 and learns_without(needed):
        for name in list(needed):
            if learns_without(needed.keys() - {name}):
                del needed[name]
        together = ", ".join(f"{name}={value!r}" for name, (value, _) in needed.items())
        return f"{together} together leave nothing to learn. Weaken them, or add rows."
    return (
        "no column of X tells rows of different labels apart under its parameters. Check that X, y "
        "and qid belong to the same rows, and weaken penalties and limits."
    )


def _cause_in_weights(estimator: Any, given: Mapping[str, Any], rows: Int64Array) -> str | None:
    """What to do about weights so small that penalties and limits outweigh the rows."""
    weight = given.get("sample_weight")
    if weight is None:
        return None
    array = np.asarray(convert_to_values(weight), dtype=np.float64)
    mean = float(array[rows].mean()) if array.ndim else float(array)
    scaled = array / mean
    if not (0 < mean < 1 and np.isfinite(scaled).all()):
        return None
    if not _learns(estimator, {**given, "sample_weight": scaled}, rows, {}):
        return None
    return (
        f"the weights are too small for its penalties and limits, their mean is {mean:.3g}. With "
        "the same weights scaled to a mean of 1 the scores differ. Pass sample_weight / "
        "sample_weight.mean()."
    )


def _trials(estimator: Any) -> Iterator[tuple[str, Any, Any]]:
    """Parameters that could be the cause: name, value, and a value that could not."""
    params = estimator.get_params(deep=False)
    for name, free in estimator._limits.items():
        if name in params and params[name] != free:
            yield name, params[name], free
    for name, factor in _PENALTIES.items():
        value = params.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            yield name, value, float(value) * factor


def _learns(
    estimator: Any, given: Mapping[str, Any], rows: Int64Array, params: dict[str, Any]
) -> bool:
    """Whether one round of the estimator with other parameters gives scores that differ."""
    copy: Any = clone(estimator)
    copy.set_params(**params)
    if "n_estimators" in copy.get_params(deep=False):
        copy.set_params(n_estimators=1)
    names = ("y", "qid", "sample_weight", "position")
    arguments = {name: given[name] for name in names if given.get(name) is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has said them before
        try:
            copy.fit(given["X"], **arguments)
        except (TypeError, ValueError, ArithmeticError):
            return False
        return _differ(_scores(copy, given["X"], rows))


def _varies(X: Any) -> bool:
    """Whether some column has two values; NaN is a value."""
    if sparse.issparse(X):
        return bool((X.max(axis=0) != X.min(axis=0)).nnz)
    if hasattr(X, "columns"):
        import narwhals

        frame = narwhals.from_native(X, eager_only=True, pass_through=True)
        return any(series.n_unique() > 1 for series in frame.iter_columns())
    table = np.asarray(X)
    same = table == table[0]
    if table.dtype.kind == "f":
        same |= np.isnan(table) & np.isnan(table[0])
    return not same.all()
