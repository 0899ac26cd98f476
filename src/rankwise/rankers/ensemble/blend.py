"""Weighted means of ranker scores that are scaled within each query, without further training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rankwise.base import Ranker
from rankwise.features.query_scaling import QueryScaler
from rankwise.groups import QueryGroups
from rankwise.rankers.ensemble.held_out_scores import query_numbers
from rankwise.rankers.ensemble.members import fit_members, member_scores
from rankwise.rankers.ensemble.members_mixin import DEFAULT_RANKERS, MembersMixin
from rankwise.structure.rules import Number, Rule, floats, require
from rankwise.typing import ArrayLike, Float64Array, FrameLike


class Blend(MembersMixin, Ranker):
    """Base of blends; subclasses set the scaling and may override ``_points``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "weights_": floats("n_members", low=0),
        "n_rows_": Number("i", low=1),
    }

    _scaling: ClassVar[Literal["standard", "minmax", "rank"]]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MembersMixin._parameter_constraints,
        "weights": ["array-like", None],
    }

    def __init__(
        self,
        estimators: Sequence[Any] = DEFAULT_RANKERS,
        weights: ArrayLike | None = None,
        *,
        measure: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.measure = measure
        self.random_state = random_state

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
    ) -> Self:
        """Fit every ranker.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Features. Sparse X and missing values are accepted if all rankers support them.
        y : array-like of shape (n_samples,)
            Grades or real-valued targets; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one query.
        X_val, y_val, qid_val : array-like, optional
            Validation data for rankers that tune parameters or stop early on it.
        """
        data, validation = self._check_rows(X, y, qid, (X_val, y_val, qid_val))
        self._set_score_name(data.y)
        members = self._members(data, validation is not None)
        self.weights_ = self._shares(len(members))
        ids = None if qid is None else query_numbers(data)
        self.models_ = [fit_members(members, data.X, data.y, ids, validation)]
        scores = member_scores(self.models_[0], data.X, ids)
        self.scaler_ = QueryScaler(self._scaling).fit(scores)
        self.n_rows_ = len(scores)
        return self

    def _check_structure(self) -> None:
        super()._check_structure()
        n = len(self.models_[0])
        require(len(self.weights_) == n, "weights_", f"have {n} entries", len(self.weights_))
        require(self.scaler_ is not None and self.scaler_.method == self._scaling,
                "scaler_", f"scale by {self._scaling!r}", self.scaler_)  # fmt: skip

    def _shares(self, n_members: int) -> Float64Array:
        if self.weights is None:
            return np.full(n_members, 1.0 / n_members)
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (n_members,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(
                f"weights must hold one number >= 0 for each of the {n_members} rankers, got "
                f"{self.weights!r}."
            )
        if not weights.any():
            raise ValueError("weights must not be all zero.")
        return weights / weights.sum()

    def of_scores(
        self, scores: ArrayLike, qid: ArrayLike | QueryGroups | None = None
    ) -> Float64Array:
        """Blend existing scores of any systems, without fitting.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_rankers)
            Scores of each ranker.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one query.

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        table = np.asarray(scores, dtype=np.float64)
        groups = QueryGroups.from_qid(qid, len(table))
        scaled = QueryScaler(self._scaling).fit_transform(table, qid=groups)
        sizes = groups.sizes[groups.codes()]
        return self._points(scaled, sizes[:, None]) @ self._shares(table.shape[1])

    def _combine(self, scaled: Float64Array, groups: QueryGroups | None) -> Float64Array:
        if groups is None:
            sizes = np.full(len(scaled), self.n_rows_)
        else:
            sizes = groups.sizes[groups.codes()]
        return self._points(scaled, sizes[:, None]) @ self.weights_

    def _points(self, scaled: Float64Array, sizes: Any) -> Float64Array:
        """Values to average, from scaled scores and the number of rows of their scaling."""
        return scaled
