"""Rankers whose score is an expansion ``f(x) = sum_j w_j phi_j(x) + b``, and their closed form.

``expansion_`` holds the basis and the weights, see :mod:`rankwise.features.score_expansions`. With
a squared loss, the weights come from sums of rows, which a fit may also add batch by batch.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from rankwise.base import Ranker
from rankwise.checks.column_sizes import SQUARES, ColumnLimit, column_means, column_scales
from rankwise.checks.rows import check_fit, check_rows
from rankwise.equation import Equation, FeatureMap, fit_equation, publish
from rankwise.features.kernels import Kernel
from rankwise.features.nystroem import NystroemMap
from rankwise.features.score_expansions import (
    EXPANSIONS,
    Expansion,
    ExpansionAttribute,
    LinearExpansion,
)
from rankwise.groups import FitData, QueryGroups, RowStream
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.metrics.default import TARGETS, is_graded
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.rankers.streamed import (
    StreamedFeatures,
    StreamPath,
    check_stream,
    predict_chunk,
    read_head,
    score_stream,
)
from rankwise.runtime.finite import guard
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.runtime.threads import single_threaded_blas, thread_imap
from rankwise.solvers.least_squares.design import (
    AnyDesign,
    KernelDesign,
    LinearDesign,
    NodeDesign,
    ShiftedColumns,
)
from rankwise.solvers.least_squares.expansion import ExpansionPath
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, Gram, RunningGram
from rankwise.solvers.least_squares.path_selection import LeastSquaresPath, PathFit, fit_from_grams
from rankwise.structure.state_rules import Instance, Many, Number, Plain, Rule, Sometimes, forget
from rankwise.tuning import WAYS, Penalties, Penalty, PenaltySearch, SolutionPath, inverse
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

LINEAR_STRUCTURE: dict[str, Rule] = {"expansion_": Instance((LinearExpansion,))}


class BasisExpansionRanker(Ranker):
    """Base of rankers whose scores are sums of weighted basis functions."""

    _structure: ClassVar[dict[str, Rule]] = {
        "expansion_": Instance(EXPANSIONS),
        "C_": Sometimes(Number(low=0, finite=False)),
        "alpha_": Sometimes(Number(low=0, finite=False)),
        "lam_": Sometimes(Number(low=0, finite=False)),
        "n_iter_": Sometimes(Number("i", low=0)),
        "path_": Sometimes(Plain()),
        "cv_results_": Sometimes(Plain()),
    }

    n_features_in_: int
    expansion_: Expansion
    coef_: ExpansionAttribute[Float64Array] = ExpansionAttribute()
    intercept_: ExpansionAttribute[float] = ExpansionAttribute()
    hidden_weights_: ExpansionAttribute[Float64Array] = ExpansionAttribute()
    hidden_biases_: ExpansionAttribute[Float64Array] = ExpansionAttribute()
    output_weights_: ExpansionAttribute[Float64Array] = ExpansionAttribute()
    nystroem_: ExpansionAttribute[NystroemMap] = ExpansionAttribute()
    kernel_: ExpansionAttribute[Kernel] = ExpansionAttribute()
    gamma_: ExpansionAttribute[float | None] = ExpansionAttribute()
    dual_coef_: ExpansionAttribute[Float64Array] = ExpansionAttribute()
    X_fit_: ExpansionAttribute[Matrix] = ExpansionAttribute()
    measure: MeasureLike
    cv: Any
    path_: dict[str, Float64Array]
    cv_results_: dict[str, Float64Array]

    if TYPE_CHECKING:

        def _equation(self) -> Equation: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

    def fit(
        self,
        X: FrameLike | RowStream,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Fit all models of the path and keep the chosen one.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream
            With ``kernel="precomputed"``: the kernel values between the rows, shape (n_samples,
            n_samples). A stream contains labels, queries and weights:
            :func:`rankwise.streams.stream`.
            Losses whose sums do not add up over chunks, and models that store the rows, refuse it.
        y : array-like of shape (n_samples,); None for a stream
            Grades or real-valued targets; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query. A
            pointwise loss uses it in the search only.
        sample_weight : array-like of shape (n_samples,), optional
            Number of repetitions of each row, >= 0. A pair is weighted by the product of its rows'
            weights.
        X_val, y_val, qid_val : optional
            Validation data for the search over a list or "val". Not used with a number, "cv",
            "loqo" or "lpo".

        Warns
        -----
        UserWarning
            If landmarks would fit faster and rank about as well: exact kernels of 3,000 rows and
            more (``SVRank``: 5,000), for rankers with ``approximation``.
        """
        fit_equation(self, X, y, qid, sample_weight, (X_val, y_val, qid_val))
        return self

    def _check_fit(
        self,
        equation: Equation,
        search: PenaltySearch,
        X: FrameLike | RowStream,
        y: ArrayLike | None,
        qid: ArrayLike | QueryGroups | None,
        weight: ArrayLike | None,
    ) -> FitData:
        """Check the training rows; of a stream the first, and a sample if the designs need one."""
        limit = equation.features.column_limit
        if isinstance(X, RowStream):
            check_stream(self, equation, search, X)
            features: Any = equation.features
            rows = features.sample(read_head(self, X, y, qid, weight, limit))
        else:
            rows = check_fit(self, X, y, qid, weight, pairs=equation.pairs, column_limit=limit)
        self._set_score_name(rows.y)
        return rows

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
            return (predict_chunk(self, chunk) for chunk in X)
        rows = check_rows(self, X)
        # A user-defined kernel receives all rows at once.
        is_users = callable(getattr(self, "kernel", None))
        score = self.expansion_.scores
        if is_users or rows.shape[0] <= CHUNK_ROWS:
            return score(rows)
        starts = range(0, rows.shape[0], CHUNK_ROWS)
        parts = thread_imap(lambda lo: score(rows[lo : lo + CHUNK_ROWS]), starts)
        return np.concatenate(list(parts))

    def score(
        self,
        X: FrameLike | RowStream,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> float:
        """Mean over the queries of the measure ``score_name_``; larger is better.

        As :meth:`rankwise.base.Ranker.score`. A stream contains labels, queries and weights.
        """
        if isinstance(X, RowStream):
            return score_stream(self, X)
        return super().score(X, y, sample_weight, qid=qid)


# Grid of Zong & Huang: 2^-30, 2^-28, ..., 2^20.
DEFAULT_GRID = 2.0 ** np.arange(-30, 21, 2)
# Penalties for a mean over pairs: 10^2, 10^1.5, ..., 10^-8.
MEAN_GRID = 10.0 ** np.arange(2, -8.5, -0.5)
# Allowed penalties of a squared loss.
C_OF_SUM = Penalty("C", "C", DEFAULT_GRID, WAYS, unpenalised=True)
ALPHA = Penalty("alpha", "alpha", inverse(DEFAULT_GRID), WAYS, unpenalised=True)
LAM = Penalty("lam", "lam", MEAN_GRID, WAYS, unpenalised=True)
SELECTION_CONSTRAINTS: dict[str, list[Any]] = {
    "measure": MEASURE_KINDS,
    "cv": ["cv_object"],
}


def build_closed_form(
    features: FeatureMap, loss: SquaredLoss, penalty: Penalty, **options: Any
) -> Equation:
    """Equation with a squared loss; ``options`` are fields of :class:`Equation`."""
    options.setdefault("make_path", least_squares_path)
    return Equation(features, loss, penalty=penalty, pairs=loss.graph != "pointwise", **options)


def least_squares_path(
    rows: FitData,
    design: AnyDesign,
    loss: SquaredLoss,
    penalties: Penalties,
    *,
    max_bytes: int = 2**62,
) -> SolutionPath[PathFit]:
    """Path of a squared loss on columns, on the rows of a stream, or on an expansion over rows.

    A stream with fewer rows than columns is read into memory.
    """
    if isinstance(design, KernelDesign):
        return ExpansionPath(rows, design, loss, penalties, max_bytes=max_bytes)
    if rows.stream is not None:
        every = rows.stream.all_rows(design.n_columns)
        if every is None:
            return StreamPath(rows, design, loss, penalties)
        rows = every
    return LeastSquaresPath(rows, design, loss, penalties)


@dataclass(frozen=True)
class ColumnFeatures(StreamedFeatures):
    """Columns of X, shifted by their means if there is an intercept."""

    intercept: bool
    # Whether columns are divided by powers of two, which does not change an unpenalised solution.
    scaled: bool = False

    @property
    def column_limit(self) -> ColumnLimit | None:
        """Column limit of squares; None if columns are scaled."""
        return None if self.scaled else SQUARES

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], LinearDesign]]:
        """The single design of the columns."""
        n_samples, n_features = rows.X.shape
        scale = column_scales(rows.X) if self.scaled else None
        shift = np.zeros(n_features)
        # Columns with large means would cancel in the centred Gram matrix, so the means of the
        # first rows (all that a stream provides) are subtracted. The N x N system of wide rows
        # is centred directly, which keeps sparse rows sparse.
        if self.intercept and n_samples >= n_features:
            head = rows.X[:CHUNK_ROWS]
            if scale is None:
                shift = column_means(head)
            else:  # sums of the original values may overflow
                shift = column_means(head @ sparse.diags_array(1.0 / scale)) * scale
        yield {}, LinearDesign(ShiftedColumns(shift, False, scale))


class PartialFit:
    """Mixin that fits a closed form batch by batch, by adding up statistics of the rows."""

    _structure: ClassVar[dict[str, Rule]] = {
        "_running": Sometimes(Many(Instance((RunningGram,)))),
        "_stream_design": Sometimes(Instance((LinearDesign, NodeDesign))),
    }

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {
        "qid": True,
        "sample_weight": True,
    }

    def _adds_batches(self: Any) -> bool:
        if self._equation().features.adds_batches:
            return True
        raise AttributeError(
            f"partial_fit needs a model that does not store the rows, but {type(self).__name__} "
            f'with kernel={self.kernel!r} stores them. Use RankRLS(kernel="linear") or random '
            "nodes (PairwiseELM)."
        )

    @available_if(_adds_batches)
    @partial(guard, name="partial_fit")
    def partial_fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
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
        equation: Equation = ranker._equation()
        search = equation.search(ranker)
        if search.way != "fixed":
            name = search.penalty.name
            raise ValueError(
                f"partial_fit needs a number for {name}, got {getattr(ranker, name)!r}. Choose "
                "one by a fit on a sample."
            )
        running: list[RunningGram] | None = vars(ranker).get("_running")
        if running is None and "n_features_in_" in vars(ranker):
            warnings.warn(
                "partial_fit starts a new model, because fit stores no statistics to continue "
                "from. Pass all rows to partial_fit.",
                UserWarning,
                stacklevel=2,
            )
            forget(ranker)
        limit = equation.features.column_limit
        rows = check_fit(
            ranker, X, y, qid, sample_weight, reset=running is None, pairs=False,
            column_limit=limit,
        )  # fmt: skip
        if running is None:
            ranker._set_score_name(rows.y)
            design = next(iter(equation.features.designs(rows)))[1]
            running = [RunningGram(Gram.zeros(phi.n_features_out)) for phi in design.maps]
        else:
            if not is_graded(rows.y):
                ranker._set_score_name(TARGETS)
            design = ranker._stream_design
            running = copy.deepcopy(running)  # a failing batch must change nothing
        loss: SquaredLoss = equation.loss
        problem, grams = loss.on(rows), []
        with single_threaded_blas():
            for state, phi in zip(running, design.maps, strict=True):
                grams += design.draws(state.update(problem, phi, has_qid=qid is not None))
            fit = fit_from_grams(grams, design, search.penalties, loss.intercept)
        ranker._stream_design, ranker._running = design, running
        publish(ranker, equation, search, search.choose([({}, fit, None)]))
        return self
