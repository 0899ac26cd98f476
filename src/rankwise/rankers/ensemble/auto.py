"""AutoRanker: several families of rankers within a time budget, blended with equal weights.

Composition: columns of X, scaled columns and random nodes x losses of LambdaMART, RankSVM and least
squares x their solvers; a mean of scores divided by their spread on held-out queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import POSITIVE, Interval, StrOptions, minimum
from rankwise.checks.rows import check_fit, check_rows, check_validation
from rankwise.groups import QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.default import GRADED, MISRANKING, is_graded
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.rankers.ensemble.auto_search import CLOCKS, HeldOut, Member, TrialRows, WeightedBlend
from rankwise.rankers.ensemble.auto_trials import FAMILIES, Trial, bags, settings
from rankwise.rankers.ensemble.held_out_scores import parts
from rankwise.rows.fit_data import FitData
from rankwise.rows.row_hash import canonical_order
from rankwise.structure.rules import Fitted, Many, Number, Plain, Rule, Word, floats, require
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix, is_sparse

# From these sizes on, a single part of the queries is held out instead of each part in turn.
_MANY_QUERIES, _MANY_ROWS, _SHARE = 1_000, 100_000, 0.8
# Sparse rows with at most this number of values are made dense.
_MOST_DENSE = 10**8
_FEWEST_TREES, _PROBED_TREES, _FIRST_SHARE = 50, 10, 0.4


class AutoRanker(Ranker):
    """Blend of linear rankers, random nodes and boosted trees, trained within a time budget.

    The score is ``f(x) = sum_k w_k (f_k(x) - m_k)``. Trees have half of the weight, linear rankers
    and nodes a quarter each, if they are kept. The score of a family is the mean of its models.
    Models, families and the sum of the two smooth families are divided by their spread within
    held-out queries.

    Parameters
    ----------
    time_budget : float > 0 or None, default=60.0
        Time limit in seconds. A trial that would probably exceed the limit is not started, and the
        number of trees is limited to fit. None: no limit; all trials are made.
    measure : str, optional
        Tuning metric for penalties, the number of trees and the choice of families, see
        :func:`rankwise.metrics.parse`. Trees also optimise it, if possible. None: nDCG@10 for
        grades; otherwise pairwise misranking, for which trees optimise nDCG.
    n_trials : int >= 1, optional
        Largest number of trials, out of 10 settings and 12 bags. None: all.
    cv : int >= 2, default=5
        Number of folds of queries if ``fit`` receives no validation rows (folds of rows if there
        are fewer queries than folds). From 1,000 queries or 100,000 rows on, a fifth of the queries
        is held out once instead.
    clock : {"wall", "cpu"}, default="wall"
        Clock of ``time_budget``: elapsed seconds, or CPU seconds of all threads of the process.
    random_state : int, RandomState or None, default=None
        Seed of all trials.
    n_jobs : int, optional
        Number of threads of the trees. None or -1: all CPUs of this process.

    Attributes
    ----------
    models_ : list of fitted rankers
        Models of the blend.
    weights_ : ndarray of shape (n_models,)
        Factor w of the scores of each model; 0 if its scores do not differ.
    levels_ : ndarray of shape (n_models,)
        Mean score m of each model for held-out rows.
    families_ : list of str
        Families that are kept, out of "linear", "nodes" and "trees".
    center_, scale_ : ndarray of shape (n_features_in_,)
        Linear rankers and nodes receive ``(x - center_) * scale_``, or 0 if x is missing.
    is_sparse_ : bool
        Whether the training rows stayed sparse.
    history_ : list of dict
        Record of every trial: "trial", "family", "params", "value" (mean of the measure on held-out
        queries, larger is better), "seconds" and "kept".
    values_ : dict of str to float
        Mean of the measure on held-out queries: for the best model of every family ("linear",
        "nodes" and "trees"), for each family as a whole ("linear all", ...) and for the "blend".
    seconds_ : float
        Time of ``fit`` by ``clock``.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    The trials are, in this order: RidgeRanker; RankSVM with equal weights of pairs, and of
    documents; PairwiseELM with the same two weightings; five settings of LambdaMART with early
    stopping; then bags. Bags are other draws of the best nodes, and of the best trees on 70 % of
    the queries and of the features. Penalties and numbers of trees are chosen on held-out queries:
    X_val, or the queries that a fold leaves out. The models of all folds are kept, so all rows are
    used for training without validation rows.

    The same rule selects models of a family, then the two smooth families, then these and the
    trees. A candidate is removed while the blend without it is clearly better on the held-out
    queries. If the best candidate alone is clearly better than the blend, only this one is kept.
    "Clearly" means a one-sided paired t test by query at 1 %. Weights are equal and not tuned.

    Scales of scores are fixed in ``fit``, so the score of a row does not depend on other rows:
    documents can be scored one at a time, and models can be exported to ONNX.

    Results are deterministic if ``time_budget`` is None or not reached; the order of the queries
    changes them only by rounding. If the budget is reached, the trials depend on the machine.
    ``sample_weight`` is not accepted. For linear rankers and nodes, missing values are replaced by
    the mean of the column. Sparse rows are made dense up to 1e8 values, including zeros. Larger
    ones remain sparse, are not centred and are not tried with trees.

    References
    ----------
    .. [1] Lee, "Analyses of multiple evidence combination", SIGIR 1997 (sums of normalised
       scores).
    .. [2] Caruana et al., "Ensemble selection from libraries of models", ICML 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import AutoRanker
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y, qid = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int), np.arange(300) // 10
    >>> ranker = AutoRanker(time_budget=None, n_trials=6, random_state=0).fit(X, y, qid=qid)
    >>> ranker.report().splitlines()[0]
    'trial                    held out   seconds'
    >>> ranker.score(X, y, qid=qid) > 0.95
    True
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "models_": Many(Fitted("n_features_in_"), "n_models"),
        "weights_": floats("n_models", low=0),
        "levels_": floats("n_models"),
        "families_": Many(Word(FAMILIES)),
        "center_": floats("n_features_in_"),
        "scale_": floats("n_features_in_", low=0),
        "is_sparse_": Number("b"),
        "history_": Plain(),
        "values_": Plain(),
        "seconds_": Plain(),
    }

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": UNUSED}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "time_budget": [POSITIVE, None],
        "measure": [str, None],
        "n_trials": [minimum(1), None],
        "cv": [minimum(2)],
        "clock": [StrOptions(set(CLOCKS))],
        "random_state": ["random_state"],
        "n_jobs": [
            Interval(Integral, None, -1, closed="right"),
            minimum(1),
            None,
        ],
    }

    def __init__(
        self,
        time_budget: float | None = 60.0,
        *,
        measure: str | None = None,
        n_trials: int | None = None,
        cv: int = 5,
        clock: Literal["wall", "cpu"] = "wall",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.time_budget = time_budget
        self.measure = measure
        self.n_trials = n_trials
        self.cv = cv
        self.clock = clock
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Try rankers until the time is used up, and keep those that the blend benefits from.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Features. NaN means missing.
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one query, and folds contain single rows.
        X_val, y_val, qid_val : array-like, optional
            Validation rows that replace the folds.

        Raises
        ------
        ValueError
            If an input is invalid (the message names it), or if no ranker can be fitted.
        """
        self._validate_params()
        start = self._now()
        data = check_fit(self, X, y, qid, allow_nan=True)
        validation = check_validation(self, data, X_val, y_val, qid_val, allow_nan=True)
        self._set_score_name(data.y)
        self.is_sparse_ = is_sparse(data.X) and data.X.shape[0] * data.X.shape[1] > _MOST_DENSE
        data = self._prepared(data)
        self.center_, self.scale_ = _scaling(data.X)
        held = HeldOut(self._parts(data, validation), parse(self._measure(data)))
        held.check()
        members = self._tried(data, held, start)
        self._blend(held, members)
        self.seconds_ = self._now() - start
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher."""
        check_is_fitted(self)
        X = self._dense(check_rows(self, X, allow_nan=True))
        scaled, scores = self._scaled(X), np.zeros(X.shape[0])
        for model, weight, level in zip(self.models_, self.weights_, self.levels_, strict=True):
            if weight > 0:
                found = model.predict(X if isinstance(model, LambdaMART) else scaled)
                scores += weight * (found - level)
        return scores

    def report(self) -> str:
        """Table of the models tried, their held-out scores, and the models kept."""
        check_is_fitted(self)
        width = max(len("trial"), *(len(row["trial"]) for row in self.history_))
        lines = [f"{'trial':<{width}}   held out   seconds"]
        for row in self.history_:
            mark = "kept" if row["kept"] else ""
            lines.append(
                f"{row['trial']:<{width}} {row['value']:>10.4f} {row['seconds']:>9.2f}   {mark}"
            )
        kept = ", ".join(self.families_)
        lines.append(f"{'blend':<{width}} {self.values_['blend']:>10.4f}   of {kept}")
        return "\n".join([line.rstrip() for line in lines])

    def _check_structure(self) -> None:
        require(self.models_, "models_", "have an item", "none")

    def _now(self) -> float:
        return CLOCKS[self.clock]()

    def _measure(self, data: FitData) -> str:
        return self.measure or (GRADED if is_graded(data.y) else MISRANKING)

    def _scaled(self, X: Matrix) -> Matrix:
        if is_sparse(X):
            scaled = X.multiply(self.scale_).tocsr().astype(np.float64)
            scaled.data = np.nan_to_num(scaled.data)
            return scaled
        return np.nan_to_num((X - self.center_) * self.scale_)

    def _dense(self, X: Matrix) -> Matrix:
        if self.is_sparse_ or not is_sparse(X):
            return X
        return X.toarray()

    def _prepared(self, data: FitData) -> FitData:
        """Rows sorted by query and by content."""
        X = self._dense(data.X)
        order, sizes = canonical_order(X, data.y, data.groups)
        return FitData(X[order], data.y[order], QueryGroups.from_sizes(sizes), None)

    def _parts(
        self, data: FitData, validation: FitData | None
    ) -> list[tuple[TrialRows, TrialRows]]:
        if validation is not None:
            return [(self._rows(data), self._rows(self._prepared(validation)))]
        rows = self._rows(data)
        n_queries = int(rows.qid.max()) + 1
        is_large = n_queries >= _MANY_QUERIES or (n_queries > 1 and len(rows.y) >= _MANY_ROWS)
        splits = parts(self.cv, _SHARE if is_large else None, data, rows.qid)
        return [(rows.take(train), rows.take(test)) for train, test in splits]

    def _rows(self, data: FitData) -> TrialRows:
        return TrialRows(data.X, self._scaled(data.X), data.y, data.groups.codes())

    def _trials(self, data: FitData, members: list[Member]) -> Iterator[Trial]:
        """The settings, followed by bags of the best settings."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1000))
        measure, graded = self._measure(data), is_graded(data.y)
        # Discounted gains need labels from 0 on, so early stopping watches the tuning metric below.
        watched = measure if data.y.min() < 0 else None
        for trial in settings(measure, graded, seed, self.n_jobs, watched=watched):
            if trial.family != "trees" or not self.is_sparse_:
                yield trial
        best = [
            max((member for member in members if member.trial.family == family), key=_value).trial
            for family in FAMILIES
            if any(member.trial.family == family for member in members)
        ]
        yield from bags(best, seed)

    def _tried(self, data: FitData, held: HeldOut, start: float) -> list[Member]:
        """Fitted trials, as many as ``time_budget`` and ``n_trials`` allow."""
        members: list[Member] = []
        error: ValueError | None = None
        for number, trial in enumerate(self._trials(data, members)):
            if number == self.n_trials:
                break
            fitting = self._within_time(trial, held, members, start)
            if fitting is None:
                continue
            try:
                members.append(held.fit(fitting, CLOCKS[self.clock]))
            except ValueError as raised:  # for instance on a fold without pairs to order
                error = raised
        if not members:
            raise ValueError(
                f"AutoRanker cannot fit any ranker on parts of n_samples={len(data.y)} rows, with "
                f"cv={self.cv} if there are no validation rows. The last error: {error} Pass "
                "more rows, or labels that differ in more queries."
            )
        return members

    def _within_time(
        self, trial: Trial, held: HeldOut, members: list[Member], start: float
    ) -> Trial | None:
        """The trial, with as many trees as the time allows; None if the time is too short."""
        if self.time_budget is None or not members:
            return trial
        left = self.time_budget - (self._now() - start)
        known = [member for member in members if member.trial.family == trial.family]
        if trial.family != "trees":
            expected = max((member.seconds for member in known), default=0.0)
            return trial if expected < left else None
        if left <= 0:
            return None
        if known:
            seconds, share = max(_seconds_a_tree(member) for member in known), 1.0
        else:
            seconds, share = self._probed(trial, held), _FIRST_SHARE
        most = int(share * (self.time_budget - (self._now() - start)) / max(seconds, 1e-9))
        if most < _FEWEST_TREES:
            return None
        return trial.again(trial.name, n_estimators=min(most, trial.estimator.n_estimators))

    def _probed(self, trial: Trial, held: HeldOut) -> float:
        """Seconds per tree, summed over the parts; 0 if trees cannot be fitted to any part."""
        probe = trial.again(trial.name, n_estimators=_PROBED_TREES).estimator
        for rows, _ in held.parts:
            # Twice, because the first fit compiles; a part without pairs to order raises.
            with suppress(ValueError):
                probe.fit(rows.X[:1000], rows.y[:1000], qid=rows.qid[:1000])
            with suppress(ValueError):
                start = self._now()
                probe.fit(rows.X, rows.y, qid=rows.qid)
                return (self._now() - start) / _PROBED_TREES * len(held.parts)
        return 0.0

    def _blend(self, held: HeldOut, members: list[Member]) -> None:
        """Select members and families, and set the models and their weights."""
        blends: dict[str, WeightedBlend] = {}
        self.values_: dict[str, float] = {}
        for family in FAMILIES:
            family_members = {k: m for k, m in enumerate(members) if m.trial.family == family}
            alone = [
                WeightedBlend(m.scores, {k: 1.0})
                for k, m in family_members.items()
                if m.scales.any()
            ]
            if alone:
                blends[family] = held.blend(alone)
                self.values_[family] = max(member.value for member in family_members.values())
                self.values_[f"{family} all"] = held.value(blends[family].scores)
        smooth = [blends[family] for family in ("linear", "nodes") if family in blends]
        halves = [held.blend(smooth)] if smooth else []
        halves += [blends["trees"]] if "trees" in blends else []
        blend = held.blend(halves) if halves else WeightedBlend(members[0].scores, {0: 0.0})
        self.values_["blend"] = held.value(blend.scores)
        self.models_, weights, levels = [], [], []
        for number, weight in blend.weights.items():
            member = members[number]
            share = weight / len(member.models)
            self.models_ += member.models
            weights += [share / scale if scale > 0 else 0.0 for scale in member.scales.tolist()]
            levels += member.levels.tolist()
        self.weights_, self.levels_ = np.array(weights), np.array(levels)
        kept = {members[number].trial.family for number in blend.weights}
        self.families_ = [family for family in FAMILIES if family in kept]
        self.history_ = [_told(member, k in blend.weights) for k, member in enumerate(members)]


def _told(member: Member, kept: bool) -> dict[str, Any]:
    params = member.trial.estimator.get_params(deep=False)
    return {
        "trial": member.trial.name,
        "family": member.trial.family,
        "params": {name: value for name, value in params.items() if _is_plain(value)},
        "value": member.value,
        "seconds": member.seconds,
        "kept": kept,
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _value(member: Member) -> float:
    return member.value


def _seconds_a_tree(member: Member) -> float:
    """Seconds per tree, summed over the parts, including trees removed by early stopping."""
    n_trees = np.mean([len(model.validation_scores_) for model in member.models])
    return member.seconds / max(float(n_trees), 1.0)


def _scaling(X: Matrix) -> tuple[Float64Array, Float64Array]:
    """Center and scale of every column; the scale is 0 if a column does not vary.

    Dense columns are scaled to mean 0, and to a spread at which sums of d columns with weights in
    [-1, 1] have variance 1, so nodes are neither linear nor saturated. Sparse columns are scaled to
    the largest value 1.
    """
    d = X.shape[1]
    if is_sparse(X):
        largest = np.zeros(d)
        np.maximum.at(largest, X.indices, np.nan_to_num(np.abs(X.data)).astype(np.float64))
        return np.zeros(d), np.divide(1.0, largest, out=np.zeros(d), where=largest > 0)
    defined = np.isfinite(X)
    count = np.maximum(defined.sum(axis=0), 1)
    filled = np.where(defined, X, 0.0)
    center = filled.sum(axis=0, dtype=np.float64) / count
    squares = (np.where(defined, X - center, 0.0) ** 2).sum(axis=0) / count
    sd = np.sqrt(squares)
    varies = sd > 1e-12 * np.maximum(np.abs(center), 1e-300)
    return center, np.divide(np.sqrt(3.0 / d), sd, out=np.zeros(d), where=varies)
