"""The equation *ranker = feature map x loss x solver*, and its one fit.

An estimator names its parts in ``_equation``. :func:`fit_equation` checks the rows, solves for all
candidates, chooses one, publishes it, and warns if its solver did not converge.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.checks.column_sizes import ColumnLimit, target_power
from rankwise.checks.rows import check_validation
from rankwise.groups import FitData, QueryGroups, RowStream
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.metrics.measure import MeasureLike
from rankwise.runtime.messages import callers_level
from rankwise.runtime.threads import single_threaded_blas
from rankwise.structure.state_rules import forget
from rankwise.tuning import Choice, Penalties, Penalty, PenaltySearch, SolutionPath
from rankwise.typing import ArrayLike, Float64Array, FrameLike

Designs = Iterable[tuple[Mapping[str, Any], Any]]
ValidationArguments = tuple[FrameLike | None, ArrayLike | None, ArrayLike | QueryGroups | None]


class FeatureMap(Protocol):
    """Feature map before the rows are known."""

    @property
    def searched(self) -> Sequence[Any]:
        """Parameters other than the penalty whose lists and names are searched."""
        ...

    @property
    def column_limit(self) -> ColumnLimit | None:
        """Limit of columns that dominate the others."""
        ...

    def designs(self, rows: FitData, /) -> Designs:
        """Candidate designs, each with the values of its searched parameters."""
        ...


@dataclass(frozen=True, eq=False)
class FunctionFeatures:
    """Feature map given by the function that makes its designs."""

    designs: Callable[[FitData], Designs]
    searched: Sequence[Any] = ()
    column_limit: ColumnLimit | None = None


class Solutions(Protocol):
    """Solutions for every penalty on all training rows, as a path returns them."""

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        ...

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them beside the grid."""
        ...

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution ``at`` a value; empty if it converged."""
        ...


@dataclass(frozen=True, eq=False)
class Equation:
    """Parts of an estimator."""

    features: FeatureMap
    # such as a :class:`SquaredLoss`, or a function that makes the loss of rows of whole queries
    loss: Any
    # makes the path of solutions from rows, a design, the loss and the penalties
    make_path: Callable[[FitData, Any, Any, Penalties], SolutionPath[Any]]
    penalty: Penalty  # the one that is searched
    pairs: bool = True  # whether at least one query must have different labels
    needs_rows: str = ""  # why all rows must be in memory; empty if sums of the rows are enough
    # maps the solutions to further fitted attributes
    describe: Callable[[Any], dict[str, Any]] = lambda _: {}

    def search(self, model: SearchedEstimator, *, has_validation: bool = False) -> PenaltySearch:
        """Search that the estimator's value of the penalty asks for."""
        return PenaltySearch.of(
            self.penalty,
            getattr(model, self.penalty.name),
            measure=model.measure,
            cv=model.cv,
            has_validation=has_validation,
            beside=self.features.searched,
        )


class SearchedEstimator(Protocol):
    """What an estimator offers to its fit."""

    measure: MeasureLike
    cv: Any

    def _validate_params(self) -> None: ...

    def _equation(self) -> Equation:
        """The parts under the current parameters."""
        ...

    def _set_score_name(self, y: Float64Array) -> None: ...

    def _check_fit(
        self, equation: Equation, search: PenaltySearch, X: Any, y: Any, qid: Any, weight: Any
    ) -> FitData:
        """Check the training rows, and set the attributes that they alone determine."""
        ...


def fit_equation(
    model: SearchedEstimator,
    X: FrameLike | RowStream,
    y: ArrayLike | None,
    qid: ArrayLike | QueryGroups | None,
    sample_weight: ArrayLike | None,
    validation: ValidationArguments = (None, None, None),
) -> FitData:
    """Fit all paths, choose a model and publish it; returns the checked rows.

    Held-out queries are evaluated without weights, even if the rows have a ``sample_weight``.
    """
    model._validate_params()
    forget(model)
    equation = model._equation()
    search = equation.search(model, has_validation=validation[0] is not None)
    rows = model._check_fit(equation, search, X, y, qid, sample_weight)
    search = replace(search, validation=check_validation(model, rows, *validation))
    search.check_measure(rows.y, rows.groups, are_classes=rows.classes is not None)
    with single_threaded_blas():
        choice = _solve(equation, search, rows)
    if rows.stream is not None:  # only now the labels of all chunks are known
        model._set_score_name(rows.stream.typical_labels)
    publish(model, equation, search, choice)
    shortfall = choice.fit.shortfall(choice.index, f"{equation.penalty.name}={choice.value:g}")
    if shortfall:
        message = f"{type(model).__name__} {shortfall}"
        warnings.warn(message, ConvergenceWarning, stacklevel=callers_level())
    return rows


def _solve(equation: Equation, search: PenaltySearch, rows: FitData) -> Choice[Any]:
    """Solutions of all candidates, and the best of them."""
    # The squares of extreme targets overflow. The solution of a squared loss is linear in the
    # targets, so these are divided by a power of two, which is exact. Not those of a stream, whose
    # sums read its own targets, nor in a search, whose measures read them.
    is_linear = isinstance(equation.loss, SquaredLoss) and rows.stream is None
    power = target_power(rows.y) if is_linear and search.way == "fixed" else 0
    rows = replace(rows, y=np.ldexp(rows.y, -power)) if power else rows
    loss, penalties = equation.loss, search.penalties
    choice = search.choose(
        (parameters, *search.solve(equation.make_path(rows, design, loss, penalties)))
        for parameters, design in equation.features.designs(rows)
    )
    return replace(choice, fit=choice.fit.scaled(power)) if power else choice


def publish(model: Any, equation: Equation, search: PenaltySearch, choice: Choice[Any]) -> None:
    """Set the fitted attributes of the chosen solution, its path and the results of the search."""
    name, solutions = search.penalty.name, choice.fit
    vars(model).update(
        {
            f"{name}_": choice.value,
            **solutions.attributes(choice.index),
            "path_": {name: search.penalties.values, **solutions.path()},
            **equation.describe(solutions),
        }
    )
    if choice.results is not None:
        model.cv_results_ = choice.results
