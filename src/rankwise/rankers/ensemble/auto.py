"""AutoRanker: several families of rankers by a fixed plan; what it tells of its trials.

Composition: columns of X, scaled columns and random nodes x losses of LambdaMART, RankSVM and least
squares x their solvers; a mean of scores divided by their spread on held-out queries.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import Interval, StrOptions, minimum
from rankwise.checks.rows import check_fit, check_validation
from rankwise.features.binning import frequent_categories
from rankwise.groups import FitData, QueryGroups
from rankwise.losses.score_loss import QUERY_WEIGHTS, QueryWeight
from rankwise.metrics import Measure, parse
from rankwise.metrics.default import GRADED, MISRANKING, is_graded
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.metrics.statistics.stratified import t_intervals
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.rankers.ensemble.auto_search import (
    CLOCKS,
    FAMILIES,
    LEVEL,
    N_TRIALS,
    HeldOut,
    Member,
    TimeBudget,
    Trial,
    TrialPlan,
    TrialRows,
    add_indicators,
    bags,
    blend_families,
    fit_scaling,
    fold_rows,
    leave_out_times,
    scale_columns,
    settings,
)
from rankwise.rankers.ensemble.members import parts
from rankwise.row_order import canonical_order, merge_rows
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.frames import Table
from rankwise.runtime.messages import callers_level
from rankwise.runtime.progress import TimeLimitError, TrialStart, announce_start
from rankwise.runtime.result import ResultList
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.boosting.chosen_rounds import MANY_QUERIES
from rankwise.structure import state_rules as rules
from rankwise.structure.state_rules import (
    Many,
    Number,
    Plain,
    Rule,
    Sometimes,
    Word,
    floats,
    require,
)
from rankwise.trees.column_table import CategoricalInput, ColumnTable
from rankwise.tuning import DEFAULT_FOLDS
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FrameLike,
    Int64Array,
    Matrix,
    Seed,
    densify,
    is_sparse,
)

# From these sizes on, a single part of the queries is held out instead of each part in turn.
_MANY_ROWS, _SHARE = 100_000, 0.8
# Sparse rows with at most this number of values are made dense.
_MOST_DENSE = 10**8


class AutoRanker(CategoricalInput, Ranker):
    """Blend of linear rankers, random nodes and boosted trees, tried by a plan.

    The score is ``f(x) = sum_k w_k (f_k(x) - m_k)``. Trees have half of the weight, linear rankers
    and nodes a quarter each, if they are kept. The score of a family is the mean of its models.
    Models, families and the sum of the two smooth families are divided by their spread within
    held-out queries.

    Parameters
    ----------
    time_budget : float > 0 or None, default=None
        None: the trials follow a plan, which is fixed before the first fit by the numbers of rows,
        queries and columns, for about a minute on two cores; the result depends on the data and the
        seed alone. A number replaces the plan by a time limit in seconds, see the notes, so the
        result depends on the machine and its load. ``inf``: all trials are made.
    measure : str, Measure or callable, optional
        Tuning metric for penalties, the number of trees and the choice of families, see
        :func:`rankwise.metrics.parse`. Trees also optimise it, if possible. None: nDCG@10 for
        grades; otherwise pairwise misranking, for which trees optimise nDCG.
    n_trials : int >= 1, optional
        Largest number of trials, out of 10 settings and 12 bags. None: all.
    cv : int >= 2, splitter, iterable of (train rows, test rows) or None, default=5
        Number of folds of queries (None: 5) if ``fit`` receives no validation rows; folds of rows,
        two distinct ones or more in each, if there are fewer queries than folds. From 1,000 queries
        or 100,000 rows on, a fifth of the queries is held out once instead. A scikit-learn splitter
        gets the queries as ``groups``; row numbers of an iterable refer to X.
    query_weight : {"pair", "document", "query"} or None, default=None
        Weights of queries in the losses of rank_svm, pairwise_elm and lambdamart, see
        :class:`LambdaMART`. None: both "pair" and "document" are tried, and trees have "pair".
    clock : {"wall", "cpu"}, default="wall"
        Clock of ``time_budget``: elapsed seconds, or CPU seconds of all threads of the process.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all trials.
    n_jobs : int, optional
        Number of threads of the trees. None or -1: all cores of this process.
    verbose : bool, default=False
        Whether to write a line to stderr before each trial: its number and name, the best value so
        far, and the seconds of ``time_budget`` that are left.

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
    plan_ : list of dict
        Planned settings: "trial" and "limit", the largest number of trees, or of products with the
        rows in each part for an SVM's path of penalties (None: no limit); then the numbers of bags,
        as "bags of nodes" and "bags of trees". Empty with a ``time_budget``.
    is_cut_ : bool
        Whether ``time_budget`` cut the search: a trial was not started, has fewer trees, or ended
        before all penalties were tried. Another fit may then differ.
    history_ : list of dict
        Record of every trial: "trial", "family", "params", "value" (mean of the measure on held-out
        queries, larger is better), "low" and "high" (95 % Student's t interval of the value over
        queries), "seconds", "kept" and "cut" (whether its limit ended it before all penalties were
        tried).
    skipped_ : list of dict
        "trial", "family" and "reason" of the trials that were not planned, not started or failed.
    columns_ : ColumnTable
        Categories of the columns of the training rows.
    indicators_ : list of dict of int to ndarray
        For each model, the codes of the categories of each nominal column that linear rankers and
        nodes know.
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

    The plan leaves out trials that would take too long on large data, first the later bags, then
    later settings; trees may be fewer than 500. Without a ``time_budget``, the same data and seed
    give the same bits on any number of threads; the order of the queries changes the result only by
    rounding. With a budget, a trial that would probably exceed it is not started, and the number of
    trees is limited to fit. RankSVM may take a quarter of the time that is left, and then has the
    best of the penalties it has tried. ``is_cut_`` says whether anything was cut.

    A row of weight w counts as w equal rows of its query: equal rows are merged and their weights
    added. Among the held-out rows, equal rows count once, whatever their weight.

    Trees read text and categories of frames as :class:`LambdaMART` does by default. Linear rankers
    and nodes receive a column ``sqrt(3 / n_features_in_)`` or 0 for each of the 64 heaviest
    categories of a column, chosen in the training rows of each part; all other categories are
    0 in every column. Columns of dates, durations and times of day are left out with an
    IgnoredColumnsWarning. For linear rankers and nodes, missing numbers are replaced by the mean of
    the column. Sparse rows are made dense up to 1e8 values, including zeros. Larger ones remain
    sparse and are not centred.

    A trial takes O(N) time for N rows of a given number of columns d, and memory for O(N d)
    numbers.

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
    >>> ranker = AutoRanker(n_trials=6, random_state=0).fit(X, y, qid=qid)
    >>> ranker.report().splitlines()[0]
    'trial                   held out   seconds'
    >>> ranker.score(X, y, qid=qid) > 0.95
    True
    """

    columns_: ColumnTable
    center_: Float64Array
    scale_: Float64Array
    values_: dict[str, float]
    models_: list[Any]
    indicators_: list[Any]
    levels_: Float64Array
    weights_: Float64Array

    _structure: ClassVar[dict[str, Rule]] = {
        "models_": Many(rules.Fitted(), "n_models"),
        "weights_": floats("n_models", low=0),
        "levels_": floats("n_models"),
        "families_": Many(Word(FAMILIES)),
        "center_": floats("n_features_in_"),
        "scale_": floats("n_features_in_", low=0),
        "is_sparse_": Number("b"),
        # Models before categories were accepted lack these.
        "columns_": Sometimes(rules.Instance((ColumnTable,))),
        "indicators_": Sometimes(Many(rules.Dictionary(Number("i", low=0), Plain()), "n_models")),
        "skipped_": Sometimes(Plain()),
        "plan_": Sometimes(Plain()),
        "is_cut_": Sometimes(Number("b")),
        "history_": Plain(),
        "values_": Plain(),
        "seconds_": Plain(),
    }

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "time_budget": [Interval(Real, 0, None, closed="right"), None],
        "measure": [*MEASURE_KINDS, None],
        "n_trials": [minimum(1), None],
        "cv": ["cv_object"],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS)), None],
        "clock": [StrOptions(set(CLOCKS))],
        "random_state": ["random_state"],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), minimum(1), None],
        "verbose": ["boolean"],
    }

    n_features_in_: int
    columns_ = ColumnTable({}, {})
    # Its trees read codes as categories, and tell unknown ones from missing ones.
    _unknown_code: ClassVar[float] = -1.0

    def __init__(
        self,
        time_budget: float | None = None,
        *,
        measure: MeasureLike | None = None,
        n_trials: int | None = None,
        cv: Any = 5,
        query_weight: QueryWeight | None = None,
        clock: Literal["wall", "cpu"] = "wall",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.time_budget = time_budget
        self.measure = measure
        self.n_trials = n_trials
        self.cv = cv
        self.query_weight: QueryWeight | None = query_weight
        self.clock = clock
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        """Try the planned rankers, and keep those that the blend benefits from.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)
            Numeric and nominal features. NaN means missing.
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one query, and folds contain single rows.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w equal rows, see the notes.
        X_val, y_val, qid_val : array-like, optional
            Validation rows that replace the folds and are not trained on. Fewer than 100 queries
            serve better as rows of X.

        Raises
        ------
        ValueError
            If an input is invalid (the message names it), or if no ranker can be fitted.
        """
        self._validate_params()
        budget = TimeBudget(self.time_budget, CLOCKS[self.clock])
        table = leave_out_times(Table.of(X))
        self.columns_ = ColumnTable.of(table, sample_weight=sample_weight)
        given = check_fit(self, self.columns_.encode(table), y, qid, sample_weight, allow_nan=True)
        held_X = None if X_val is None else self._encode(Table.of(X_val).without_times()[0])
        validation = check_validation(self, given, held_X, y_val, qid_val, allow_nan=True)
        self._set_score_name(given.y)
        self.is_sparse_: bool = (
            is_sparse(given.X) and given.X.shape[0] * given.X.shape[1] > _MOST_DENSE
        )
        data, position = self._merged(given)
        self.center_, self.scale_ = fit_scaling(data.X)
        self.scale_[list(self.columns_.nominal)] = 0.0  # they have indicators
        splits = [] if validation is not None else self._splits(given, data, position)
        parts_of_rows, indicators = self._parts(data, validation, splits)
        held = HeldOut(parts_of_rows, parse(self._measure(data)))
        held.check()
        with single_threaded_blas():  # whose sums depend on its number of threads
            members = self._tried(data, held, budget)
            self._blend(held, members, indicators)
        self.is_cut_: bool = self.time_budget is not None and (
            budget.is_cut or any(member.is_cut for member in members)
        )
        self.seconds_: float = budget.spent()
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher."""
        check_is_fitted(self)
        X = self._dense(self._check_rows(Table.of(X).without_times()[0]))
        scaled, scores = scale_columns(X, self.center_, self.scale_), np.zeros(X.shape[0])
        indicators = self.indicators_ if self.columns_.nominal else [{}] * len(self.models_)
        for model, weight, level, categories in zip(
            self.models_, self.weights_, self.levels_, indicators, strict=True
        ):
            if weight > 0:
                is_tree = isinstance(model, LambdaMART)
                found = model.predict(X if is_tree else add_indicators(scaled, X, categories))
                scores += weight * (found - level)
        return scores

    def leaderboard(self) -> ResultList[dict[str, Any]]:
        """Records of ``history_``, the best value first, with the methods of a result."""
        check_is_fitted(self)
        return ResultList(dict, sorted(self.history_, key=lambda row: -row["value"]))

    def report(self) -> str:
        """Table of the models tried, their held-out scores, the models kept, and why.

        Measures of which smaller is better are shown as they are, without the sign of ``history_``.
        """
        check_is_fitted(self)
        skipped = getattr(self, "skipped_", [])
        measure = self.measure or getattr(self, "score_name_", None)
        known = self.history_, skipped, self.families_, self.values_, measure, self.seconds_
        return report_text(*known, is_cut=getattr(self, "is_cut_", False))

    def _check_structure(self) -> None:
        require(self.models_, "models_", "have an item", "none")
        self.columns_.check_width(self.n_features_in_)
        known = getattr(self, "indicators_", [{}] * len(self.models_))
        for number, (model, categories) in enumerate(zip(self.models_, known, strict=True)):
            width = self.n_features_in_ + sum(map(len, categories.values()))
            where = f"models_[{number}].n_features_in_"
            require(model.n_features_in_ == width, where, f"be {width}", model.n_features_in_)

    def _measure(self, data: FitData) -> MeasureLike:
        return self.measure or (GRADED if is_graded(data.y) else MISRANKING)

    def _dense(self, X: Matrix) -> Matrix:
        return X if self.is_sparse_ or not is_sparse(X) else X.toarray()

    def _merged(self, given: FitData) -> tuple[FitData, Int64Array]:
        """Distinct rows, sorted by query and by content; and the place of each given row."""
        X = self._dense(given.X)
        merged = merge_rows(X, given.y, given.groups, given.sample_weight)
        groups = QueryGroups.from_sizes(np.diff(merged.indptr))
        weight = merged.weight if (merged.weight != 1.0).any() else None
        return FitData(X[merged.rows], given.y[merged.rows], groups, weight), merged.position

    def _splits(
        self, given: FitData, data: FitData, position: Int64Array
    ) -> list[tuple[Int64Array, Int64Array]]:
        """Distinct rows for fitting and for scoring, by part."""
        if not (self.cv is None or isinstance(self.cv, Integral)):
            splits = parts(self.cv, None, given, given.groups.codes())
            return [
                (np.unique(position[train]), np.unique(position[test])) for train, test in splits
            ]
        n_queries = data.groups.n_queries
        if n_queries >= MANY_QUERIES or (n_queries > 1 and len(data.y) >= _MANY_ROWS):
            return parts(self.cv, _SHARE, data, data.groups.codes())
        return fold_rows(int(self.cv or DEFAULT_FOLDS), data)

    def _parts(
        self,
        data: FitData,
        validation: FitData | None,
        splits: list[tuple[Int64Array, Int64Array]],
    ) -> tuple[list[tuple[TrialRows, TrialRows]], list[dict[int, Float64Array]]]:
        """Rows for fitting and for scoring, and the categories of the former, by part."""
        rows = self._rows(data)
        if validation is not None:
            X = self._dense(validation.X)
            order, sizes = canonical_order(X, validation.y, validation.groups)
            groups = QueryGroups.from_sizes(sizes)
            pairs = [(rows, self._rows(FitData(X[order], validation.y[order], groups, None)))]
        else:
            pairs = [(rows.take(train), rows.take(test)) for train, test in splits]
        nominal = self.columns_.nominal
        known = [
            frequent_categories(densify(train.X), nominal, train.weight) if nominal else {}
            for train, _ in pairs
        ]
        found = [
            (train.with_indicators(categories), test.with_indicators(categories))
            for (train, test), categories in zip(pairs, known, strict=True)
        ]
        return found, known

    def _rows(self, data: FitData) -> TrialRows:
        codes, scaled = data.groups.codes(), scale_columns(data.X, self.center_, self.scale_)
        return TrialRows(data.X, scaled, data.y, codes, data.sample_weight)

    def _settings(self, data: FitData) -> tuple[list[Trial], int]:
        """The settings, and their seed."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1000))
        measure, graded = self._measure(data), is_graded(data.y)
        # Discounted gains need labels from 0 on, so early stopping watches the tuning metric below.
        watched = measure if data.y.min() < 0 else None
        known = self.columns_.nominal
        nominal = {"categorical_features": sorted(j for j in known if len(known[j]))}
        found = settings(
            measure, graded, seed, self.n_jobs, watched=watched, query_weight=self.query_weight
        )
        is_nominal = bool(self.columns_.nominal)
        return [
            trial.again(trial.name, **nominal) if is_nominal and trial.family == "trees" else trial
            for trial in found
        ], seed

    def _plan(self, trials: list[Trial], held: HeldOut) -> TrialPlan:
        """The plan by the sizes of the parts; all trials with a ``time_budget``."""
        self.plan_: list[dict[str, Any]] = []
        self.skipped_: list[dict[str, Any]] = []
        if self.time_budget is not None:
            return TrialPlan({trial.name: None for trial in trials})
        plan = TrialPlan.of(trials, [rows.size for rows, _ in held.parts])
        self.plan_ = [{"trial": name, "limit": limit} for name, limit in plan.limits.items()]
        bags = {"bags of nodes": plan.n_node_bags, "bags of trees": plan.n_tree_bags}
        self.plan_ += [{"trial": name, "limit": number} for name, number in bags.items()]
        self.skipped_ = [
            {"trial": trial.name, "family": trial.family, "reason": NOT_PLANNED}
            for trial in trials
            if trial.name not in plan.limits
        ]
        return plan

    def _tried(self, data: FitData, held: HeldOut, budget: TimeBudget) -> list[Member]:
        """Fitted trials, as many as the plan or ``time_budget``, and ``n_trials``, allow."""
        members: list[Member] = []
        error: ValueError | str = TOO_SHORT
        every, seed = self._settings(data)
        plan = self._plan(every, held)
        planned = [trial for trial in every if trial.name in plan.limits]
        if self.time_budget is None:
            planned = [plan.limited(trial) for trial in planned]
        n_bags = plan.n_node_bags, plan.n_tree_bags
        # Bags need the members that precede them.
        following = (bag for known in [members] for bag in bags(known, seed, *n_bags))
        total = min(self.n_trials or N_TRIALS, len(planned) + sum(n_bags))
        trials = islice(chain(planned, following), self.n_trials)
        for number, trial in enumerate(trials, 1):
            best = max((member.value for member in members), default=None)
            left = budget.left()
            announce_start(TrialStart(trial.name, number, total, best, left))
            if self.verbose:
                known = [f"trial {number} of {total} ({trial.name})"]
                known += [] if best is None else [f"best {best:.4f}"]
                known += [] if left is None else [f"{left:.0f} s left"]
                sys.stderr.write(f"AutoRanker: {', '.join(known)}\n")
                sys.stderr.flush()
            reason = TOO_SHORT
            if (fitting := budget.shorten(trial, held, members)) is not None:
                try:
                    limit = budget.most_seconds(trial, members)
                    most = plan.limits.get(trial.name) if trial.family == "linear" else None
                    members.append(held.fit(fitting, budget.clock, limit, most))
                    continue
                except TimeLimitError:
                    pass
                except ValueError as raised:  # for instance on a fold without pairs to order
                    error, reason = raised, str(raised)
            self.skipped_.append({"trial": trial.name, "family": trial.family, "reason": reason})
        if not members:
            raise ValueError(
                f"AutoRanker cannot fit any ranker on parts of n_samples={len(data.y)} rows, with "
                f"cv={self.cv!r} if there are no validation rows. The last error: {error} Pass "
                "more rows, or labels that differ in more queries."
            )
        return members

    def _blend(
        self, held: HeldOut, members: list[Member], indicators: list[dict[int, Float64Array]]
    ) -> None:
        """Select members and families, and set the models and their weights."""
        blend, self.values_ = blend_families(held, members)
        self.models_, self.indicators_, weights, levels = [], [], [], []
        for number, weight in blend.weights.items():
            member = members[number]
            share = weight / len(member.models)
            self.models_ += member.models
            is_tree = member.trial.family == "trees"
            self.indicators_ += [{} if is_tree else known for known in indicators]
            weights += [share / scale if scale > 0 else 0.0 for scale in member.scales.tolist()]
            levels += member.levels.tolist()
        self.weights_, self.levels_ = np.array(weights), np.array(levels)
        kept = {members[number].trial.family for number in blend.weights}
        self.families_: list[str] = [family for family in FAMILIES if family in kept]
        self.history_: list[Any] = []
        for number, member in enumerate(members):
            params = member.trial.estimator.get_params(deep=False)
            plain = {k: v for k, v in params.items() if isinstance(v, str | int | float | None)}
            # 95 % interval of the value over queries (NaN: one query).
            low, high = t_intervals(held.values(member.scores)[:, None])[0].tolist()
            self.history_.append({
                "trial": member.trial.name,
                "family": member.trial.family,
                "params": plain,
                "value": member.value,
                "low": low,
                "high": high,
                "seconds": member.seconds,
                "kept": number in blend.weights,
                "cut": member.is_cut,
            })  # fmt: skip
        reasons = {row["family"]: row["reason"] for row in self.skipped_
                   if row["reason"] not in (TOO_SHORT, NOT_PLANNED)}  # fmt: skip
        tried = {member.trial.family for member in members}
        for family, reason in reasons.items():
            if family not in tried:
                warnings.warn(
                    f"AutoRanker leaves out the family {family!r}, because all its trials failed. "
                    f"The last error: {reason}",
                    UserWarning,
                    stacklevel=callers_level(),
                )


Row = dict[str, Any]
TOO_SHORT = "time_budget is too short"
NOT_PLANNED = "not planned for data of this size"


def report_text(
    history: Sequence[Row],
    skipped: Sequence[Row],
    families: Sequence[str],
    values: Mapping[str, float],
    measure: MeasureLike | None,
    seconds: float,
    *,
    is_cut: bool = False,
) -> str:
    """Table of the trials, the reasons of those without a value, and two sentences of choice.

    ``families`` are those that are kept, and ``values`` those of the families and of the blend,
    larger is better. ``measure`` is None if unknown, as of models that do not hold it. ``seconds``
    is the time of the fit.
    """
    measured = None if measure is None else parse(measure)
    if measured is not None and not measured.greater_is_better:
        # Values are negated measures; people know the measure as it is.
        history = [row | {"value": -row["value"]} for row in history]
        values = {name: -value for name, value in values.items()}
    width = max(len("trial"), *(len(row["trial"]) for row in [*history, *skipped]))
    lines = [f"{'trial':<{width}}   held out   seconds"]
    for row in history:
        marks = {"kept": row["kept"], "cut short": row.get("cut", False)}
        mark = ", ".join(name for name, holds in marks.items() if holds)
        lines.append(
            f"{row['trial']:<{width}} {row['value']:>10.4f} {row['seconds']:>9.2f}   {mark}"
        )
    lines.append(f"{'blend':<{width}} {values['blend']:>10.4f}   of {', '.join(families)}")
    lines += [f"{row['trial']:<{width}} not tried: {row['reason']}" for row in skipped]
    if is_cut:
        lines.append(
            "note: time_budget cut the search, so another fit may differ. Leave it out for a plan "
            "that depends on the data alone."
        )
    outside = seconds - sum(row["seconds"] for row in history)
    if outside >= 0.5 * seconds and any(row["reason"] == TOO_SHORT for row in skipped):
        lines.append(
            f"note: {outside:.1f} of {seconds:.1f} s passed outside of the trials. The first fit "
            "compiles kernels; fit again, or raise time_budget."
        )
    lines.append(_explained(history, skipped, values["blend"], measured))
    return "\n".join([line.rstrip() for line in lines])


def _explained(
    history: Sequence[Row], skipped: Sequence[Row], blend: float, measure: Measure | None
) -> str:
    """The choice in two sentences."""
    is_larger_better = measure is None or measure.greater_is_better
    best = (max if is_larger_better else min)(history, key=lambda row: row["value"])
    # Name and cut-off of the measure, without its convention.
    name = "" if measure is None else re.sub(r"\(.*\)", "", str(measure)) + " = "
    value = f"{name}{blend:.4f}"
    if len(history) == 1:
        late = sum(row["reason"] == TOO_SHORT for row in skipped)
        failed = sum(row["reason"] not in (TOO_SHORT, NOT_PLANNED) for row in skipped)
        late_ones, failed_ones = (f"{n} other{'s' if n > 1 else ''}" for n in (late, failed))
        others = [f"time_budget was too short for {late_ones}"] if late else []
        others += [f"{failed_ones} failed"] if failed else []
        second = " and ".join(others) or "No other trial was asked for"
        return f"Only {best['trial']} was tried, with {value} on held-out queries. {second}."
    kept = sum(row["kept"] for row in history)
    left = [row["trial"] for row in history if not row["kept"]]
    test = f"(one-sided paired t test by query, {LEVEL:.0%})"
    first = (
        f"The scores of {kept} of {len(history)} trials are blended, with {value} on held-out "
        f"queries; the best trial alone, {best['trial']}, has {best['value']:.4f}."
    )
    if not left:
        return f"{first} None was left out, because no blend without one was clearly better {test}."
    return (
        f"{first} Left out: {', '.join(left)}, because scores without were clearly better {test}."
    )
