"""What the closed-form rankers share: the strength of the penalty, its choice, and prediction.

A subclass names its design (columns and draws) and its problem (pair graph); everything else is
here. Its penalty parameter is a number, a grid, or the name of a way to choose from a grid.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self, overload

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.column_ranges import target_power
from rankwise.checks.rows import FitData, check_fit, check_rows, check_validation
from rankwise.metrics import parse
from rankwise.metrics.measure import Measure
from rankwise.rankers.stream_scores import StreamRanker, predict_chunks
from rankwise.rankers.streamed import check_rereadable, fit_stream, read_head
from rankwise.runtime.threads import single_threaded_blas, thread_imap
from rankwise.solvers.least_squares.design import Design, LinearDesign, NodeDesign
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, Gram, Problem
from rankwise.solvers.least_squares.path_selection import (
    PathFit,
    fit_path,
    fit_path_cv,
    fit_path_loqo,
    fit_path_lpo,
    fit_path_splits,
    fit_path_val,
    gram_coef,
)
from rankwise.solvers.least_squares.streaming import RunningGram
from rankwise.streams.checked_stream import StreamData
from rankwise.streams.row_stream import RowStream
from rankwise.structure.rules import Many, Number, Part, Plain, Rule, Sometimes, floats
from rankwise.tuning.folds import DEFAULT_FOLDS, row_splits
from rankwise.tuning.held_out import mean_defined
from rankwise.tuning.penalty import Penalties, Scale, inverse
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

# Zong & Huang's grid: 2^-30, 2^-28, ..., 2^20.
DEFAULT_GRID = 2.0 ** np.arange(-30, 21, 2)
# Penalties against a mean over pairs: 10^2, 10^1.5, ..., 10^-8.
MEAN_GRID = 10.0 ** np.arange(2, -8.5, -0.5)
WAYS = ("cv", "loqo", "lpo", "val")
PENALTY_CONSTRAINT: list[Any] = [
    Interval(Real, 0, np.inf, closed="right"),
    "array-like",
    StrOptions(set(WAYS)),
]
ALPHA_CONSTRAINT = [Interval(Real, 0, None, closed="left"), *PENALTY_CONSTRAINT[1:]]
# What a model's scores are linear in.
SCORE_ATTRIBUTES = ("coef_", "intercept_", "dual_coef_", "output_weights_")
# Penalties beyond these overflow when they are inverted.
SMALLEST, LARGEST = 1e-300, 1e300
SELECTION_CONSTRAINTS: dict[str, list[Any]] = {
    "measure": [str],
    "cv": ["cv_object"],
}


class ClosedFormRanker(StreamRanker):
    """Squared loss with a ridge penalty: the whole path at once.

    Held-out queries are measured without weights, whatever ``sample_weight`` the rows have.

    Subclasses define ``_design(data)``, ``_problem(data)`` and the penalty parameter's name.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "C_": Sometimes(Number(low=0, finite=False)),
        "alpha_": Sometimes(Number(low=0, finite=False)),
        "lam_": Sometimes(Number(low=0, finite=False)),
        "path_": Plain(),
        "cv_results_": Sometimes(Plain()),
        "_running": Sometimes(Many(Part((RunningGram,)))),
        "_stream_design": Sometimes(Part((LinearDesign, NodeDesign))),
    }

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {
        "qid": True,
        "sample_weight": True,
    }
    _penalty: ClassVar[str] = "C"
    _scale: ClassVar[Scale] = "C"
    _linear_in_y: ClassVar[bool] = True  # the solution is, for every penalty
    measure: str
    cv: Any

    def _design(self, data: FitData) -> Design:
        raise TypeError(f"{type(self).__name__} must define _design.")

    def _designs(self, data: FitData) -> Iterator[tuple[dict[str, Any], Design]]:
        """Designs among which the search chooses, each with the parameters that tell it apart."""
        yield {}, self._design(data)

    def _problem(self, data: FitData) -> Problem:
        raise TypeError(f"{type(self).__name__} must define _problem.")

    def _fit(
        self,
        X: FrameLike | RowStream,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        validation: tuple[FrameLike | None, ArrayLike | None, ArrayLike | None],
    ) -> PathFit:
        """Fit the path, choose from it, and set the fitted attributes."""
        self._validate_params()
        for state in ("_running", "_stream_design", "cv_results_"):
            vars(self).pop(state, None)
        if isinstance(X, RowStream):
            self._check_stream(X, validation[0] is not None)
            data = self._stream_data(read_head(self, X, y, qid, sample_weight))
        else:
            data = check_fit(self, X, y, qid, sample_weight)
        vali = check_validation(self, data, *validation)
        self._set_score_name(data.y)
        measure = parse(self.measure)
        way, penalties = self._grid(getattr(self, self._penalty), vali is not None)
        if way == "lpo":
            measure = parse("Misranking")
        elif way != "fixed":
            self._check_measure(measure, vali if way == "val" and vali is not None else data)
        power = target_power(data.y) if way == "fixed" and self._linear_in_y else 0
        if power:
            data = replace(data, y=np.ldexp(data.y, -power))
        problem = self._problem(data)
        best: tuple[float, Design, PathFit, int] | None = None
        searched: list[tuple[dict[str, Any], Float64Array | None]] = []
        for parameters, design in self._designs(data):
            with single_threaded_blas():
                fit = self._fit_way(way, design, problem, penalties, data, vali)
            chosen, value = (0, 0.0) if fit.fold_scores is None else fit.best(measure)
            searched.append((parameters, fit.fold_scores))
            if best is None or value > best[0]:
                best = (value, design, fit, chosen)
        assert best is not None
        _, design, fit, chosen = best
        if isinstance(data, StreamData):
            self.score_name_ = data.checked.score_name
        self._set_fitted(design, problem, fit, penalties, chosen)
        self._set_results(penalties, searched)
        if power:
            self._multiply_scores(power)
        return fit

    def _multiply_scores(self, power: int) -> None:
        """Multiply the model and its path by a power of two."""
        for name in SCORE_ATTRIBUTES:
            if name in vars(self):
                value = np.ldexp(getattr(self, name), power)
                setattr(self, name, value if np.ndim(value) else float(value))
        self.path_["coef"] = np.ldexp(self.path_["coef"], power)

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
        self._validate_params()
        way, penalties = self._grid(getattr(self, self._penalty), False)
        if way != "fixed":
            raise ValueError(
                f"partial_fit needs a number for {self._penalty}, got "
                f"{getattr(self, self._penalty)!r}. Choose it with fit on a sample first."
            )
        first = not hasattr(self, "_running")
        if first and hasattr(self, "n_features_in_"):
            warnings.warn(
                "partial_fit starts a new model: fit keeps no statistics to continue from. Pass "
                "all rows to partial_fit.",
                UserWarning,
                stacklevel=2,
            )
        parse(self.measure)
        before = dict(vars(self))
        try:
            self._add(X, y, qid, sample_weight, penalties, first)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise
        return self

    def _add(
        self,
        X: FrameLike,
        y: ArrayLike,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        penalties: Penalties,
        first: bool,
    ) -> None:
        data = check_fit(self, X, y, qid, sample_weight, reset=first)
        problem = self._problem(data)
        design = self._design(data) if first else self._stream_design
        if first:
            running = [RunningGram(Gram.zeros(phi.n_features_out)) for phi in design.maps]
        else:
            running = copy.deepcopy(self._running)  # a batch that fails must change nothing
        grams: list[Gram] = []
        with single_threaded_blas():
            for state, phi in zip(running, design.maps, strict=True):
                grams += design.draws(state.update(problem, phi, has_qid=qid is not None))
            coefs = [gram_coef(gram, problem, penalties) for gram in grams]
        if first:
            self._set_score_name(data.y)
            self._stream_design = design
        self._running = running
        self._set_fitted(design, problem, PathFit(coefs, None, grams), penalties, 0)

    def _fit_way(
        self,
        way: str,
        design: Design,
        problem: Problem,
        penalties: Penalties,
        data: FitData,
        vali: FitData | None,
    ) -> PathFit:
        if isinstance(data, StreamData):
            every = data.checked.all_rows(design.n_columns)
            if every is None:
                n_folds = int(self.cv or DEFAULT_FOLDS)
                return fit_stream(
                    way, design, problem, penalties, data, vali, parse(self.measure), n_folds
                )
            problem, data = self._problem(every), every
        if way == "fixed":
            return fit_path(problem, design, penalties)
        measure = parse(self.measure)
        if way == "val":
            assert vali is not None
            return fit_path_val(problem, design, penalties, measure, vali.X, vali.y, vali.groups)
        if way == "loqo":
            return fit_path_loqo(problem, design, penalties, measure)
        if way == "lpo":
            return fit_path_lpo(problem, design, penalties)
        if self.cv is None or isinstance(self.cv, Integral):
            return fit_path_cv(problem, design, penalties, measure, int(self.cv or DEFAULT_FOLDS))
        return fit_path_splits(problem, design, penalties, measure, row_splits(self.cv, data))

    def _stream_data(self, data: FitData) -> FitData:
        """What designs are made from: the first rows of a stream, or all of a short one."""
        return data

    def _check_stream(self, rows: RowStream, has_validation: bool) -> None:
        """Raise where the way to choose the penalty needs all rows in memory."""
        name, value = self._penalty, getattr(self, self._penalty)
        way, _ = self._grid(value, has_validation)
        if way in ("loqo", "lpo"):
            raise ValueError(
                f'{name}="{way}" needs all rows in memory, got a stream. Use {name}="cv".'
            )
        if way == "cv" and not (self.cv is None or isinstance(self.cv, Integral)):
            raise ValueError(
                f"cv must be a number of folds for a stream, got {self.cv!r}: the rows of other "
                "splits are in no fixed place."
            )
        if way == "cv":
            check_rereadable(rows, name, value)

    def _grid(self, value: Any, has_validation: bool) -> tuple[str, Penalties]:
        """How the penalty is chosen ("fixed" or one of ``WAYS``) and the grid, weak model first."""
        name = self._penalty
        scale = self._scale
        rising = scale in ("C", "mean")  # a larger value fits the training rows more closely
        if isinstance(value, str):
            if value == "val" and not has_validation:
                raise ValueError(
                    f'{name}="val" needs validation data, got X_val=None. Pass X_val, y_val and '
                    f'qid_val to fit, or use {name}="cv".'
                )
            return value, Penalties(self._default_grid(), scale)
        grid = np.atleast_1d(np.asarray(value, dtype=np.float64))
        usable = (grid >= SMALLEST) & (grid <= LARGEST)
        usable |= np.isinf(grid) & (grid > 0) if rising else grid == 0
        if grid.ndim != 1 or not grid.size or not usable.all():
            limit = "infinity" if rising else "0"
            raise ValueError(
                f"{name} must be a number or a list of numbers from {SMALLEST:g} to {LARGEST:g} "
                f"(or {limit}), or one of {', '.join(WAYS)}; got {value!r}."
            )
        if np.ndim(value) == 0:
            return "fixed", Penalties(grid, scale)
        ordered = np.sort(grid) if rising else np.sort(grid)[::-1]
        return ("val" if has_validation else "cv"), Penalties(ordered, scale)

    def _default_grid(self) -> Float64Array:
        """What "cv" and the other ways search."""
        return {
            "C": DEFAULT_GRID,
            "alpha": inverse(DEFAULT_GRID),
            "lam": MEAN_GRID,
            "mean": inverse(MEAN_GRID),
        }[self._scale]

    def _check_measure(self, measure: Measure, held_out: FitData) -> None:
        """Raise, before anything is fitted, where the measure does not take the targets."""
        y = held_out.y
        try:
            measure.per_query(y, np.zeros(len(y)), held_out.groups)
        except ValueError as error:
            raise ValueError(
                f"measure={self.measure!r}, which chooses {self._penalty}, does not take these "
                f'targets: {error} Such are measure="MSD" and measure="Misranking".'
            ) from None

    def _set_fitted(
        self, design: Design, problem: Problem, fit: PathFit, penalties: Penalties, chosen: int
    ) -> None:
        """Set the model of the chosen penalty, the path and the selection's results."""
        penalty = penalties.values
        setattr(self, f"{self._penalty}_", float(penalty[chosen]))
        self._set_model(design, [coef[chosen] for coef in fit.coefs])
        self.path_ = {self._penalty: penalty, "coef": self._path_coef(design, fit)}

    def _set_results(
        self,
        penalties: Penalties,
        searched: Sequence[tuple[dict[str, Any], Float64Array | None]],
    ) -> None:
        """Set ``cv_results_`` where something was searched: one column per candidate."""
        scores = [part for _, part in searched if part is not None]
        if not scores:
            return
        self.cv_results_ = {
            self._penalty: np.tile(penalties.values, len(scores)),
            "fold_test_scores": np.concatenate(scores, axis=1),
            "mean_test_score": np.concatenate([mean_defined(part) for part in scores]),
        }
        if len(searched) > 1:
            for name in searched[0][0]:
                values = np.array([parameters[name] for parameters, _ in searched])
                self.cv_results_[name] = np.repeat(values, len(penalties))

    def _path_coef(self, design: Design, fit: PathFit) -> Float64Array:
        return design.read_out(fit.coefs)

    def _set_model(self, design: Design, coefs: Sequence[Float64Array]) -> None:
        raise TypeError(f"{type(self).__name__} must define _set_model.")

    def _scores(self, X: Matrix) -> Float64Array:
        raise TypeError(f"{type(self).__name__} must define _scores.")

    def _chunk_rows(self, n_samples: int) -> int:
        """Rows scored at a time."""
        return CHUNK_ROWS

    @overload
    def predict(self, X: FrameLike) -> Float64Array: ...

    @overload
    def predict(self, X: RowStream) -> Iterator[Float64Array]: ...

    def predict(self, X: FrameLike | RowStream) -> Any:
        """Score of every row; a higher score ranks higher within its query.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream

        Returns
        -------
        ndarray of shape (n_samples,), float64
            For a stream: an iterator of such arrays, one for each chunk.
        """
        check_is_fitted(self)
        if isinstance(X, RowStream):
            return predict_chunks(self, X)
        rows = check_rows(self, X)
        size = self._chunk_rows(rows.shape[0])
        starts = range(0, rows.shape[0], size)
        n_threads = None if len(starts) > 1 else 1
        parts = list(thread_imap(lambda lo: self._scores(rows[lo : lo + size]), starts, n_threads))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class LinearModel(ClosedFormRanker):
    """A closed-form ranker whose scores are ``X @ coef_ + intercept_``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": floats("n_features_in_"),
        "intercept_": Number(),
    }

    coef_: Float64Array
    intercept_: float

    def _set_model(self, design: Design, coefs: Sequence[Float64Array]) -> None:
        assert isinstance(design, LinearDesign)
        self.coef_, self.intercept_ = linear_model(design, coefs)

    def _scores(self, X: Matrix) -> Float64Array:
        return np.asarray(X @ self.coef_, dtype=np.float64) + self.intercept_


def linear_model(design: LinearDesign, coefs: Sequence[Float64Array]) -> tuple[Float64Array, float]:
    """Weights on X and constant of the averaged draws."""
    raw = design.read_out([coef[None, :] for coef in coefs])[0]
    constant = raw[len(design.columns.shift)] if design.columns.ones else 0.0
    weights = design.columns.on_rows(raw).copy()
    return weights, float(constant - design.columns.shift @ weights)
