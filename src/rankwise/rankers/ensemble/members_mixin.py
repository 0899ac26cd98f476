"""Mixin of ensembles of rankers: nested parameters, and scores within a query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.rows import check_fit, check_rows, check_validation
from rankwise.features.query_scaling import QueryScaler
from rankwise.groups import QueryGroups
from rankwise.metrics.default import GRADED, MISRANKING, is_graded
from rankwise.rankers.ensemble.members import (
    check_members,
    make_member,
    member_scores,
    name_members,
)
from rankwise.rows.fit_data import FitData
from rankwise.runtime.finite import FiniteResults
from rankwise.structure.rules import Dictionary, Fitted, Many, Optional, Rule, Word, require
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

# A linear, a smooth and a stepwise ranker, none of which needs an extra.
DEFAULT_RANKERS = ("rank_svm", "pairwise_elm", "rank_boost")


class MembersMixin(FiniteResults, BaseEstimator):
    """Mixin of rankers whose scores are computed from scores of other rankers in the same query.

    A subclass has the parameters ``estimators``, ``measure`` and ``random_state``, sets ``models_``
    and ``scaler_`` in ``fit``, and defines ``_combine``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "models_": Many(Dictionary(Word(), Fitted("n_features_in_"))),
        "scaler_": Optional(Fitted("n_members")),
    }

    # sample_weight is not accepted, because most members do not support it.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": UNUSED}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {"qid": True}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimators": [list, tuple],
        "measure": [str, None],
        "random_state": ["random_state"],
    }
    estimators: Any
    measure: str | None
    random_state: Any
    models_: list[dict[str, Any]]
    scaler_: QueryScaler | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with ``deep`` also every ranker by name and its parameters as ``name__…``."""
        params = super().get_params(deep=deep)
        if not deep:
            return params
        for name, ranker in name_members(self.estimators):
            if hasattr(ranker, "get_params"):
                nested = ranker.get_params(deep=True)
                params |= {name: ranker, **{f"{name}__{key}": nested[key] for key in nested}}
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters; a value for the name of a ranker replaces this ranker."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        named = name_members(self.estimators)
        new = {name: params.pop(name) for name, _ in named if name in params}
        if new:
            self.estimators = [(name, new.get(name, ranker)) for name, ranker in named]
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [get_tags(estimator).input_tags for estimator in self._examples()]
        tags.input_tags.sparse = all(member.sparse for member in members)
        tags.input_tags.allow_nan = all(member.allow_nan for member in members)
        return tags

    def predict(self, X: FrameLike, *, qid: ArrayLike | QueryGroups | None = None) -> Float64Array:
        """Score of every row; a higher score ranks higher within its query.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        qid : array-like of shape (n_samples,), optional
            Query of each row, within which ranker scores are scaled. None: scores are scaled with
            the statistics of all rows of ``fit``, so the score of a row does not depend on other
            rows.

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        check_is_fitted(self)
        tags = self.__sklearn_tags__().input_tags
        X = check_rows(self, X, accept_sparse=tags.sparse, allow_nan=tags.allow_nan)
        groups = None if qid is None else QueryGroups.from_qid(qid, X.shape[0])
        return self._combine(self._member_columns(X, groups), groups)

    def _check_structure(self) -> None:
        require(self.models_, "models_", "have an item", "none")
        names, scaler = list(self.models_[0]), self.scaler_
        for number, members in enumerate(self.models_):
            require(list(members) == names and names, f"models_[{number}]",
                    f"have the rankers {names}", list(members))  # fmt: skip
        if scaler is not None:
            require(type(scaler) is QueryScaler, "scaler_", "be a QueryScaler", scaler)
            width: Any = vars(scaler)["n_features_in_"]
            require(width == len(names), "scaler_.n_features_in_", f"be {len(names)}", width)

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Float64Array:
        return self.predict(X, qid=qid)

    def _combine(self, scaled: Float64Array, groups: QueryGroups | None) -> Float64Array:
        """Scores computed from the scaled scores of the members."""
        raise TypeError(f"{type(self).__name__} must define _combine.")

    def _member_columns(self, X: Matrix, groups: QueryGroups | None) -> Float64Array:
        """Scaled scores of the members, averaged if there are several models of each."""
        ids = None if groups is None else groups.row_ids()
        found = [self._scale(member_scores(m, X, ids), groups) for m in self.models_]
        return np.mean(found, axis=0)

    def _scale(self, scores: Float64Array, groups: QueryGroups | None) -> Float64Array:
        return scores if self.scaler_ is None else self.scaler_.transform(scores, qid=groups)

    def _check_rows(
        self,
        X: FrameLike,
        y: ArrayLike,
        qid: ArrayLike | QueryGroups | None,
        validation: tuple[FrameLike | None, ArrayLike | None, ArrayLike | None],
    ) -> tuple[FitData, dict[str, Any] | None]:
        """Checked rows, and validation data under the argument names of ``fit``."""
        self._validate_params()
        check_members(self.estimators, list(super().get_params(deep=False)))
        tags = self.__sklearn_tags__().input_tags
        rules = {"accept_sparse": tags.sparse, "allow_nan": tags.allow_nan}
        data = check_fit(self, X, y, qid, None, pairs=False, **rules)
        rows = check_validation(self, data, *validation, **rules)
        if rows is None:
            return data, None
        ids = None if validation[2] is None else rows.groups.row_ids()
        return data, {"X_val": rows.X, "y_val": rows.y, "qid_val": ids}

    def _members(self, data: FitData, has_validation: bool) -> dict[str, Any]:
        """Unfitted rankers by name."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        measure = self._measure(data)
        return {
            name: make_member(ranker, measure, seed, has_validation=has_validation)
            for name, ranker in name_members(self.estimators)
        }

    def _measure(self, data: FitData) -> str:
        return self.measure or (GRADED if is_graded(data.y) else MISRANKING)

    def _examples(self) -> Iterator[Any]:
        """Unfitted rankers, without those whose extra is not installed."""
        for _, ranker in name_members(self.estimators):
            with suppress(ImportError):
                yield make_member(ranker, GRADED, 0)
