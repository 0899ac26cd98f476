"""Fits that choose the number of boosting rounds and then grow that many rounds on all rows.

The number is that of early stopping on validation rows, or the best by the mean over folds of
queries. Both go through ``fit`` of copies of the estimator, so they are the same for every booster,
and the result equals a fit of the chosen number of rounds on all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from typing import Any, ClassVar, TypeVar

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import clone

from rankwise.checks.classes import list_declared_classes
from rankwise.checks.rows import check_rows, check_weight, find_given_names, name_columns
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.runtime.frames import Table, convert_to_array
from rankwise.solvers.boosting.rounds import UnmeasuredError, rank_stages, record_queries
from rankwise.trees.column_table import FROM_DTYPE, ColumnTable
from rankwise.tuning import DEFAULT_FOLDS, cv_splits, fold_splits, mean_defined
from rankwise.typing import Float64Array, Int64Array, is_sparse


class ChoosesRounds:
    """Mixin of boosters with the parameters that choose the number of rounds."""

    refit: bool
    cv: Any
    # Whether fit takes chosen rows of an array without a copy of them.
    _keeps_whole: ClassVar[bool] = False


Booster = TypeVar("Booster")

# Parameters that choose the number of rounds, in a table of constraints.
CHOICE: dict[str, list[Any]] = {"refit": ["boolean"], "cv": ["cv_object"]}
# From this number of queries on, recipes hold out a part of them once instead of folds.
MANY_QUERIES = 1_000
# Settings of fits on parts of the rows, for those that have them.
_OF_FOLDS = {"warm_start": False, "probability": False}


def chooses_rounds(booster: Any, X_val: Any) -> bool:
    """Whether a fit with these validation rows, or None, is one of :func:`fit_chosen`."""
    if not isinstance(booster, ChoosesRounds):
        return False
    return booster.cv is not None or (booster.refit and X_val is not None)


def trains_on_validation(estimator: Any) -> bool:
    """Whether validation rows are training rows in the end, so that they judge nothing else."""
    return isinstance(estimator, ChoosesRounds) and estimator.refit


class RecipeFolds:
    """Value of ``cv`` by which a recipe without validation rows chooses the number of rounds.

    Below :data:`MANY_QUERIES`, another number than the default one has to lead it by two standard
    errors over the queries that five folds leave out. From there on, a quarter of the queries is
    held out, and the best number counts. ``benchmarks.study_refit`` chose this rule.
    """

    def __init__(self, default: int | None) -> None:
        self.default, self.is_default = default, False
        self.n_queries = self.n_held = 0

    def get_n_splits(self) -> int:  # by which a splitter is recognised
        return DEFAULT_FOLDS

    def split(self, data: FitData) -> list[tuple[Int64Array, Int64Array]]:
        """(train rows, test rows), by ids of queries: their order does not matter."""
        self.n_queries = self.n_held = data.groups.n_queries
        if self.n_queries < MANY_QUERIES:
            return fold_splits(data.X, data.y, data.groups, DEFAULT_FOLDS)
        quarter = fold_splits(data.X, data.y, data.groups, 4)[0]
        self.n_held = len(np.unique(data.groups.codes()[quarter[1]]))
        return [quarter]

    def settle(self, best: int, folds: Sequence[Float64Array]) -> int:
        """The best number, or the default one if the best does not lead it clearly.

        ``folds`` hold values by stage and query, larger is better; NaN does not count.
        """
        usual = self.default
        if usual is None:
            return best
        ends = [(values[min(best, len(values)) - 1], values[min(usual, len(values)) - 1])
                for values in folds]  # fmt: skip
        lead = np.concatenate([reached - known for reached, known in ends])
        lead = lead[~np.isnan(lead)]
        self.is_default = len(lead) < 2 or bool(
            lead.mean() <= 2.0 * lead.std(ddof=1) / np.sqrt(len(lead))
        )
        return usual if self.is_default else best


def fit_recipe(estimator: Any, fit: Callable[[Any], Any]) -> tuple[Any, str] | None:
    """Fitted booster whose number of rounds :class:`RecipeFolds` chose, and a sentence about it.

    ``fit`` fits its argument or a clone of it, and returns that. None if no rounds are chosen:
    without validation rows early stopping would never stop.
    """
    own = estimator.get_params(deep=False)
    can_choose = isinstance(estimator, ChoosesRounds) and own["cv"] is None
    if not can_choose or own.get("early_stopping_rounds") is None:
        return None
    fresh: Any = type(estimator)()
    usual = fresh.get_params(deep=False)
    default = usual["n_estimators"]
    trial: Any = clone(estimator)
    # Parts may lack pairs to order, which all rows may have; a fit of all rows words other errors.
    try:
        if default is not None:  # more rounds of a smaller rate reach as far
            rate = usual.get("learning_rate", 1.0) / own.get("learning_rate", 1.0)
            default = min(max(round(default * rate), 1), own["n_estimators"])
        fitted = fit(trial.set_params(cv=RecipeFolds(default)))
    except (ValueError, TypeError, ArithmeticError):
        return None
    folds, number = fitted.cv, count_rounds(fitted)
    # As if the number had been given, so that a model file says it.
    fitted.set_params(cv=None, n_estimators=max(number, 1))
    unit = "tree" if hasattr(fitted, "model_") or hasattr(fitted, "trees_") else "round"
    unit += "" if number == 1 else "s"
    is_by_query = folds.n_queries >= DEFAULT_FOLDS
    parts = f"{folds.n_queries} queries" if is_by_query else "the rows"
    where = f"by {DEFAULT_FOLDS} folds of {parts}"
    if folds.n_held < folds.n_queries:
        where = f"on {folds.n_held} of {folds.n_queries} queries"
    elif folds.is_default:
        where = f"because no other number was clearly better {where}"
        return fitted, f"kept {number} {unit}, {where}, then fitted all rows"
    return fitted, f"chose {number} {unit} {where}, then fitted all rows"


def fit_chosen(
    booster: Booster,
    X: Any,
    y: Any,
    by_row: Mapping[str, Any],
    validation: tuple[Any, Any, Any],
    *,
    watching: Mapping[str, Any] | None = None,
    init_model: Any = None,
    n_before: int = 0,
) -> Booster:
    """Choose the number of rounds, grow them on all rows, and set the fitted attributes.

    Parameters
    ----------
    booster : estimator
        Unchanged if anything raises.
    X, y : rows and labels
        As ``fit`` takes them.
    by_row : dict
        ``qid``, ``sample_weight`` and whatever else ``fit`` takes for every row.
    validation : tuple
        ``X_val``, ``y_val`` and ``qid_val``.
    watching : dict, optional
        ``callbacks`` and ``verbose``. They follow the fit that has validation rows, or else the
        last one.
    init_model : object, optional
        Passed on to ``fit`` if given; ``n_estimators`` then counts the rounds after it.
    n_before : int
        Rounds of ``init_model``, or of the earlier fit that ``warm_start`` continues.
    """
    own: Any = booster
    if own.cv is not None and n_before:
        raise ValueError(
            f"cv must be None in a fit that continues {n_before} earlier rounds, which may have "
            f"seen the rows that a fold leaves out, got {own.cv!r}. Pass X_val, or start again."
        )
    rows = {name: values for name, values in by_row.items() if values is not None}
    more = {} if init_model is None else {"init_model": init_model}
    follow, curve = dict(watching or {}), np.empty(0)
    settings: dict[str, Any] = {}
    if own.cv is None:
        held = dict(zip(("X_val", "y_val", "qid_val"), validation, strict=True))
        first = _fit_copy(own, X, y, {}, rows | held | more | follow)
        follow, curve, n_rounds = {}, first.validation_scores_, count_rounds(first)
        if n_rounds <= n_before:  # nothing was added that other rows could grow again
            return _take_state(own, first, curve)
        settings["n_estimators"] = n_rounds - (0 if init_model is None else n_before)
    if own.refit and validation[0] is not None:
        X, y, rows, classes = _join_parts(own, X, y, rows, validation)
        settings |= classes
    if own.cv is not None:
        settings["n_estimators"], curve = _choose_by_folds(own, X, y, rows, settings)
    # The first fit has warned of everything that could be wrong with these rows.
    whole = _fit_copy(own, X, y, settings, rows | more | follow, quiet=own.cv is None)
    return _take_state(own, whole, curve)


def _fit_copy(
    own: Any,
    X: Any,
    y: Any,
    settings: Mapping[str, Any],
    given: Mapping[str, Any],
    quiet: bool = False,
) -> Any:
    """Copy with other settings that chooses nothing by itself, fitted."""
    model = copy(own).set_params(**{"refit": False, "cv": None} | dict(settings))
    X, given = _copy_rows(own, X), {name: _copy_rows(own, rows) for name, rows in given.items()}
    with warnings.catch_warnings(), name_columns(model, find_given_names(own)):
        if quiet:
            warnings.simplefilter("ignore")
        return model.fit(X, y, **given)


def count_rounds(model: Any) -> int:
    """Rounds that a fitted booster keeps."""
    for name in ("n_rounds_", "n_estimators_", "best_iteration_"):
        if hasattr(model, name):
            return getattr(model, name)
    raise TypeError(f"{type(model).__name__} does not count its rounds.")


def _take_state(own: Any, fitted: Any, curve: Float64Array) -> Any:
    """Set the fitted attributes to those of a copy, and the curve by which it was chosen."""
    params = {name: vars(own)[name] for name in own.get_params(deep=False)}
    state = vars(fitted) | params
    vars(own).clear()
    vars(own).update(state)
    own.validation_scores_ = curve
    return own


def _choose_by_folds(
    own: Any, X: Any, y: Any, rows: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[int, Float64Array]:
    """Number of rounds with the best mean over the folds, and the means after every round.

    With ``early_stopping_rounds``, a fold ends that many rounds after its best; its last value
    then stands for further rounds.
    """
    table = Table.of(X)
    data, rows = _check_rows(own, table, y, rows)
    labels, curves = np.asarray(convert_to_array(y)), []
    by_query: list[Float64Array] = []
    of_folds = {name: value for name, value in _OF_FOLDS.items() if name in vars(own)}
    settings = _declared_classes(own, y) | dict(settings) | of_folds
    numbers = None if data.kept is None else np.flatnonzero(data.kept)
    failure: UnmeasuredError | None = None
    is_recipe = isinstance(own.cv, RecipeFolds)
    splits = own.cv.split(data) if is_recipe else cv_splits(own.cv, data)
    del data
    is_settled = is_recipe and own.cv.n_queries < MANY_QUERIES
    for part in splits:
        train, test = part if numbers is None else (numbers[side] for side in part)
        given = {name: values[train] for name, values in rows.items()}
        held = {"X_val": table.choose(test), "y_val": labels[test]}
        if "qid" in rows:
            held["qid_val"] = rows["qid"][test]
        try:
            with record_queries() if is_settled else nullcontext([]) as staged:
                model = _fit_copy(
                    own, table.choose(train), labels[train], settings, given | held, quiet=True
                )
        except UnmeasuredError as error:  # no query of the fold has a value
            failure = error
            continue
        curves.append(np.asarray(model.validation_scores_, dtype=np.float64))
        by_query += [np.array(follower.by_query) for follower in staged if follower.by_query]
    if not curves:
        raise ValueError(
            f"cv={own.cv!r} must leave out queries that the measure can score, got none. Pass "
            "fewer folds, or another measure."
        ) from failure
    longest = max(map(len, curves))
    padded = [np.pad(c, (0, longest - len(c)), mode="edge") for c in curves if len(c)]
    if not padded:  # no fold has a row to split
        return 1, np.empty(0)
    curve = mean_defined(np.array(padded))
    measure = parse(getattr(own, "validation_measure", None) or own.measure)
    best = 1 + int(np.argmax(rank_stages(curve, greater_is_better=measure.greater_is_better)))
    if is_settled:
        sign = 1.0 if measure.greater_is_better else -1.0
        best = own.cv.settle(best, [sign * values for values in by_query])
    return best, curve


def _check_rows(
    own: Any, table: Table, y: Any, rows: Mapping[str, Any]
) -> tuple[FitData, dict[str, Any]]:
    """Rows by which folds are drawn, and what ``fit`` takes for every row as arrays."""
    checked: dict[str, Any] = dict(rows)
    nominal = own.get_params(deep=False).get("categorical_features", FROM_DTYPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of all rows warns of these columns
        encoded = ColumnTable.of(table, nominal).encode(table)
    X = check_rows(clone(own), encoded, allow_nan=True, reset=True)
    n_samples = X.shape[0]
    labels = np.asarray(convert_to_array(y))
    if labels.shape != (n_samples,):
        raise ValueError(
            f"y must have n_samples={n_samples} entries, got shape {labels.shape}. Pass one label "
            "per row of X."
        )
    codes = labels if labels.dtype.kind in "biuf" else np.unique(labels, return_inverse=True)[1]
    groups = QueryGroups.from_qid(checked.get("qid"), n_samples)
    if "qid" in checked:
        checked["qid"] = groups.codes()
    if "position" in checked:
        checked["position"] = np.asarray(checked["position"])
    codes, kept, weight = codes.astype(np.float64, copy=False), None, None
    if "sample_weight" in checked:
        weight = checked["sample_weight"] = check_weight(checked["sample_weight"], n_samples)
        if not weight.all():
            kept = weight > 0
            X, codes, groups, weight = X[kept], codes[kept], groups.take(kept), weight[kept]
    return FitData(X, codes, groups, weight, kept), checked


def _copy_rows(own: Any, table: Any) -> Any:
    """Chosen rows of a table, of the same kind; anything else unchanged."""
    if not isinstance(table, Table) or table.chosen is None:
        return table
    X, rows = table.rows, table.chosen
    if own._keeps_whole and type(X) is np.ndarray and X.dtype in (np.float32, np.float64):
        nominal = own.categorical_features
        if X.flags.c_contiguous and (nominal is None or isinstance(nominal, str)):
            return table
    if table.frame is not None:
        frame: Any = table.frame
        return table.restore_labels(frame[rows])
    return X.tocsr()[rows] if is_sparse(X) else np.asanyarray(_as_array(X))[rows]


def _as_array(X: Any) -> Any:
    """Rows that are neither sparse nor a frame; lists keep the types of their values."""
    if isinstance(X, np.ndarray):
        return X
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if array.dtype.kind in "SU" else array


def _join_parts(
    own: Any, X: Any, y: Any, rows: Mapping[str, Any], validation: tuple[Any, Any, Any]
) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Training rows followed by validation rows, and the classes that labels declare.

    Queries of the two parts are different ones, even if their ids are equal. Weights of validation
    rows are 1.
    """
    X_val, y_val, qid_val = validation
    if "position" in rows:
        raise ValueError(
            "refit must be False in a fit with positions, because those of X_val are unknown, got "
            "True. Drop position, or refit."
        )
    first, second = Table.of(X), Table.of(X_val)
    labels = [np.asarray(convert_to_array(part)) for part in (y, y_val)]
    n_rows, n_held = map(len, labels)
    joined: dict[str, Any] = {}
    if "qid" in rows or qid_val is not None:
        groups = QueryGroups.from_qid(rows.get("qid"), n_rows)
        held = QueryGroups.from_qid(qid_val, n_held, name="qid_val")
        joined["qid"] = np.concatenate([groups.codes(), groups.n_queries + held.codes()])
    if "sample_weight" in rows:
        weight = check_weight(rows["sample_weight"], n_rows)
        joined["sample_weight"] = np.concatenate([weight, np.ones(n_held)])
    table = _join_tables(first, second)
    return table, np.concatenate(labels), joined, _declared_classes(own, y)


def _declared_classes(own: Any, y: Any) -> dict[str, Any]:
    """Parameter that declares the classes of y, for labels that are an array and say no more."""
    declared = list_declared_classes(y)
    return {} if declared is None or "classes" not in vars(own) else {"classes": declared}


def _join_tables(first: Table, second: Table) -> Any:
    """Rows of two tables of the same columns."""
    frame, other = first.frame, second.frame
    if frame is not None and other is not None:
        return first.restore_labels(nw.concat(_with_common_types(frame, other)))
    if frame is not None or other is not None:
        given = [type(table.rows).__name__ for table in (first, second)]
        raise ValueError(
            "refit needs frames with the same columns, or arrays, as X and X_val, got "
            f"{given[0]} and {given[1]}. Convert one of them."
        )
    if is_sparse(first.rows) or is_sparse(second.rows):
        parts: list[Any] = [sparse.csr_array(table.rows) for table in (first, second)]
        return sparse.vstack(parts, format="csr")
    arrays = [_as_array(table.rows) for table in (first, second)]
    if any(isinstance(array, np.ma.MaskedArray) for array in arrays):
        return np.ma.concatenate(arrays)
    return np.concatenate(arrays)


def _with_common_types(
    first: nw.DataFrame[Any], second: nw.DataFrame[Any]
) -> list[nw.DataFrame[Any]]:
    """Frames whose columns have equal types: text for categories, floats for numbers."""
    changed: list[list[Any]] = [[], []]
    for name, dtype in first.schema.items():
        columns = first[name], second[name]
        declared = [list_declared_classes(column.to_native()) for column in columns]
        if declared[0] is not None or declared[1] is not None:
            known = [None if names is None else names.tolist() for names in declared]
            if known[0] != known[1]:
                raise ValueError(
                    f"refit needs the same ordered categories in column {name!r} of X and X_val, "
                    f"got {known[0]} and {known[1]}. Declare them alike."
                )
            continue
        others = {dtype, columns[1].dtype}
        common: Any = None
        if others & {nw.Categorical, nw.Enum}:
            common = nw.String
        elif len(others) > 1 and all(other.is_numeric() or other == nw.Boolean for other in others):
            common = nw.Float64
        if common is not None:
            for new, column in zip(changed, columns, strict=True):
                new.append(column.cast(common))
    return [
        frame.with_columns(*new) if new else frame
        for frame, new in zip((first, second), changed, strict=True)
    ]
