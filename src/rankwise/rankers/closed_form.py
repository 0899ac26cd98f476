"""Fit of rankers with a squared loss: feature map x squared loss x least-squares path.

A ranker returns its components from ``_closed_form``. :func:`fit_closed_form` fits it on rows in
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
from rankwise.checks.rows import check_fit, check_validation
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import publish
from rankwise.rankers.streamed import check_rereadable, read_head, stream_path
from rankwise.rows.fit_data import FitData
from rankwise.rows.row_hash import LeastRows
from rankwise.runtime.finite import FiniteResults, names_its_class
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

# Grid of Zong & Huang: 2^-30, 2^-28, ..., 2^20.
DEFAULT_GRID = 2.0 ** np.arange(-30, 21, 2)
# Penalties for a mean over pairs: 10^2, 10^1.5, ..., 10^-8.
MEAN_GRID = 10.0 ** np.arange(2, -8.5, -0.5)
WAYS = ("cv", "loqo", "lpo", "val")
# Allowed penalties of a squared loss.
C_OF_SUM = Penalty("C", "C", DEFAULT_GRID, WAYS, unpenalised=True)
ALPHA = Penalty("alpha", "alpha", inverse(DEFAULT_GRID), WAYS, unpenalised=True)
LAM = Penalty("lam", "lam", MEAN_GRID, WAYS, unpenalised=True)
C_OF_MEAN = Penalty("C", "mean", inverse(MEAN_GRID), WAYS, unpenalised=True)
SELECTION_CONSTRAINTS: dict[str, list[Any]] = {
    "measure": [str],
    "cv": ["cv_object"],
}


class Features(Protocol):
    """Feature map before the rows are known."""

    @property
    def searched(self) -> Sequence[Any]:
        """Parameters other than the penalty whose lists and names are searched."""
        ...

    @property
    def adds_batches(self) -> bool:
        """Whether the model neither grows with the rows nor needs any row twice."""
        ...

    @property
    def column_limit(self) -> ColumnLimit | None:
        """Limit of columns that dominate the others."""
        ...

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], AnyDesign]]:
        """Candidate designs, each with the values of its searched parameters."""
        ...

    def check_stream(self, name: str, rows: RowStream) -> None:
        """Raise if the ranker of this name cannot be fitted on the stream."""
        ...

    def sample(self, rows: FitData) -> FitData:
        """First rows of a stream, with X in the form that the designs need."""
        ...

    def sample_draws(self) -> tuple[LeastRows, ...]:
        """Draws from all rows that the designs need; empty if the first rows are enough."""
        ...


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Components of a ranker with a squared loss.

    Attributes
    ----------
    features : Features
        Feature map.
    loss : SquaredLoss
        Loss of the scores.
    path : callable
        Function of rows, a design, the loss and the penalties that returns the path of solutions.
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
    """Fit the path, choose a model, and set the fitted attributes.

    Held-out queries are evaluated without weights, even if the rows have a ``sample_weight``.
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
    if power:  # because the solution is linear in y
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
    """Search that chooses the penalty of the ranker."""
    return PenaltySearch.of(
        ranker._penalty,
        getattr(ranker, ranker._penalty.name),
        measure=ranker.measure,
        cv=ranker.cv,
        validation=validation,
        beside=form.features.searched,
    )


def leaves_out(ranker: Any) -> bool:
    """Whether the penalty of the ranker is chosen by leaving rows out exactly."""
    value = getattr(ranker, ranker._penalty.name)
    return isinstance(value, str) and value in ("loqo", "lpo")


def check_stream(ranker: Any, form: ClosedForm, rows: RowStream, *, has_validation: bool) -> None:
    """Raise ValueError if the fit needs all rows in memory."""
    form.features.check_stream(type(ranker).__name__, rows)
    name = ranker._penalty.name
    value = getattr(ranker, name)
    ranker._penalty.grid(value)
    way = search_way({name: value}, has_validation=has_validation, beside=form.features.searched)
    if way in ("loqo", "lpo"):
        raise ValueError(f'{name}="{way}" needs all rows in memory, got a stream. Use {name}="cv".')
    if way == "cv" and not (ranker.cv is None or isinstance(ranker.cv, Integral)):
        raise ValueError(
            f"cv must be a number of folds for a stream, got {ranker.cv!r}. Pass an int, or fit "
            "rows in memory."
        )
    if way == "cv":
        check_rereadable(rows, name, value)


class PartialFit(FiniteResults):
    """Mixin that fits a closed form batch by batch, by adding up statistics of the rows."""

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
        """Add a batch of rows; the model equals that of one ``fit`` on all batches.

        Memory does not grow with the number of batches. A query may continue from the end of one
        batch at the start of the next. Without ``qid``, all rows of all batches form one query.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``fit``.

        Raises
        ------
        ValueError
            If the penalty is not a number, or if a query returns after other queries. With
            ``graph="distinct"``, also if a query that may continue has too many grades: each grade
            needs a matrix with the squared number of columns, and at most 512 MB are used. The
            model then keeps its state from before the call.

        Warns
        -----
        UserWarning
            If the model was trained by ``fit``, which stores no statistics; a new model is started.
        """
        ranker: Any = self
        ranker._validate_params()
        form = ranker._closed_form()
        search = search_of(ranker, form)
        if search.way != "fixed":
            name = search.penalty.name
            raise ValueError(
                f"partial_fit needs a number for {name}, got {getattr(ranker, name)!r}. Choose "
                "one by a fit on a sample."
            )
        first = not hasattr(ranker, "_running")
        if first and hasattr(ranker, "n_features_in_"):
            warnings.warn(
                "partial_fit starts a new model, because fit stores no statistics to continue "
                "from. Pass all rows to partial_fit.",
                UserWarning,
                stacklevel=2,
            )
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
            running = copy.deepcopy(ranker._running)  # a failing batch must change nothing
        fit = _fit_batch(running, design, form.loss, rows, search, has_qid=qid is not None)
        ranker._stream_design, ranker._running = design, running
        publish(ranker, search, search.choose([({}, fit, None)]))
        return self


class PartialFitOfColumns(PartialFit):
    """``PartialFit`` for kernel rankers, without ``partial_fit`` if the kernel stores rows."""

    def _adds_batches(self: Any) -> bool:
        if self._closed_form().features.adds_batches:
            return True
        raise AttributeError(
            f"partial_fit needs a model that does not store the rows, but {type(self).__name__} "
            f'with kernel={self.kernel!r} stores them. Use RankRLS(kernel="linear") or random '
            "nodes (PairwiseELM)."
        )

    @available_if(_adds_batches)
    @names_its_class
    def partial_fit(  # type: ignore[override]  # a descriptor
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add a batch of rows; the model equals that of one ``fit`` on all batches (linear kernel).

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
    """Add rows to the running statistics of each block map, and solve for the current ones."""
    problem, grams = loss.on(rows), []
    with single_threaded_blas():
        for state, phi in zip(running, design.maps, strict=True):
            grams += design.draws(state.update(problem, phi, has_qid=has_qid))
        return fit_from_grams(grams, design, problem, search.penalties)
