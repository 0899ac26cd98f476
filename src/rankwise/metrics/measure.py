"""Base classes of measures: frozen dataclasses whose fields are their conventions.

A measure maps labels and scores to one value per query; the values are then averaged. Its string
form names every choice that affects the value and parses back to an equal measure:
``str(parse("nDCG@10")) == "nDCG(gain='exp2',discount='log2',empty='skip',ties='mean',
short='pad')@10"``.

To add a measure: subclass :class:`Measure` as ``@dataclass(frozen=True)``, set ``name``, declare
the parameters as fields with defaults (a field called ``cutoff`` is written ``@k``), check them in
``__post_init__``, define :meth:`Measure.from_groups`, and add a line to ``_table.py``. Users pass
their own measures, and plain functions of one query (:class:`FunctionMeasure`), instead of spec
strings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics._table import LABEL_MEASURES, MEASURES
from rankwise.typing import Float64Array

if TYPE_CHECKING:  # specs and presets are read without scikit-learn
    from rankwise.groups import QueryGroups
    from rankwise.metrics.scored import ScoredGroups
    from rankwise.prediction import Predictions

Gain: TypeAlias = str | tuple[float, ...]
Empty: TypeAlias = int | str

GAINS = ("exp2", "linear")
DISCOUNTS = ("log2", "letor")
EMPTY = (0, 1, "skip", "nan")
# "mean" is the expected value: tied rows stand in every order equally often.
TIES = ("mean", "stable", "docid", "worst", "best")
_DEEPEST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Measure:
    """Base class of all measures."""

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    # Lowest and highest possible value per query, which cut intervals of means.
    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    # Whether rows without a score can rank below all others.
    reads_from_top: ClassVar[bool] = False
    # Whether the scores are read as predicted labels rather than ranked.
    reads_labels: ClassVar[bool] = False
    # Whether the value of a query is a mean over its rows.
    averages_rows: ClassVar[bool] = False

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query of a block of whole queries; NaN if the query does not count.

        Parameters
        ----------
        scored : ScoredGroups
            ``y`` and ``scores`` (float64, finite, C-contiguous, in group order) and ``indptr``
            (int64, starting at 0), as kernels expect them. Blocks run on several threads.

        Returns
        -------
        ndarray of shape (len(scored.indptr) - 1,), float64
        """
        raise NotImplementedError(f"{type(self).__name__} must define from_groups.")

    @property
    def nanoseconds_per_row(self) -> float:
        """Approximate time per row; little work is left to one thread."""
        return 30.0

    @property
    def reads_grades(self) -> bool:
        """Whether labels are grades from 0, and rows of grade 0 have no gain."""
        return self.reads_from_top

    @property
    def reads_judgements(self) -> bool:
        """Whether rows without a judgement count otherwise than rows that are not relevant."""
        return False

    @property
    def reads_sizes(self) -> bool:
        """Whether rows without gain count even if they were not retrieved."""
        return False

    def prepare(self, scored: ScoredGroups) -> None:
        """Announce shared work (the depth of a ranking) before any measure is computed."""

    def per_query(self, y: NDArray[Any], scores: NDArray[Any], groups: QueryGroups) -> Float64Array:
        """Value of every query, in the order of ``groups.ids``; NaN if it does not count.

        Parameters
        ----------
        y, scores : ndarray of shape (n_samples,)
            Labels and scores in input order; a higher score ranks higher.
        groups : QueryGroups

        Raises
        ------
        ValueError
            If y or scores hold NaN or infinity, or the measure does not apply to y.
        """
        from rankwise.metrics.scored import compute  # loads numba

        return compute([self], y, scores, groups)[0]

    def read(self, predicted: Predictions) -> Float64Array:
        """Predicted labels if the measure reads labels and there are any; else the scores."""
        if self.reads_labels and predicted.labels is not None:
            return predicted.labels
        return predicted.scores

    def mean(self, y: NDArray[Any], scores: NDArray[Any], groups: QueryGroups) -> float:
        """Mean over the queries that count; NaN if none does."""
        return self.aggregate(self.per_query(y, scores, groups))

    def aggregate(self, values: Float64Array) -> float:
        """Aggregate the values per query: the mean of those that are not NaN."""
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if counted.size else math.nan

    def _check_structure(self) -> None:
        """Check the parameters of a measure in a model file, as the constructor does."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        try:
            is_whole = vars(type(self)(**values)) == vars(self)
        except TypeError as error:
            raise ValueError(str(error)) from error
        if not is_whole:
            raise ValueError(f"a {self.name} must hold its parameters only, got {vars(self)}")

    def __str__(self) -> str:
        params = []
        for each in fields(self):
            value = getattr(self, each.name)
            # Options that came later are left out while off: names of stored results stay valid.
            is_off = each.metadata.get("only_if_set") and value == each.default
            if each.name != "cutoff" and not is_off:
                params.append(f"{each.name}={_literal(value)}")
        cutoff = getattr(self, "cutoff", None)
        return (
            self.name
            + (f"({','.join(params)})" if params else "")
            + ("" if cutoff is None else f"@{cutoff}")
        )


@dataclass(frozen=True)
class Reversed(Measure):
    """A loss turned so that larger is better: ``-MAE``, or ``1 - Misranking``."""

    name: ClassVar[str] = "Reversed"
    loss: Measure  # measure of whole rankings or predicted labels of which smaller is better
    start: int = 0  # 0 or 1, from which the loss is subtracted

    def __post_init__(self) -> None:
        if self.loss.greater_is_better or self.loss.reads_from_top:
            raise ValueError(
                f"{self} must negate a loss, such as MAE, MSD or Misranking. Write {self.loss}."
            )
        low, high = self.loss.bounds
        ends = (self.start - high, self.start - low)
        for name, value in (
            ("bounds", ends),
            ("reads_labels", self.loss.reads_labels),
            ("averages_rows", self.loss.averages_rows),
        ):
            object.__setattr__(self, name, value)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        return self.start - self.loss.from_groups(scored)

    @property
    def nanoseconds_per_row(self) -> float:
        return self.loss.nanoseconds_per_row

    def prepare(self, scored: ScoredGroups) -> None:
        """Announce the work that the loss shares with other measures."""
        self.loss.prepare(scored)

    def aggregate(self, values: Float64Array) -> float:
        return self.start - self.loss.aggregate(self.start - values)

    def __str__(self) -> str:
        return f"{'1 - ' if self.start else '-'}{self.loss}"


@dataclass(frozen=True)
class FunctionMeasure(Measure):
    """Function ``f(y, scores) -> float`` of the labels and scores of one query; larger is better.

    The name is that of the function. NaN means that the query does not count. Documents that a run
    did not retrieve have the score -inf.
    """

    name: ClassVar[str] = "function"
    reads_from_top: ClassVar[bool] = True

    function: Callable[[NDArray[Any], NDArray[Any]], float]

    def __post_init__(self) -> None:
        function = self.function
        while isinstance(function, partial):
            function = function.func
        object.__setattr__(self, "name", getattr(function, "__name__", type(function).__name__))

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        values = np.empty(scored.n_queries)
        for query, (start, end) in enumerate(pairwise(scored.indptr.tolist())):
            # Copies, since a function may sort its arguments in place.
            value: Any = self.function(scored.y[start:end].copy(), scored.scores[start:end].copy())
            try:
                is_text = isinstance(value, str | bytes)
                values[query] = math.inf if is_text or np.ndim(value) else float(value)
            except (TypeError, ValueError):
                values[query] = math.inf
            if np.isinf(values[query]):
                raise ValueError(
                    f"{self.name}(y, scores) must return a finite number, or NaN if the query does "
                    f"not count, got {value!r:.80}."
                )
        return values

    @property
    def nanoseconds_per_row(self) -> float:
        return 0.0  # one thread, as the user's code may not be made for several

    @property
    def reads_grades(self) -> bool:
        return False

    @property
    def reads_sizes(self) -> bool:
        return True  # as far as is known

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class StoredMeasure(Measure):
    """A measure of the user's own in stored results, which know its name and direction only."""

    name: ClassVar[str] = "stored"

    spec: str
    larger: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.spec.partition("(")[0])
        object.__setattr__(self, "greater_is_better", self.larger)

    def __str__(self) -> str:
        return self.spec


MeasureLike: TypeAlias = str | Measure | Callable[[NDArray[Any], NDArray[Any]], float]
# Kinds of the parameter ``measure`` of estimators.
MEASURE_KINDS: list[Any] = [str, Measure, callable]


def is_own(measure: Measure) -> bool:
    """Whether a measure is the user's own, so that no spec string stands for it."""
    if isinstance(measure, Reversed):
        return is_own(measure.loss)
    path = f"{type(measure).__module__}:{type(measure).__qualname__}"
    return path not in (*MEASURES.values(), *LABEL_MEASURES.values())


def parameter_of(measure: Measure) -> MeasureLike:
    """Value of the parameter ``measure`` of an estimator: a spec string, if one stands for it."""
    if isinstance(measure, FunctionMeasure):
        return measure.function
    return measure if is_own(measure) else str(measure)


def _literal(value: Any) -> str:
    """Python literal without spaces."""
    if isinstance(value, tuple):
        inner = ",".join(_literal(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value.item() if isinstance(value, np.generic) else value)


class QueryMeasure(Measure):
    """Base class of measures that are undefined for some queries.

    Subclasses declare the field ``empty``, which is only annotated here. Thus each class prints
    its parameters in its own order.
    """

    empty: Empty  # 0, 1, "skip" or "nan": value of a query for which the measure is undefined

    def __post_init__(self) -> None:
        check_choice(self.name, "empty", self.empty, EMPTY)

    def aggregate(self, values: Float64Array) -> float:
        """Mean of the values that count; NaN with ``empty="nan"`` if a query has no value."""
        if self.empty == "nan" and np.isnan(values).any():
            return math.nan
        return super().aggregate(values)

    def fill_empty(self, values: Float64Array, gain: NDArray[Any]) -> Float64Array:
        """Fill in the convention's value for queries without possible gain (0 or False)."""
        return np.where(gain > 0, values, value_of_empty(self.empty))


def make_judged_only_field() -> Any:
    """Field ``judged_only`` of a measure, which is printed only if it is set.

    It says whether to leave rows without a judgement out of the ranking (condensed list, Sakai
    2007).
    """
    return field(default=False, kw_only=True, metadata={"only_if_set": True})


class TopMeasure(QueryMeasure):
    """Base class of measures that read a ranking from its top.

    Subclasses declare the fields ``empty``, ``ties`` and ``cutoff``. Those that can leave unjudged
    rows out declare ``judged_only`` with :func:`make_judged_only_field`.
    """

    reads_from_top: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    tie_rules: ClassVar[tuple[str, ...]] = TIES

    ties: str  # order of rows with equal scores, one of ``tie_rules``
    cutoff: int | None  # number of ranks that count, >= 1; None: all
    judged_only: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.name, "ties", self.ties, self.tie_rules)
        check_cutoff(self.name, self.cutoff)
        if not isinstance(self.judged_only, bool):
            raise ValueError(
                f"{self.name}: judged_only must be True or False, got {self.judged_only!r}."
            )

    @property
    def depth(self) -> int:
        """Cut-off in the form of the kernels: 0 for none, and no more than they can hold."""
        return min(self.cutoff or 0, _DEEPEST)

    @property
    def nanoseconds_per_row(self) -> float:
        few = self.cutoff is not None and self.cutoff <= 20 and self.ties in ("mean", "stable")
        return 4.0 if few else 16.0

    @property
    def reads_judgements(self) -> bool:
        return self.judged_only

    def prepare(self, scored: ScoredGroups) -> None:
        if self.judged_only:
            self.read_judged(scored)
        if self.ties in TIES:
            scored.need(self.ties, self.cutoff)
        else:
            scored.need("stable", None)

    def read_judged(self, scored: ScoredGroups) -> NDArray[np.bool_]:
        """Mask of the judged rows; ValueError if the rows do not say which are judged."""
        if scored.judged is None:
            name = f"{self.name}(judged_only=True)" if self.judged_only else self.name
            raise ValueError(
                f"{name} depends on which rows are judged, but the rows do not say which are "
                "judged. Evaluate a run with its judgements, or pass judged, one truth value per "
                "row."
            )
        return scored.judged


class BinaryMeasure(TopMeasure):
    """Base class of measures that only distinguish grades of at least ``rel`` from others."""

    rel: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "rel", self.rel, -math.inf, math.inf, open_ends=True)

    def sums(self, scored: ScoredGroups) -> Float64Array:
        """Result of ``ScoredGroups.relevance`` for the parameters of this measure."""
        return scored.relevance(self.ties, self.rel, self.depth)


def check_choice(measure: str, name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise ValueError unless ``value`` is one of the choices."""
    if value not in choices or isinstance(value, bool):
        raise ValueError(f"{measure}: {name} must be one of {list(choices)}, got {value!r}.")


def check_cutoff(measure: str, cutoff: Any) -> None:
    """Raise ValueError unless the cut-off is None or an integer >= 1."""
    if cutoff is not None and not (isinstance(cutoff, int | np.integer) and cutoff >= 1):
        raise ValueError(
            f"{measure}: the cut-off must be an integer >= 1, got {cutoff!r}. "
            "Leave '@k' out for the whole ranking."
        )


def check_number(
    measure: str, name: str, value: Any, low: float, high: float, *, open_ends: bool = False
) -> None:
    """Raise ValueError unless ``value`` is a number from ``low`` to ``high``."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    inside = number and (low < value < high if open_ends else low <= value <= high)
    if not inside:
        between = f"between {low} and {high}" if open_ends else f"from {low} to {high}"
        raise ValueError(f"{measure}: {name} must be a number {between}, got {value!r}.")


def check_gain(measure: str, gain: Any) -> None:
    """Raise ValueError unless ``gain`` is a name or a table of non-decreasing gains >= 0."""
    if not isinstance(gain, tuple):
        check_choice(measure, "gain", gain, GAINS)
        return
    try:
        table = np.asarray(gain, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.full(1, np.nan)
    if table.ndim != 1 or not table.size or not (np.diff(table, prepend=0.0) >= 0).all():
        raise ValueError(
            f"{measure}: gain must be 'exp2', 'linear' or a tuple of non-decreasing numbers >= 0, "
            f"the gains of grades 0, 1, ..., got {gain!r}."
        )


def value_of_empty(empty: Empty) -> float:
    """Value of a query without possible gain; NaN if the query does not count."""
    return np.nan if isinstance(empty, str) else float(empty)
