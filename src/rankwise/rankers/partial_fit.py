"""Fit of closed forms batch by batch."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if

from rankwise.checks.rows import check_fit
from rankwise.equation import Equation, publish
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.metrics.default import TARGETS, is_graded
from rankwise.rows.fit_data import FitData
from rankwise.runtime.finite import guard
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.least_squares.design import Design, LinearDesign, NodeDesign
from rankwise.solvers.least_squares.gram import Gram
from rankwise.solvers.least_squares.path_selection import PathFit, fit_from_grams
from rankwise.solvers.least_squares.streaming import RunningGram
from rankwise.structure.rules import Instance, Many, Rule, Sometimes, forget
from rankwise.tuning.penalty_search import PenaltySearch
from rankwise.typing import ArrayLike, FrameLike


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
        fit = _fit_batch(running, design, equation.loss, rows, search, has_qid=qid is not None)
        ranker._stream_design, ranker._running = design, running
        publish(ranker, equation, search, search.choose([({}, fit, None)]))
        return self


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
        return fit_from_grams(grams, design, search.penalties, loss.intercept)
