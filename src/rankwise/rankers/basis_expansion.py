"""Rankers whose score is an expansion ``f(x) = sum_j w_j phi_j(x) + b`` in basis functions.

``expansion_`` holds the basis and the weights, see :mod:`rankwise.features.score_expansions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.rows import check_fit, check_rows
from rankwise.equation import Equation, fit_equation
from rankwise.features.kernels import Kernel
from rankwise.features.nystroem import NystroemMap
from rankwise.features.score_expansions import (
    EXPANSIONS,
    Expansion,
    ExpansionAttribute,
    LinearExpansion,
)
from rankwise.groups import FitData, QueryGroups, RowStream
from rankwise.rankers.streamed import check_stream, predict_chunk, read_head, score_stream
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.gram import CHUNK_ROWS
from rankwise.structure.state_rules import (
    Instance,
    Number,
    Plain,
    Rule,
    Sometimes,
)
from rankwise.tuning import PenaltySearch
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
    coef_ = ExpansionAttribute[Float64Array]()
    intercept_ = ExpansionAttribute[float]()
    hidden_weights_ = ExpansionAttribute[Float64Array]()
    hidden_biases_ = ExpansionAttribute[Float64Array]()
    output_weights_ = ExpansionAttribute[Float64Array]()
    nystroem_ = ExpansionAttribute[NystroemMap]()
    kernel_ = ExpansionAttribute[Kernel]()
    gamma_ = ExpansionAttribute[float | None]()
    dual_coef_ = ExpansionAttribute[Float64Array]()
    X_fit_ = ExpansionAttribute[Matrix]()
    measure: str
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
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
    ) -> Self:
        """Fit all models of the path and keep the chosen one.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream
            With ``kernel="precomputed"``: the kernel values between the rows, shape (n_samples,
            n_samples). A stream contains labels, queries and weights, see :func:`rankwise.stream`.
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
        """
        fit_equation(self, X, y, qid, sample_weight, (X_val, y_val, qid_val))
        return self

    def _check_fit(
        self,
        equation: Equation,
        search: PenaltySearch,
        X: FrameLike | RowStream,
        y: ArrayLike | None,
        qid: ArrayLike | None,
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
