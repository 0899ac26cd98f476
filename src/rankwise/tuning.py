"""Choice of a penalty: folds of whole queries, grids, and scores of held-out queries.

Folds of queries are drawn by query id, so renaming queries may change them and what is chosen on
them; folds of rows are drawn by content.

An estimator declares its :class:`Penalty` once. Its fit makes a :class:`PenaltySearch` from the
parameter's value: the grid, the measure, the folds and the validation rows. A
:class:`SolutionPath` solves for every value of the grid (once per kernel width, for example) and
measures held-out rows; the search chooses. A number is a grid of one value, for which nothing is
measured.

Selection methods ("ways"): "cv" (folds of queries), "val" (validation data), "loqo" (exact
leave-one-query-out) and "lpo" (exact leave-pair-out). A list is searched on validation data if
there are any, and otherwise by folds.

The solvers minimise ``(y - f)' L (y - f) + |b|^2 / C``: a SUM over pairs. ``alpha = 1/C``. The
papers' ``lam`` multiplies the norm against the MEAN over ordered pairs, ``(2/S) (y - f)' L (y - f)
+ lam |b|^2`` with ``S = sum_q c_q W_q^2`` (m^2 for one query of m rows), so ``C = 2 / (lam S)``. C
therefore depends on the rows, and each training part of a cross-validation has its own C.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

import numpy as np

from rankwise.checks.parameter_constraints import Interval, StrOptions
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.default import refuse_constant
from rankwise.metrics.measure import Measure, MeasureLike
from rankwise.row_order import row_hashes
from rankwise.runtime.threads import thread_imap
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Matrix

DEFAULT_FOLDS = 5
_SEED = 0  # folds are part of the method: the same for every random_state


def deal_queries(groups: QueryGroups, n_folds: int, seed: int = _SEED) -> list[Int64Array]:
    """Query numbers of each fold; queries are sorted by id, shuffled and dealt out."""
    order = np.random.RandomState(seed).permutation(_sort_by_id(groups.ids))
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


def content_folds(X: Matrix, y: Float64Array, n_folds: int, seed: int = _SEED) -> list[Int64Array]:
    """Row numbers of each fold, equal rows share a fold, so weights equal repetition.

    Rows are sorted by a hash of their content, shuffled with the seed and dealt out. There must be
    at least as many distinct rows as folds.
    """
    distinct, codes = np.unique(row_hashes(X, y), return_inverse=True)
    if len(distinct) < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least as many distinct rows, got {len(distinct)} of "
            f"n_samples={len(y)}. Lower cv."
        )
    fold = np.argsort(np.random.RandomState(seed).permutation(len(distinct))) % n_folds
    return [np.flatnonzero(fold[codes] == number) for number in range(n_folds)]


def fold_splits(
    X: Matrix, y: Float64Array, groups: QueryGroups, n_folds: int
) -> list[tuple[Int64Array, Int64Array]]:
    """(train rows, test rows) of folds of queries, or of rows if queries are fewer than folds."""
    if groups.n_queries < n_folds:
        folds = content_folds(X, y, n_folds)
    else:
        folds = [groups.rows(fold) for fold in deal_queries(groups, n_folds)]
    every = np.arange(len(y))
    return [(np.setdiff1d(every, fold), np.sort(fold)) for fold in folds]


def split_stratified(
    X: Matrix, y: Float64Array, groups: QueryGroups, n_folds: int, seed: int = _SEED
) -> list[tuple[Int64Array, Int64Array]]:
    """(train rows, test rows) of folds with about the same share of every class.

    With two or more queries, queries stay whole. Otherwise rows are dealt out individually,
    including equal rows. Queries or rows are sorted by their (mean) class, in random order within
    ties. If there are fewer queries or rows than folds, the number of folds is reduced.
    """
    if len(y) < 2:
        raise ValueError(f"folds need two or more rows, got n_samples={len(y)}.")
    if groups.n_queries > 1:
        key = np.argsort(_sort_by_id(groups.ids))[groups.codes()]
        unit = np.unique(key, return_inverse=True)[1]
        level = np.bincount(unit, y) / np.bincount(unit)
    else:
        # Equal rows may change places.
        unit = np.argsort(np.argsort(row_hashes(X, y), kind="stable"))
        level = np.empty(len(y))
        level[unit] = y
    shuffled = np.random.RandomState(seed).permutation(len(level))
    dealt = shuffled[np.argsort(level[shuffled], kind="stable")]
    fold = np.empty(len(level), dtype=np.int64)
    fold[dealt] = np.arange(len(level)) % n_folds
    of_row = fold[unit]
    return [
        (np.flatnonzero(of_row != number), np.flatnonzero(of_row == number))
        for number in range(min(n_folds, len(level)))
    ]


def cv_splits(cv: Any, data: FitData) -> list[tuple[Int64Array, Int64Array]]:
    """(train rows, test rows) of a number of folds (None: 5), see :func:`fold_splits`, or of a
    splitter or index pairs, see :func:`row_splits`.
    """
    if cv is None or isinstance(cv, Integral):
        return fold_splits(data.X, data.y, data.groups, int(cv or DEFAULT_FOLDS))
    return row_splits(cv, data)


def row_splits(cv: Any, data: FitData) -> list[tuple[Int64Array, Int64Array]]:
    """(train rows, test rows) of a scikit-learn splitter or an iterable of index pairs.

    A splitter gets the queries as ``groups``. Indices of an iterable refer to the rows passed to
    ``fit``; rows of zero weight are left out.
    """
    if hasattr(cv, "split"):
        splits = list(cv.split(data.X, data.y, groups=data.groups.codes()))
        n_rows, kept = len(data.y), None
    else:
        splits, kept = list(cv), data.kept
        n_rows = len(data.y) if kept is None else len(kept)
    checked = [tuple(_row_numbers(rows, n_rows) for rows in split) for split in splits]
    if not checked or not all(len(s) == 2 and len(s[0]) and len(s[1]) for s in checked):
        raise ValueError(f"cv={cv!r} must give splits with training rows and test rows.")
    if kept is None:
        return [(train, test) for train, test in checked]
    position = np.cumsum(kept) - 1
    return [(position[train[kept[train]]], position[test[kept[test]]]) for train, test in checked]


def _row_numbers(rows: ArrayLike, n_rows: int) -> Int64Array:
    """Row numbers of one side of a split, which may be given as a mask."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise ValueError(
            f"splits of cv must hold row numbers, got dtype {given.dtype} and shape {given.shape}. "
            "Pass pairs (train rows, test rows) of integers."
        )
    beyond = (given < 0) | (given >= n_rows)
    if beyond.any():
        raise ValueError(
            f"splits of cv must hold row numbers from 0 to {n_rows - 1}, got {given[beyond][0]}. "
            "Make the splits on the rows that fit receives."
        )
    return given.astype(np.int64, copy=False)


def _sort_by_id(ids: np.ndarray[Any, Any]) -> Int64Array:
    if ids.dtype != object:
        return np.argsort(ids, kind="stable").astype(np.int64)
    keys = [(type(value).__name__, repr(value)) for value in ids]
    return np.array(sorted(range(len(ids)), key=keys.__getitem__), dtype=np.int64)


def measure_per_query(
    measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
) -> Float64Array:
    """Values per query for every column of scores, shape (n_queries, n_columns)."""
    columns = np.ascontiguousarray(scores.T)
    return np.stack([measure.per_query(y, column, groups) for column in columns], axis=1)


def mean_measure(
    measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
) -> Float64Array:
    """Mean of the measure over the queries for every column of scores, shape (n_columns,)."""
    return mean_defined(measure_per_query(measure, y, scores, groups))


class RunningMean:
    """Running mean of each column over the values that are not NaN; NaN if there are none.

    Parts are summed in order, so the same parts give a bit-identical mean.
    """

    def __init__(self) -> None:
        self.sums: Float64Array | float = 0.0
        self.counts: Float64Array | int = 0

    def add(self, values: Float64Array) -> None:
        """Add a part of shape (n_values, n_columns)."""
        defined = ~np.isnan(values)
        self.sums = self.sums + np.where(defined, values, 0.0).sum(axis=0)
        self.counts = self.counts + defined.sum(axis=0)

    def __add__(self, other: RunningMean) -> RunningMean:
        both = RunningMean()
        both.sums, both.counts = self.sums + other.sums, self.counts + other.counts
        return both

    def value(self) -> Float64Array:
        """The mean so far, shape (n_columns,)."""
        counts = np.asarray(self.counts)
        return np.where(counts > 0, self.sums / np.maximum(counts, 1), np.nan)


def mean_defined(values: Float64Array) -> Float64Array:
    """Mean of each column over the values that are not NaN; NaN if there are none."""
    mean = RunningMean()
    mean.add(values)
    return mean.value()


Scale = Literal["C", "alpha", "lam"]


@dataclass(frozen=True, eq=False)
class Penalties:
    """A grid of penalties, (n_values,), in the scale of their parameter."""

    values: Float64Array
    scale: Scale

    def __len__(self) -> int:
        return len(self.values)

    def C(self, pairs: float, factor: float = 1.0) -> Float64Array:
        """Multipliers of the sum over pairs, shape (n_values,).

        ``pairs`` is ``S``, the weight of all ordered pairs of the training rows. ``factor``
        multiplies ``lam`` first (m for coefficient regularisation).
        """
        if self.scale == "C":
            return self.values
        if self.scale == "alpha":
            return inverse(self.values)
        return 2.0 / (max(pairs, 1.0) * factor) * inverse(self.values)


def inverse(a: Float64Array) -> Float64Array:
    """``1/a``, with ``1/0 = inf`` and ``1/inf = 0``."""
    a = np.asarray(a, dtype=np.float64)
    return np.divide(1.0, a, out=np.full(a.shape, np.inf), where=a > 0)


Fit = TypeVar("Fit")
FitOut = TypeVar("FitOut", covariant=True)
Way = Literal["fixed", "cv", "val", "loqo", "lpo"]
WAYS = ("cv", "loqo", "lpo", "val")  # words that search a parameter


class SolutionPath(Protocol[FitOut]):
    """Solutions for every value of a grid, with methods to measure held-out rows.

    Every method returns the solutions on all training rows. Measuring methods also return an array
    (n_parts, n_values) with the mean measure on each held-out part; NaN if no query of the part
    counts. A path implements the ways named by its estimator's :class:`Penalty`: "loqo" needs a
    method ``leave_query_out(measure)``, and "lpo" ``leave_pair_out()``.
    """

    def solve(self) -> FitOut: ...

    def validate(self, measure: Measure, rows: FitData) -> tuple[FitOut, Float64Array]: ...

    def cross_validate(self, measure: Measure, cv: Any) -> tuple[FitOut, Float64Array]: ...


@dataclass(frozen=True, eq=False)
class Penalty:
    """Values that a penalty parameter may take.

    A larger "C" fits the training rows more closely; a larger "alpha" or "lam" less closely.
    """

    name: str  # of the parameter; the chosen value is the attribute `{name}_`
    scale: Scale  # which term a value multiplies, see Penalties
    default: Float64Array  # grid used by the named ways
    ways: tuple[str, ...] = ("cv", "val")  # named ways that the estimator's paths offer
    smallest: float = 1e-300  # penalties beyond these overflow when they are inverted
    largest: float = 1e300
    # Whether the limit without a penalty (infinity for "C", 0 for "alpha") is allowed
    unpenalised: bool = False

    @property
    def is_rising(self) -> bool:
        """Whether a larger value fits the training rows more closely."""
        return self.scale == "C"

    @property
    def constraint(self) -> list[Any]:
        """Constraint for scikit-learn's parameter validation."""
        closed = self.unpenalised and ("right" if self.is_rising else "left")
        high = np.inf if closed == "right" else None
        number = Interval(Real, 0, high, closed=closed or "neither")
        return [number, "array-like", StrOptions(set(self.ways))]

    def grid(self, value: Any) -> Penalties:
        """The values that ``value`` stands for, the weakest model first."""
        if isinstance(value, str):
            return Penalties(self.default, self.scale)
        try:
            grid = np.atleast_1d(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError):  # strings, or lists of unequal lengths
            grid = np.zeros(0)
        limit, named = (np.inf, "infinity") if self.is_rising else (0.0, "0")
        usable = (grid >= self.smallest) & (grid <= self.largest)
        usable |= self.unpenalised & (grid == limit)
        if grid.ndim != 1 or not grid.size or not usable.all():
            limits = f"{self.smallest:g} to {self.largest:g}"
            limits += f" (or {named})" if self.unpenalised else ""
            raise ValueError(
                f"{self.name} must be a number or a list of numbers from {limits}, or one of "
                f"{', '.join(self.ways)}; got {value!r}."
            )
        ordered = np.sort(grid)
        return Penalties(ordered if self.is_rising else ordered[::-1], self.scale)


def is_searched(value: Any) -> bool:
    """Whether a parameter's value stands for several: a list or a name."""
    return isinstance(value, str) or np.ndim(value) > 0


def search_way(
    values: Mapping[str, Any], *, has_validation: bool, beside: Sequence[Any] = ()
) -> Way:
    """Way in which jointly searched parameters are chosen; "fixed" if all are numbers.

    ``values`` maps names to numbers, lists or named ways. ``beside`` are further parameters (a
    kernel width, the only one with names); their lists and names are searched too. Two parameters
    may not name different ways.
    """
    named = [*values.items(), *(("gamma", value) for value in beside)]
    ways = {name: value for name, value in named if isinstance(value, str)}
    if len(set(ways.values())) > 1:
        given = " and ".join(f"{name}={value!r}" for name, value in ways.items())
        raise ValueError(
            f"{' and '.join(ways)} must be searched in one way, got {given}. "
            'Use "cv" or "val" for both, or numbers and lists.'
        )
    for name, value in ways.items():
        if value == "val" and not has_validation:
            raise ValueError(
                f'{name}="val" needs validation data, got X_val=None. Pass X_val, y_val and '
                f'qid_val to fit, or use {name}="cv".'
            )
        return cast("Way", value)
    if any(map(is_searched, (*values.values(), *beside))):
        return "val" if has_validation else "cv"
    return "fixed"


@dataclass(frozen=True, eq=False)
class Choice(Generic[Fit]):
    """The best solution of a search."""

    fit: Fit  # the path's solutions of the best path for every value
    index: int  # place of the best value in the grid
    value: float  # the best value
    # `cv_results_`: one entry per value and path; None where nothing was searched
    results: dict[str, Float64Array] | None


@dataclass(frozen=True, eq=False)
class PenaltySearch:
    """How one fit chooses its penalty; made by :meth:`of`."""

    penalty: Penalty
    way: Way
    penalties: Penalties  # the grid, the weakest model first
    measure: Measure  # the best value maximises (or minimises) it
    measure_name: str = ""  # as the user passed it
    cv: Any = None  # an int, a splitter or an iterable of (train rows, test rows)
    validation: FitData | None = None

    @classmethod
    def of(
        cls,
        penalty: Penalty,
        value: Any,
        *,
        measure: MeasureLike,
        cv: Any,
        has_validation: bool = False,
        beside: Sequence[Any] = (),
    ) -> PenaltySearch:
        """The search that the value of the parameter asks for, without validation rows."""
        parsed = parse(measure)
        penalties = penalty.grid(value)
        way = search_way({penalty.name: value}, has_validation=has_validation, beside=beside)
        if way not in ("fixed", *penalty.ways):
            raise ValueError(
                f"gamma must be a number, a list of numbers, None, or one of scale, auto, "
                f"{', '.join(penalty.ways)}; got {way!r}."
            )
        parsed = parse("Misranking") if way == "lpo" else parsed
        name = measure if isinstance(measure, str) else str(parsed)
        return cls(penalty, way, penalties, parsed, name, cv)

    def check_measure(self, y: Float64Array, groups: QueryGroups, *, are_classes: bool) -> None:
        """Raise before fitting if the measure does not accept the targets.

        ``are_classes``: whether the targets are numbers of classes.
        """
        if self.way in ("fixed", "lpo"):
            return
        if self.way == "val" and self.validation is not None:
            y, groups = self.validation.y, self.validation.groups
        if are_classes and not self.measure.reads_labels:
            y = np.maximum(y, 0.0)  # a class below all classes of the training rows has no gain
        try:
            self.measure.per_query(y, np.zeros(len(y)), groups)
        except ValueError as error:
            raise ValueError(
                f"measure={self.measure_name!r}, which chooses {self.penalty.name}, does not "
                f'accept these targets: {error} Use measure="MSD" or measure="Misranking", say.'
            ) from None
        refuse_constant(self.measure, y, self.penalty.name, len(groups.sizes))

    def choose(
        self, tried: Iterable[tuple[Mapping[str, Any], Fit, Float64Array | None]]
    ) -> Choice[Fit]:
        """The best value of the best solutions; ties go to the first.

        ``tried`` holds parameters, solutions for every value, and measures of held-out rows. The
        parameters (a kernel width) distinguish jointly searched solutions and become columns of the
        results.
        """
        best: tuple[float, Fit, int] | None = None
        searched: list[Mapping[str, Any]] = []
        parts: list[Float64Array] = []
        for parameters, fit, scores in tried:
            index, reached = (0, 0.0) if scores is None else self._best(scores)
            if scores is not None:
                searched.append(parameters)
                parts.append(scores)
            if best is None or reached > best[0]:
                best = reached, fit, index
        assert best is not None, "a search needs solutions"
        _, fit, index = best
        results: dict[str, Float64Array] | None = None
        if parts:
            results = {
                self.penalty.name: np.tile(self.penalties.values, len(parts)),
                "fold_test_scores": np.concatenate(parts, axis=1),
                "mean_test_score": np.concatenate([mean_defined(part) for part in parts]),
            }
            for name in searched[0]:
                values = np.array([parameters[name] for parameters in searched])
                results[name] = np.repeat(values, len(self.penalties))
        return Choice(fit, index, float(self.penalties.values[index]), results)

    def solve(self, path: SolutionPath[Fit]) -> tuple[Fit, Float64Array | None]:
        """Solutions of a path and its measures of held-out rows, by the method of the way."""
        if self.way == "fixed":
            return path.solve(), None
        if self.way == "val" and self.validation is not None:
            return path.validate(self.measure, self.validation)
        if self.way == "cv":
            return path.cross_validate(self.measure, self.cv)
        exact: Any = path
        if self.way == "loqo":
            return exact.leave_query_out(self.measure)
        return exact.leave_pair_out()

    def _best(self, scores: Float64Array) -> tuple[int, float]:
        """Index of the best value and its score (larger is better)."""
        means = mean_defined(scores)
        signed = means if self.measure.greater_is_better else -means
        if np.isnan(signed).all():
            raise ValueError(
                f"measure={str(self.measure)!r} is defined for no held-out query, so it cannot "
                "choose. Use another measure, or give a number."
            )
        best = int(np.nanargmax(signed))
        return best, float(signed[best])


# Up to this number of rows, threads cost more time than they save.
FEW_ROWS = 500


class RefitPath(Generic[Fit]):
    """Base of paths of iterative solvers.

    A subclass defines ``_solve`` and ``_scores``, and overrides the others where the solutions have
    more than scores, or where scores of training rows need no new kernel values.
    """

    rows: FitData

    def solve(self) -> Fit:
        """Solutions for every penalty, from all rows."""
        return self._solve(np.arange(len(self.rows.y)))

    def validate(self, measure: Measure, rows: FitData) -> tuple[Fit, Float64Array]:
        """Solutions on all rows, measured on validation rows."""
        fit = self.solve()
        scores = self._scores(fit, rows.X)
        return fit, self._measure(fit, measure, rows.y, scores, rows.groups)[None]

    def cross_validate(self, measure: Measure, cv: Any) -> tuple[Fit, Float64Array]:
        """Solutions on all rows, measured by cross-validation; each split is refitted."""
        fit, rows = self.solve(), self.rows

        def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
            train, test = split
            part = self._solve(train)
            scores = self._training_scores(part, test)
            return self._measure(part, measure, rows.y[test], scores, rows.groups.take(test))

        n_threads = None if self._on_threads and len(rows.y) > FEW_ROWS else 1
        return fit, np.stack(list(thread_imap(held_out, cv_splits(cv, rows), n_threads)))

    @property
    def _on_threads(self) -> bool:
        """Whether splits may be solved in parallel."""
        return True

    def _solve(self, rows: Int64Array) -> Fit:
        """Solutions for every penalty, from some of the rows."""
        raise NotImplementedError(f"{type(self).__name__} must define _solve.")

    def _scores(self, fit: Fit, X: Matrix) -> Float64Array:
        """Scores of new rows under every solution, shape (n_rows, n_values)."""
        raise NotImplementedError(f"{type(self).__name__} must define _scores.")

    def _training_scores(self, fit: Fit, rows: Int64Array) -> Float64Array:
        """Scores of some of the training rows."""
        return self._scores(fit, self.rows.X[rows])

    def _measure(
        self, fit: Fit, measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
    ) -> Float64Array:
        """Mean of the measure for every solution, shape (n_values,)."""
        return mean_measure(measure, y, scores, groups)
