"""Base classes of the rankers: routing of qid, ranks, the default score and saving."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from rankwise.checks.constant_scores import warn_of_constant_scores
from rankwise.checks.queries import warn_of_one_query
from rankwise.checks.rows import check_target, check_weight
from rankwise.groups import QueryGroups
from rankwise.metrics.default import default_score, default_score_name
from rankwise.persistence import Save
from rankwise.runtime.finite import FiniteResults, names_its_class
from rankwise.streams.row_stream import RowStream
from rankwise.structure.rules import TRAINED_ON, Rule, Word
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array


class RanksRows:
    """Mixin of estimators whose scores rank the rows of a query."""

    @names_its_class
    def rank(self, X: FrameLike, qid: ArrayLike | QueryGroups | None = None) -> Int64Array:
        """1-based rank of every row within its query; ties keep the input order.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        qid : array-like of shape (n_samples,), optional
            Query of each row. None or a scalar: all rows form one query.

        Returns
        -------
        ndarray of shape (n_samples,), int64

        Warns
        -----
        OneQueryWarning
            If ``qid`` is missing but the model was fitted on several queries.
        """
        if isinstance(X, RowStream):
            raise X.refused(f"{type(self).__name__}.rank")
        scores = np.asarray(self._predict_within(X, qid))
        warn_of_one_query(self, f"{type(self).__name__}.rank", qid, len(scores))
        return QueryGroups.from_qid(qid, len(scores)).ranks(scores)

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Any:
        """Scores of rows for comparisons within queries."""
        raise NotImplementedError(f"{type(self).__name__} must define _predict_within.")


class Ranker(FiniteResults, Save, RanksRows, RegressorMixin, BaseEstimator):
    """Base of all rankers. ``predict`` returns scores; higher is better.

    ``fit`` and ``score`` request ``qid`` (and ``sample_weight`` if the method supports it) from
    scikit-learn's metadata routing, so users only need to enable routing.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        **TRAINED_ON,
        "score_name_": Word(),
    }

    # Parameters that can prevent all learning, and values that cannot.
    _limits: ClassVar[dict[str, Any]] = {}

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True, "sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True, "sample_weight": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row; a higher score ranks higher within its query."""
        raise TypeError(f"{type(self).__name__} must define predict.")

    def score(
        self,
        X: FrameLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> float:
        """Mean of the measure in ``score_name_``; larger is better, always finite.

        Non-negative integer grades: nDCG@10 with exponential gain, discount log2(1 + rank), queries
        without relevant rows are skipped, ties are in input order. Real-valued or negative targets:
        1 - pairwise misranking. Rows of zero ``sample_weight`` are left out; the weight of a query
        is the mean weight of its rows. Without ``qid`` all rows form one query, with an
        :class:`~rankwise.OneQueryWarning` if the model was fitted on several queries.
        """
        scores = np.asarray(self._predict_within(X, qid), dtype=np.float64)
        y = check_target(y, len(scores))
        warn_of_one_query(self, f"{type(self).__name__}.score", qid, len(scores))
        groups = QueryGroups.from_qid(qid, len(scores))
        weight = None if sample_weight is None else check_weight(sample_weight, len(scores))
        return default_score(y, scores, groups, weight)

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Any:
        """Scores used by ``rank`` and ``score``; overridden if scores depend on the query."""
        return self.predict(X)

    _examine_fit = warn_of_constant_scores

    def _set_score_name(self, y: Float64Array) -> None:
        self.score_name_ = default_score_name(y)
