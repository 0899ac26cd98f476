"""Weighted means of scores or ranks: ScoreBlend, BordaBlend and ReciprocalRankBlend.

Composition: scores of rankers, standardised or as ranks within each query x a weighted mean of
these, or of ``1 / (k + rank)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import NOT_NEGATIVE
from rankwise.features.query_scaling import QueryScaler
from rankwise.groups import QueryGroups
from rankwise.rankers.ensemble.members import (
    DEFAULT_RANKERS,
    MembersMixin,
    fit_members,
    member_scores,
    query_numbers,
)
from rankwise.structure.state_rules import Number, Rule, floats, require
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


class ScoreBlend(Blend):
    """Mean of ranker scores that are scaled to mean 0 and variance 1 within each query.

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        As in :class:`StackingRanker`.
    weights : array-like of shape (n_rankers,), >= 0, or None, default=None
        Weight of each ranker. None: equal weights.
    measure : str or None, default=None
        Tuning metric of rankers given by registry key. None: nDCG@10 for grades, otherwise pairwise
        misranking.
    random_state : int, RandomState or None, default=None
        Seed for every ranker whose own ``random_state`` is None.

    Attributes
    ----------
    models_ : list of one dict of str to fitted estimator
        The fitted rankers by name.
    weights_ : ndarray of shape (n_rankers,)
        Weight of each ranker; the sum is 1.
    scaler_ : QueryScaler
        Scaling of the scores of each ranker.
    n_rows_ : int
        Number of rows of ``fit``.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Training fits every ranker once. There is no final model, so no queries are reserved for it.
    Without ``qid``, ``predict`` scales scores with the statistics of the rows of ``fit``.

    References
    ----------
    .. [1] Lee, "Analyses of multiple evidence combination", SIGIR 1997 (sums of normalised
       scores, CombSUM).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LinearRegressionRanker, RankSVM, ScoreBlend
    >>> X, y, qid = np.array([[0.0, 1], [2, 0], [1, 1], [0, 3]]), [0, 1, 0, 2], [1, 1, 2, 2]
    >>> blend = ScoreBlend([LinearRegressionRanker(), RankSVM()]).fit(X, y, qid=qid)
    >>> blend.rank(X, qid)
    array([2, 1, 2, 1])
    """

    _scaling = "standard"


class BordaBlend(Blend):
    """Mean over rankers of the rank of a row within its query (Borda count).

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        As in :class:`StackingRanker`.
    weights : array-like of shape (n_rankers,), >= 0, or None, default=None
        Weight of each ranker. None: equal weights.
    measure : str or None, default=None
        Tuning metric of rankers given by registry key. None: nDCG@10 for grades, otherwise pairwise
        misranking.
    random_state : int, RandomState or None, default=None
        Seed for every ranker whose own ``random_state`` is None.

    Attributes
    ----------
    models_ : list of one dict of str to fitted estimator
        The fitted rankers by name.
    weights_ : ndarray of shape (n_rankers,)
        Weight of each ranker; the sum is 1.
    scaler_ : QueryScaler
        Scaling to centred Borda points: ``(below - above) / (2 m)`` for m rows of a query.
    n_rows_ : int
        Number of rows of ``fit``.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Training fits every ranker once. Rows with equal scores under a ranker share their ranks.
    Without ``qid``, ``predict`` uses ranks among the rows of ``fit``.

    References
    ----------
    .. [1] Aslam & Montague, "Models for metasearch", SIGIR 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import BordaBlend, LinearRegressionRanker, RankSVM
    >>> X, y, qid = np.array([[0.0, 1], [2, 0], [1, 1], [0, 3]]), [0, 1, 0, 2], [1, 1, 2, 2]
    >>> blend = BordaBlend([LinearRegressionRanker(), RankSVM()]).fit(X, y, qid=qid)
    >>> blend.predict(X, qid=qid)
    array([-0.25,  0.25, -0.25,  0.25])
    """

    _scaling = "rank"


class ReciprocalRankBlend(Blend):
    """Mean over rankers of ``1 / (k + r)`` for the rank r of a row in its query.

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        As in :class:`StackingRanker`.
    weights : array-like of shape (n_rankers,), >= 0, or None, default=None
        Weight of each ranker. None: equal weights.
    k : float >= 0, default=60.0
        Smoothing constant: the larger k, the smaller the advantage of the top ranks.
    measure : str or None, default=None
        Tuning metric of rankers given by registry key. None: nDCG@10 for grades, otherwise pairwise
        misranking.
    random_state : int, RandomState or None, default=None
        Seed for every ranker whose own ``random_state`` is None.

    Attributes
    ----------
    models_ : list of one dict of str to fitted estimator
        The fitted rankers by name.
    weights_ : ndarray of shape (n_rankers,)
        Weight of each ranker; the sum is 1.
    scaler_ : QueryScaler
        Scaling of the scores of each ranker.
    n_rows_ : int
        Number of rows of ``fit``.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    This is reciprocal rank fusion. Training fits every ranker once. Rows with equal scores under a
    ranker share the mean of their ranks. Without ``qid``, ``predict`` uses ranks among the rows of
    ``fit``.

    References
    ----------
    .. [1] Cormack, Clarke & Buettcher, "Reciprocal rank fusion outperforms Condorcet and
       individual rank learning methods", SIGIR 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LinearRegressionRanker, RankSVM, ReciprocalRankBlend
    >>> X, y, qid = np.array([[0.0, 1], [2, 0], [1, 1], [0, 3]]), [0, 1, 0, 2], [1, 1, 2, 2]
    >>> blend = ReciprocalRankBlend([LinearRegressionRanker(), RankSVM()]).fit(X, y, qid=qid)
    >>> blend.predict(X, qid=qid).round(4)
    array([0.0161, 0.0164, 0.0161, 0.0164])
    """

    _scaling = "rank"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Blend._parameter_constraints,
        "k": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        estimators: Sequence[Any] = DEFAULT_RANKERS,
        weights: ArrayLike | None = None,
        *,
        k: float = 60.0,
        measure: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(estimators, weights, measure=measure, random_state=random_state)
        self.k = k

    def _points(self, scaled: Float64Array, sizes: Float64Array) -> Float64Array:
        rank = (sizes + 1) / 2 - sizes * scaled
        return 1.0 / (self.k + rank)
