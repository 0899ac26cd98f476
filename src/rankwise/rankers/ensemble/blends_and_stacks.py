"""Rankers from scores of given rankers: StackingRanker and three blends of scores or ranks.

Composition: scores of rankers, standardised or as ranks within each query x a weighted mean of
these, or of ``1 / (k + rank)``; held-out scores, and their products x any ranker.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import (
    NOT_NEGATIVE,
    HasMethods,
    Hidden,
    Interval,
    Options,
    StrOptions,
    minimum,
)
from rankwise.features.query_scaling import QueryScaler, scale_rows
from rankwise.features.score_expansions import ProductsMap
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.measure import MeasureLike
from rankwise.prediction import scores_of
from rankwise.rankers.ensemble.members import (
    DEFAULT_RANKERS,
    HeldOutScores,
    MembersMixin,
    fit_member,
    fit_members,
    make_member,
    member_scores,
    parts,
    query_numbers,
    score_held_out,
)
from rankwise.rankers.pair_ranker import RankLR
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.renames import SPELLINGS
from rankwise.solvers.boosting.chosen_rounds import trains_on_validation
from rankwise.structure.state_rules import Fitted, Number, Optional, Rule, floats, require
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Seed


class Blend(MembersMixin, Ranker):
    """Base of blends; subclasses set the scaling and may override ``_points``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "weights_": floats("n_members", low=0),
        "n_rows_": Number(low=0),
    }

    _scaling: ClassVar[Literal["standard", "min_max", "rank"]]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MembersMixin._parameter_constraints,
        "weights": ["array-like", None],
    }

    def __init__(
        self,
        estimators: Sequence[Any] = DEFAULT_RANKERS,
        weights: ArrayLike | None = None,
        *,
        measure: MeasureLike | None = None,
        random_state: Seed = None,
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
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
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
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w equal rows. All rankers must
            accept weights.
        X_val, y_val, qid_val : array-like, optional
            Validation data for rankers that tune parameters or stop early on it.
        """
        data, validation = self._check_rows(X, y, qid, sample_weight, (X_val, y_val, qid_val))
        self._set_score_name(data.y)
        members = self._members(data, validation is not None)
        self.weights_: Float64Array = self._shares(len(members))
        ids = None if qid is None else query_numbers(data)
        weight = data.sample_weight
        self.models_: list[dict[str, Any]] = [
            fit_members(members, data.X, data.y, ids, validation, weight)
        ]
        scores = member_scores(self.models_[0], data.X, ids)
        self._set_scaler(self._scaling, scores, weight)
        n_rows = len(scores) if weight is None else float(weight.sum())
        self.n_rows_: float = int(n_rows) if n_rows % 1 == 0 else n_rows
        return self

    def _check_structure(self) -> None:
        super()._check_structure()
        n = len(self.models_[0])
        require(len(self.weights_) == n, "weights_", f"have {n} entries", len(self.weights_))
        require(self.scaler_ is not None and self.scaler_.scaling == self._scaling,
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

    def _blend(self, table: Float64Array, qid: ArrayLike | QueryGroups | None) -> Float64Array:
        """Blend existing scores (n_samples, n_rankers), without fitting."""
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
    random_state : int, RandomState, Generator or None, default=None
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
        Number of rows of ``fit``; the sum of their weights, a float if that is not whole.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Training fits every ranker once. There is no final model, so no queries are reserved for it.
    Without ``qid``, ``predict`` scales scores with the statistics of the rows of ``fit``.

    Apart from the rankers, N rows take O(N) time and memory for each of them.

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
    random_state : int, RandomState, Generator or None, default=None
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
        Number of rows of ``fit``; the sum of their weights, a float if that is not whole.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Training fits every ranker once. Rows with equal scores under a ranker share their ranks.
    Without ``qid``, ``predict`` uses ranks among the rows of ``fit``.

    Apart from the rankers, N rows take O(N log N) time and O(N) memory for each of them.

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
    """Mean over rankers of ``1 / (rank_constant + r)`` for the rank r of a row in its query.

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        As in :class:`StackingRanker`.
    weights : array-like of shape (n_rankers,), >= 0, or None, default=None
        Weight of each ranker. None: equal weights.
    rank_constant : float >= 0, default=60.0
        Smoothing constant: the larger it is, the smaller the advantage of the top ranks.
    measure : str or None, default=None
        Tuning metric of rankers given by registry key. None: nDCG@10 for grades, otherwise pairwise
        misranking.
    random_state : int, RandomState, Generator or None, default=None
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
        Number of rows of ``fit``; the sum of their weights, a float if that is not whole.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    This is reciprocal rank fusion. Training fits every ranker once. Rows with equal scores under a
    ranker share the mean of their ranks. Without ``qid``, ``predict`` uses ranks among the rows of
    ``fit``.

    Apart from the rankers, N rows take O(N log N) time and O(N) memory for each of them.

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
        "rank_constant": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        estimators: Sequence[Any] = DEFAULT_RANKERS,
        weights: ArrayLike | None = None,
        *,
        rank_constant: float = 60.0,
        measure: MeasureLike | None = None,
        random_state: Seed = None,
    ) -> None:
        super().__init__(estimators, weights, measure=measure, random_state=random_state)
        self.rank_constant = rank_constant

    def _points(self, scaled: Float64Array, sizes: Float64Array) -> Float64Array:
        rank = (sizes + 1) / 2 - sizes * scaled
        return 1.0 / (self.rank_constant + rank)


class StackingRanker(MembersMixin, Ranker):
    """Final ranker trained on the scores of other rankers for held-out queries (stacking).

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        Rankers, ordinal estimators (their ``rank_score`` is used), scikit-learn regressors and
        pipelines. A bare key such as "lambdamart" is its tuned recipe, which ``rankwise list``
        shows; "lambdamart()" and "lambdamart(n_estimators=50)" are the class with its defaults and
        these parameters. Grids and numbers of trees of recipes are chosen on the validation rows.
        Without them, grids are chosen on a quarter of the queries and numbers of trees by folds,
        see :func:`rankwise.selection.tune`, and the choice is then fitted on all rows.
        Nested parameters are named ``name__parameter``; an estimator without a name has its
        registry key as name.
    final_estimator : estimator, registry key, "mean" or None, default=None
        Ranker that is trained on the scores. None: ``RankLR(C="cv", query_weight="query")``.
        "mean": the mean of the scores, without training; held-out scores are then used for
        ``n_best`` only.
    cv : int, splitter, iterable of (train rows, test rows) or None, default=5
        Number of folds of queries: every query is scored by rankers that were fitted without it.
        None: 5. Folds contain single rows if there are fewer queries than folds.
    share : float in (0, 1) or None, default=None
        Replaces ``cv``: rankers are fitted on this share of the queries and ``final_estimator`` on
        the others, as in [1]_ with 0.8.
    scaling : {"standard", "min_max", "rank"} or None, default="standard"
        Scaling of the scores of a ranker within each query, see :class:`QueryScaler`.
    degree : {1, 2}, default=2
        1: ``final_estimator`` receives the scores. 2: it also receives the products of every two
        scores, including squares.
    n_best : int or None, default=None
        Number of rankers passed to ``final_estimator``, namely those with the best held-out scores
        by ``measure``. None: all.
    refit : bool, default=True
        Whether to fit the rankers again on all queries for ``predict``. False: the rankers of the
        held-out scores predict; with folds, their scaled scores are averaged.
    measure : str or None, default=None
        Tuning metric of keys, of the default ``final_estimator`` and of ``n_best``. None: nDCG@10
        for grades, otherwise pairwise misranking.
    random_state : int, RandomState, Generator or None, default=None
        Seed for every ranker whose own ``random_state`` is None.

    Attributes
    ----------
    models_ : list of dict of str to fitted estimator
        Rankers used by ``predict``; a single dict unless ``refit=False`` with folds.
    final_estimator_ : fitted estimator, or None for "mean"
        The fitted final ranker.
    scaler_ : QueryScaler or None
        Scaling of the scores of each ranker.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Folds are the default because ``final_estimator`` can then use all queries, and stacking helps
    on small data sets. A share needs 1 fit of every ranker instead of 5 (plus one to ``refit``).
    Scores are scaled within queries because models of different folds differ in level and spread,
    and because only the order within a query matters.

    ``X_val, y_val, qid_val`` are passed to every ranker and ``final_estimator`` that accepts them,
    in every fold. Estimators are used unchanged: one with ``C="val"`` needs validation data.
    Rankers receive query numbers as query ids.

    A row of weight w counts as w equal rows: in the fits of the rankers and of ``final_estimator``,
    and in the statistics that scale scores. For ``n_best``, held-out rows count once.

    Training makes ``cv + 1`` fits of every ranker and one fit of ``final_estimator``. Apart from
    these, N rows take O(N) time and memory for each ranker.

    Differs from [1]_: out-of-fold scores instead of one held-out part, unless
    ``share=0.8, refit=False``.

    References
    ----------
    .. [1] Tsai et al., "An ensemble ranking solution to the Yahoo! learning to rank challenge",
       technical report, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PointwiseELM, RankSVM, StackingRanker
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> y, qid = (X[:, 0] > 0.3) * 1 + (X[:, 0] + X[:, 1] > 1), np.arange(80) // 8
    >>> stack = StackingRanker([RankSVM(), ("elm", PointwiseELM(50, random_state=0))])
    >>> stack.fit(X, y, qid=qid).final_estimator_.coef_.shape
    (5,)
    >>> bool(stack.score(X, y, qid=qid) > 0.9)
    True
    >>> stack.set_params(elm__n_nodes=20).get_params()["elm"].n_nodes
    20
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "final_estimator_": Optional(Fitted()),
    }

    scaling: Literal["standard", "min_max", "rank"] | None
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MembersMixin._parameter_constraints,
        "final_estimator": [
            HasMethods(["fit", "predict"]),
            HasMethods(["fit", "rank_score"]),
            str,
            None,
        ],
        "cv": ["cv_object"],
        "share": [Interval(Real, 0, 1, closed="neither"), None],
        "scaling": [
            StrOptions({"standard", "min_max", "rank"}),
            Hidden(StrOptions({*SPELLINGS})),
            None,
        ],
        "degree": [Options(Integral, {1, 2})],
        "n_best": [minimum(1), None],
        "refit": ["boolean"],
    }

    def __init__(
        self,
        estimators: Sequence[Any] = DEFAULT_RANKERS,
        final_estimator: Any = None,
        *,
        cv: Any = 5,
        share: float | None = None,
        scaling: Literal["standard", "min_max", "rank"] | None = "standard",
        degree: int = 2,
        n_best: int | None = None,
        refit: bool = True,
        measure: MeasureLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.share = share
        self.scaling = scaling
        self.degree = degree
        self.n_best = n_best
        self.refit = refit
        self.measure = measure
        self.random_state = random_state

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
        """Fit the rankers on each fold, the final ranker on their scores, and all rankers again.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Features. Sparse X and missing values are accepted if all rankers support them.
        y : array-like of shape (n_samples,)
            Grades or real-valued targets; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one query, and folds contain single rows.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w equal rows. All rankers and
            ``final_estimator`` must accept weights.
        X_val, y_val, qid_val : array-like, optional
            Validation data for rankers that tune parameters or stop early on it.
        """
        data, validation = self._check_rows(X, y, qid, sample_weight, (X_val, y_val, qid_val))
        self._set_score_name(data.y)
        has_qid, numbers = qid is not None, query_numbers(data)
        members = self._members(data, validation is not None)
        for name, member in members.items():
            if validation is not None and trains_on_validation(member):
                raise ValueError(
                    f"estimators: {name!r} must have refit=False if X_val is given, because "
                    "final_estimator chooses on it, got True. Drop refit, or X_val."
                )
        splits = parts(self.cv, self.share, data, numbers)
        held = score_held_out(members, data, splits, numbers, has_qid, validation)
        if self.n_best is not None:
            held = held.best(self.n_best, parse(self._measure(data)))
        self.models_ = held.models
        if self.refit:
            ids = numbers if has_qid else None
            kept = {name: members[name] for name in held.models[0]}
            weight = data.sample_weight
            self.models_: list[dict[str, Any]] = [
                fit_members(kept, data.X, data.y, ids, validation, weight)
            ]
        self._set_scaler(self.scaling, held.scores, held.weight)
        self._fit_final(data, held, validation)
        return self

    def _check_structure(self) -> None:
        super()._check_structure()
        n = len(self.models_[0])
        expected = n if self.degree == 1 else ProductsMap(n).n_features_out
        width = getattr(self.final_estimator_, "n_features_in_", expected)
        require(width == expected, "final_estimator_.n_features_in_", f"be {expected}", width)

    def _fit_final(
        self, data: FitData, held: HeldOutScores, validation: dict[str, Any] | None
    ) -> None:
        self.final_estimator_: Any = None
        if self.final_estimator == "mean":
            return
        measure = self._measure(data)
        final = self.final_estimator
        if final is None:
            final = RankLR(C="cv", query_weight="query", measure=measure)
        seed = int(check_random_state(self.random_state).randint(2**31))
        has_validation = validation is not None
        member = make_member(
            final, measure, seed, has_validation=has_validation, setting="final_estimator"
        )
        scaled = held.scores
        if self.scaling is not None:
            scaled = scale_rows(self.scaling, scaled, held.groups, held.weight)
        columns = self._columns(scaled)
        if validation is not None:
            ids = validation["qid_val"]
            groups = None if ids is None else QueryGroups.from_qid(ids, len(ids))
            scaled = self._member_columns(validation["X_val"], groups)
            validation = {**validation, "X_val": self._columns(scaled)}
        self.final_estimator_ = fit_member(
            member, columns, held.y, held.qid, validation, held.weight, setting="final_estimator"
        )

    def _columns(self, scaled: Float64Array) -> Float64Array:
        return scaled if self.degree == 1 else ProductsMap(scaled.shape[1])(scaled)

    def _combine(self, scaled: Float64Array, groups: QueryGroups | None) -> Float64Array:
        if self.final_estimator_ is None:
            return scaled.mean(axis=1)
        ids = None if groups is None else groups.row_ids()
        return scores_of(self.final_estimator_, self._columns(scaled), ids)
