"""The fit of rankers with a squared loss: feature map x squared loss x least-squares path.

A ranker says in ``_closed_form`` what it is made of. :func:`fit_closed_form` fits it on rows in
memory or on a stream; the mixin :class:`PartialFit` fits it batch by batch.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from rankwise.checks.column_ranges import target_power
from rankwise.checks.dominant_columns import ColumnLimit
from rankwise.checks.row_hash import LeastRows
from rankwise.checks.rows import FitData, check_fit, check_validation
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import publish
from rankwise.rankers.streamed import check_rereadable, read_head, stream_path
from rankwise.runtime.finite import FiniteResults
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.least_squares.design import Design, LinearDesign, NodeDesign
from rankwise.solvers.least_squares.gram import Gram
from rankwise.solvers.least_squares.kernel_design import AnyDesign
from rankwise.solvers.least_squares.path_selection import (
    LeastSquaresPath,
    PathFit,
    fit_from_grams,
)
from rankwise.solvers.least_squares.streaming import RunningGram
from rankwise.streams.checked_stream import StreamData
from rankwise.streams.row_stream import RowStream
from rankwise.structure.rules import Many, Part, Rule, Sometimes
from rankwise.tuning.penalty import Penalties, inverse
from rankwise.tuning.penalty_search import Path, Penalty, PenaltySearch, search_way
from rankwise.typing import ArrayLike, FrameLike

# Zong & Huang's grid: 2^-30, 2^-28, ..., 2^20.
DEFAULT_GRID = 2.0 ** np.arange(-30, 21, 2)
# Penalties against a mean over pairs: 10^2, 10^1.5, ..., 10^-8.
MEAN_GRID = 10.0 ** np.arange(2, -8.5, -0.5)
WAYS = ("cv", "loqo", "lpo", "val")
# What the penalties of a squared loss may be.
C_OF_SUM = Penalty("C", "C", DEFAULT_GRID, WAYS, unpenalised=True)
ALPHA = Penalty("alpha", "alpha", inverse(DEFAULT_GRID), WAYS, unpenalised=True)
LAM = Penalty("lam", "lam", MEAN_GRID, WAYS, unpenalised=True)
C_OF_MEAN = Penalty("C", "mean", inverse(MEAN_GRID), WAYS, unpenalised=True)
SELECTION_CONSTRAINTS: dict[str, list[Any]] = {
    "measure": [str],
    "cv": ["cv_object"],
}


class Features(Protocol):
    """A feature map before the rows are known."""

    @property
    def searched(self) -> Sequence[Any]:
        """Parameters beside the penalty, of which lists and names are searched."""
        ...

    @property
    def adds_batches(self) -> bool:
        """Whether a model does not grow with the rows and needs to see no row twice."""
        ...

    @property
    def column_limit(self) -> ColumnLimit | None:
        """Limit of columns that dominate the others."""
        ...

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], AnyDesign]]:
        """Designs to choose from, each with the searched parameters that tell it apart."""
        ...

    def check_stream(self, name: str, rows: RowStream) -> None:
        """Raise where the ranker of this name cannot be fitted on the stream."""
        ...

    def sample(self, rows: FitData) -> FitData:
        """The first rows of a stream, with X as the designs need it."""
        ...

    def sample_draws(self) -> tuple[LeastRows, ...]:
        """Draws from all rows that the designs need; empty if the first rows will do."""
        ...


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """What a ranker is made of.

    Attributes
    ----------
    features : Features
    loss : SquaredLoss
    path : callable
        From rows, a design of these features, the loss and penalties to the path that solves them.
    """

    features: Features
    loss: SquaredLoss
    path: Callable[[FitData, Any, SquaredLoss, Penalties], Path[PathFit]] = LeastSquaresPath


def fit_closed_form(
    ranker: Any,
    form: ClosedForm,
    X: FrameLike | RowStream,
    y: ArrayLike | None,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    validation: tuple[FrameLike | None, ArrayLike | None, ArrayLike | None] = (None, None, None),
) -> PathFit:
    """Fit the path, choose from it, and set the fitted attributes.

    Held-out queries are measured without weights, whatever ``sample_weight`` the rows have.
    """
    ranker._validate_params()
    for state in ("_running", "_stream_design", "cv_results_"):
        vars(ranker).pop(state, None)
    limit = form.features.column_limit
    if isinstance(X, RowStream):
        check_stream(ranker, form, X, has_validation=validation[0] is not None)
        rows = form.features.sample(read_head(ranker, X, y, qid, sample_weight, limit))
    else:
        pairs = form.loss.graph != "pointwise"
        rows = check_fit(ranker, X, y, qid, sample_weight, pairs=pairs, column_limit=limit)
    path = partial(stream_path, form.path) if isinstance(rows, StreamData) else form.path
    held_out = check_validation(ranker, rows, *validation)
    ranker._set_score_name(rows.y)
    search = search_of(ranker, form, held_out)
    search.check_measure(rows)
    power = target_power(rows.y) if search.way == "fixed" else 0
    if power:  # the solution is linear in y
        rows = replace(rows, y=np.ldexp(rows.y, -power))
    with single_threaded_blas():
        choice = search.choose(
            (parameters, *search.solve(path(rows, design, form.loss, search.penalties)))
            for parameters, design in form.features.designs(rows)
        )
    if isinstance(rows, StreamData):
        ranker.score_name_ = rows.checked.score_name
    publish(ranker, search, choice, power)
    return choice.fit


def search_of(ranker: Any, form: ClosedForm, validation: FitData | None = None) -> PenaltySearch:
    """How the ranker's penalty is chosen."""
    return PenaltySearch.of(
        ranker._penalty,
        getattr(ranker, ranker._penalty.name),
        measure=ranker.measure,
        cv=ranker.cv,
        validation=validation,
        beside=form.features.searched,
    )


def leaves_out(ranker: Any) -> bool:
    """Whether the ranker's penalty is chosen by leaving rows out exactly."""
    value = getattr(ranker, ranker._penalty.name)
    return isinstance(value, str) and value in ("loqo", "lpo")


def check_stream(ranker: Any, form: ClosedForm, rows: RowStream, *, has_validation: bool) -> None:
    """Raise where the fit needs all rows in memory."""
    form.features.check_stream(type(ranker).__name__, rows)
    name = ranker._penalty.name
    value = getattr(ranker, name)
    ranker._penalty.grid(value)
    way = search_way({name: value}, has_validation=has_validation, beside=form.features.searched)
    if way in ("loqo", "lpo"):
        raise ValueError(f'{name}="{way}" needs all rows in memory, got a stream. Use {name}="cv".')
    if way == "cv" and not (ranker.cv is None or isinstance(ranker.cv, Integral)):
        raise ValueError(
            f"cv must be a number of folds for a stream, got {ranker.cv!r}: the rows of other "
            "splits are in no fixed place."
        )
    if way == "cv":
        check_rereadable(rows, name, value)


class PartialFit(FiniteResults):
    """Fits a closed form batch by batch: the statistics of the rows add up."""

    _structure: ClassVar[dict[str, Rule]] = {
        "_running": Sometimes(Many(Part((RunningGram,)))),
        "_stream_design": Sometimes(Part((LinearDesign, NodeDesign))),
    }

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {
        "qid": True,
        "sample_weight": True,
    }

    def partial_fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add a batch of rows; the model is that of one ``fit`` on all batches.

        Memory does not grow with the number of batches. A query may go on from the end of one
        batch to the start of the next; without qid all rows of all batches are one query.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``fit``.

        Raises
        ------
        ValueError
            When the penalty is not a number, when a query comes back after others, or when a query
            that may go on has too many grades with ``graph="distinct"`` (512 MB are kept, one
            matrix of the squared number of columns for each grade). The model is then
            as it was before the call.

        Warns
        -----
        UserWarning
            When the model comes from ``fit``, which keeps no statistics: a new one is started.
        """
        ranker: Any = self
        ranker._validate_params()
        form = ranker._closed_form()
        search = search_of(ranker, form)
        if search.way != "fixed":
            name = search.penalty.name
            raise ValueError(
                f"partial_fit needs a number for {name}, got {getattr(ranker, name)!r}. Choose it "
                "with fit on a sample first."
            )
        first = not hasattr(ranker, "_running")
        if first and hasattr(ranker, "n_features_in_"):
            warnings.warn(
                "partial_fit starts a new model: fit keeps no statistics to continue from. Pass "
                "all rows to partial_fit.",
                UserWarning,
                stacklevel=2,
            )
        before = dict(vars(ranker))
        try:
            limit = form.features.column_limit
            rows = check_fit(
                ranker, X, y, qid, sample_weight, reset=first, pairs=False, column_limit=limit
            )
            if first:
                ranker._set_score_name(rows.y)
                design = next(iter(form.features.designs(rows)))[1]
                running = [RunningGram(Gram.zeros(phi.n_features_out)) for phi in design.maps]
            else:
                design = ranker._stream_design
                running = copy.deepcopy(ranker._running)  # a batch that fails must change nothing
            fit = _fit_batch(running, design, form.loss, rows, search, has_qid=qid is not None)
            ranker._stream_design, ranker._running = design, running
            publish(ranker, search, search.choose([({}, fit, None)]))
        except BaseException:
            vars(ranker).clear()
            vars(ranker).update(before)
            raise
        return self


class PartialFitOfColumns(PartialFit):
    """The same for rankers whose kernel may keep rows: these have no ``partial_fit`` then."""

    def _adds_batches(self: Any) -> bool:
        if self._closed_form().features.adds_batches:
            return True
        raise AttributeError(
            f"partial_fit needs a model that does not grow with the rows; {type(self).__name__} "
            f'with kernel={self.kernel!r} keeps them. RankRLS(kernel="linear") and random nodes '
            "(PairwiseELM) do not."
        )

    @available_if(_adds_batches)
    def partial_fit(  # type: ignore[override]  # a descriptor
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add a batch of rows; the model is that of one ``fit`` on all batches (linear kernel).

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``fit``.
        """
        return super().partial_fit(X, y, qid=qid, sample_weight=sample_weight)


def _fit_batch(
    running: Sequence[RunningGram],
    design: Design,
    loss: SquaredLoss,
    rows: FitData,
    search: PenaltySearch,
    *,
    has_qid: bool,
) -> PathFit:
    """Add rows to the running statistics of each block map, and solve what they hold by now."""
    problem, grams = loss.on(rows), []
    with single_threaded_blas():
        for state, phi in zip(running, design.maps, strict=True):
            grams += design.draws(state.update(problem, phi, has_qid=has_qid))
        return fit_from_grams(grams, design, problem, search.penalties)
