"""Base of ordinal estimators whose penalty is searched."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from rankwise.equation import Equation, fit_equation
from rankwise.groups import QueryGroups
from rankwise.ordinal.ordinal_ranker import OrdinalRanker, check_ordinal_fit
from rankwise.rows.fit_data import FitData
from rankwise.structure.rules import Number, Plain, Rule, Sometimes
from rankwise.tuning.penalty_search import PenaltySearch
from rankwise.typing import ArrayLike, FrameLike


class SearchedOrdinalRanker(OrdinalRanker):
    """Base of ordinal estimators that are solved along C; a subclass defines ``_equation``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "C_": Number(low=0, finite=False),
        "n_iter_": Number("i", low=0),
        "objective_": Number(finite=False),
        "path_": Plain(),
        "cv_results_": Sometimes(Plain()),
    }

    measure: str
    cv: Any
    C_: float

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Train on rows of ordered classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Features. For a precomputed kernel: the kernel values between the rows, shape
            (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Ordered classes: numbers, an ordered categorical, or text with ``classes``.
        qid : array-like of shape (n_samples,), optional
            Query of each row, for folds and measures. Required by ``costs="err"``.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w copies of it.
        X_val, y_val, qid_val : optional
            Validation rows for the search over a list or "val".

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        rows = fit_equation(self, X, y, qid, sample_weight, (X_val, y_val, qid_val))
        self._complete_fit(rows)
        return self

    @property
    def _query_setting(self) -> str | None:
        """Parameter setting that requires ``qid``, as error messages write it."""
        return None

    def _equation(self) -> Equation:
        raise NotImplementedError(f"{type(self).__name__} must define _equation.")

    def _check_fit(
        self, equation: Equation, search: PenaltySearch, X: Any, y: Any, qid: Any, weight: Any
    ) -> FitData:
        limit = equation.features.column_limit
        return check_ordinal_fit(
            self, X, y, qid, weight, by_query=self._query_setting, column_limit=limit
        )

    def _complete_fit(self, rows: FitData) -> None:
        """Fit what needs the published solution."""
