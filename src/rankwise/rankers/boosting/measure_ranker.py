"""Linear rankers that directly optimise a measure: AdaRank and CoordinateAscent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import NOT_NEGATIVE, minimum
from rankwise.checks.rows import check_fit, check_rows, check_validation, repeat_rows
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.default import is_graded, refuse_constant
from rankwise.metrics.measure import MEASURE_KINDS, Measure, MeasureLike
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.boosting.chosen_rounds import (
    CHOICE,
    ChoosesRounds,
    chooses_rounds,
    fit_chosen,
)
from rankwise.solvers.boosting.measure_search import (
    ColumnEnsemble,
    CoordinateSearch,
    MeasuredRows,
    QueryBoosting,
    Sweep,
)
from rankwise.solvers.boosting.rounds import boost
from rankwise.structure.state_rules import Number, Plain, Rule, Sometimes, floats, forget, integers
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Seed


class MeasureRanker(Ranker):
    """Base of the linear rankers that directly optimise a measure of the training queries.

    A subclass has the parameter ``measure`` and defines ``_learn``, which sets ``coef_``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": floats("n_features_in_"),
        "measure_curve_": Plain(),
        "validation_scores_": Sometimes(Plain()),
    }

    coef_: Float64Array
    measure: MeasureLike

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
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, a whole number >= 0. A row of weight w counts as w equal rows.
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` is also evaluated.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid (the message names it), or if the measure cannot be optimised.
        """
        self._validate_params()
        if chooses_rounds(self, X_val):
            by_row = {"qid": qid, "sample_weight": sample_weight}
            return fit_chosen(self, X, y, by_row, (X_val, y_val, qid_val))
        forget(self)
        data = repeat_rows(check_fit(self, X, y, qid, sample_weight), type(self).__name__)
        validation = check_validation(self, data, X_val, y_val, qid_val)
        measure = parse(self.measure)
        if measure.reads_labels:
            raise ValueError(
                f"measure must be a measure of rankings, got {str(measure)!r}, a measure of "
                "predicted labels. Use for example 'nDCG@10'."
            )
        self._set_score_name(data.y)
        if is_graded(data.y) and data.y.min() < data.y.max():  # other labels are scaled
            refuse_constant(measure, data.y, "The weights")
        self._learn(MeasuredRows(data, measure), validation, measure)
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher."""
        check_is_fitted(self)
        return np.asarray(check_rows(self, X) @ self.coef_, dtype=np.float64)

    def _learn(self, rows: MeasuredRows, validation: FitData | None, measure: Measure) -> None:
        raise TypeError(f"{type(self).__name__} must define _learn.")


class AdaRank(ChoosesRounds, MeasureRanker):
    """Boosting of single features by reweighting queries, for any measure (AdaRank).

    Parameters
    ----------
    measure : str, Measure or callable, default="nDCG@10"
        Measure to optimise, see :func:`rankwise.metrics.parse`. Its values must lie between 0 and 1
        for every query, such as those of "nDCG@10", "AP" and "ERR". For measures of a ranked list,
        labels that are not whole grades from 0 to 30 are mapped linearly onto 0 to 4.
    n_estimators : int >= 1, default=200
        Largest number of rounds. Training ends earlier if no feature improves the measure.
    n_features_to_select : int >= 1, optional
        Number of distinct features after which training stops. ``selected_features_`` then has this
        length (or all features), even if the rounds end before.
    tol : float >= 0, default=1e-4
        Smallest improvement of the measure for which a round is made.
    early_stopping_rounds : int >= 1, optional
        Used with X_val, or in folds of ``cv``: stop after this many rounds without improvement and
        keep the rounds up to the best.
    refit : bool, default=False
        Whether the rounds kept by X_val are grown again on the rows of X and X_val.
    cv : int, splitter or iterable of (train rows, test rows), optional
        Folds of queries that choose the number of rounds, as in :class:`LambdaMART`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features.
    selected_features_ : ndarray of int
        Columns of the model in the order of selection. With ``n_features_to_select``, missing
        columns are filled up with those of the best weighted performance at the end.
    features_, steps_ : ndarray of shape (n_estimators_,)
        Column of each round, and the change of its coefficient.
    measure_curve_ : ndarray of shape (n_estimators_,)
        Measure on the training queries after each round: ascending, or descending if smaller is
        better.
    n_estimators_ : int
        Number of rounds kept.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round. Only with X_val or ``cv``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Weak rankers are the features, ascending and descending. Initially all queries have equal
    weights P. A round takes the weak ranker h with the largest ``sum P E(q, h)``, where E is the
    measure of query q ranked by h. It adds ``log(sum P (1 + E) / sum P (1 - E)) / 2`` times h to
    the scores f. It then sets P to ``exp(-E(q, f))``, normalised, so badly ranked queries gain
    weight. The measures of all weak rankers on all queries are computed once, in threads, in O(N d)
    time and memory, plus a sort. A round then costs O(Q d), and O(N) for each weak ranker tried.
    Rows of equal score are ranked by their content, unless the measure has another rule for ties. A
    row of weight w is ranked as w equal rows, so it takes w ranks, and weights must be whole
    numbers.

    AdaRank can also select features (``selected_features_``), as in [2]_.

    Differs from [1]_: features are divided by their standard deviations, so units do not matter. If
    the best weak ranker would not improve the measure, the next best is tried; otherwise the same
    feature could be chosen repeatedly. Training ends if no weak ranker improves the measure.
    Queries without relevant rows are left out.

    Composition: columns of X x any measure x boosting of queries.

    References
    ----------
    .. [1] Xu & Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
    .. [2] Tsai et al., "An ensemble ranking solution to the Yahoo! learning to rank challenge",
       technical report, National Taiwan University (2010), section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import AdaRank
    >>> X = np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 2.0], [1.0, 8.0], [2.0, 7.0], [4.0, 7.0]])
    >>> ranker = AdaRank().fit(X, [0, 1, 2, 1, 0, 0], qid=[1, 1, 1, 2, 2, 2])
    >>> ranker.selected_features_
    array([0])
    >>> ranker.rank(X, qid=[1, 1, 1, 2, 2, 2])
    array([3, 2, 1, 1, 2, 3])
    """

    features_: Int64Array
    steps_: Float64Array

    _structure: ClassVar[dict[str, Rule]] = {
        "n_estimators_": Number("i", low=0, size="n_rounds"),
        "features_": integers("n_rounds", low=0, below="n_features_in_"),
        "steps_": floats("n_rounds"),
        "selected_features_": integers("n_selected", low=0, below="n_features_in_"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": MEASURE_KINDS,
        "n_estimators": [minimum(1)],
        "n_features_to_select": [minimum(1), None],
        "tol": [NOT_NEGATIVE],
        "early_stopping_rounds": [minimum(1), None],
        **CHOICE,
    }

    def __init__(
        self,
        measure: MeasureLike = "nDCG@10",
        n_estimators: int = 200,
        *,
        n_features_to_select: int | None = None,
        tol: float = 1e-4,
        early_stopping_rounds: int | None = None,
        refit: bool = False,
        cv: Any = None,
    ) -> None:
        self.measure = measure
        self.n_estimators = n_estimators
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.cv = cv

    def _learn(self, rows: MeasuredRows, validation: FitData | None, measure: Measure) -> None:
        boosting = QueryBoosting(rows, measure.greater_is_better, self.tol)
        if validation is not None:
            validation = replace(validation, y=rows.labels(validation.y))
        done = boost(
            ColumnEnsemble(np.empty(0, np.int64), np.empty(0)),
            boosting.rounds(self.n_features_to_select),
            lambda: boosting.state,
            self.n_estimators,
            validation,
            measure,
            self.early_stopping_rounds,
        )
        self.features_, self.steps_ = done.ensemble.features, done.ensemble.steps
        self.n_estimators_: int = len(done.ensemble)
        values = done.values[1:]
        self.measure_curve_: Float64Array = values if measure.greater_is_better else 1.0 - values
        self.coef_: Float64Array = np.bincount(
            self.features_, self.steps_, minlength=rows.n_columns
        )
        if done.validation_scores is not None:
            self.validation_scores_: Float64Array = done.validation_scores
        chosen = self.features_.tolist()
        if self.n_features_to_select is not None:
            chosen += [feature for feature, _ in boosting.by_weighted_performance()]
            chosen += range(rows.n_columns)
        distinct = np.array(list(dict.fromkeys(chosen)), dtype=np.int64)
        self.selected_features_: Int64Array = distinct[: self.n_features_to_select]


class CoordinateAscent(MeasureRanker):
    """Linear ranker that optimises a measure one weight at a time (coordinate ascent).

    Parameters
    ----------
    measure : str, Measure or callable, default="nDCG@10"
        Measure to optimise: any measure of rankings, see :func:`rankwise.metrics.parse`. For
        measures of a ranked list, labels that are not whole grades from 0 to 30 are mapped linearly
        onto 0 to 4.
    n_restarts : int >= 0, default=2
        Number of additional starts from random weights.
    max_iter : int >= 1, default=25
        Largest number of sweeps over the features for each start.
    tol : float >= 0, default=1e-3
        A start ends when a sweep improves the measure by at most ``tol``.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order of the features in each sweep, and of the random weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features.
    measure_curve_ : ndarray of shape (n_iter_ + 1,)
        Measure on the training queries before the first sweep of the chosen start, and after each
        sweep up to the chosen one. It never gets worse.
    n_iter_ : int
        Number of sweeps of the chosen start, up to the chosen sweep.
    start_values_ : ndarray of shape (n_restarts + 1,)
        Measure that each start reached, on X_val if it was given, otherwise on X.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    In the first start, the weight of a feature is the measure of its ascending order minus that of
    its descending order. Other starts have normally distributed weights. Features are divided by
    their standard deviations. A line search tries changes of 0.01, 0.02, 0.04, ... 5.12 times the
    largest weight in both directions, and a weight of 0. It makes the best change if this improves
    the measure; ties go to the smallest change. Scores change by a multiple of one column, so a
    trial costs O(N) and a ranking; memory is O(N d). Trials run in threads. Rows of equal score are
    ranked by their content, unless the measure has another rule. A row of weight w is ranked as w
    equal rows, so it takes w ranks, and weights must be whole numbers.

    With X_val, the final weights are those after the sweep (of any start) that is best on X_val.

    Differs from [1]_: the first start uses measures of the single features instead of equal
    weights.

    Composition: columns of X x any measure x line searches.

    References
    ----------
    .. [1] Metzler & Croft, "Linear feature-based models for information retrieval", Information
       Retrieval 10 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import CoordinateAscent
    >>> X = np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 2.0], [1.0, 8.0], [2.0, 7.0], [4.0, 7.0]])
    >>> qid = [1, 1, 1, 2, 2, 2]
    >>> ranker = CoordinateAscent(random_state=0).fit(X, [0, 1, 2, 1, 0, 0], qid=qid)
    >>> ranker.measure_curve_[-1]
    np.float64(1.0)
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "n_iter_": Number("i", low=0),
        "start_values_": Plain(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": MEASURE_KINDS,
        "n_restarts": [minimum(0)],
        "max_iter": [minimum(1)],
        "tol": [NOT_NEGATIVE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        measure: MeasureLike = "nDCG@10",
        n_restarts: int = 2,
        *,
        max_iter: int = 25,
        tol: float = 1e-3,
        random_state: Seed = None,
    ) -> None:
        self.measure = measure
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _learn(self, rows: MeasuredRows, validation: FitData | None, measure: Measure) -> None:
        rng = check_random_state(self.random_state)
        search = CoordinateSearch(rows, self.tol, self.max_iter)
        y_val = None if validation is None else rows.labels(validation.y)

        def judge(sweep: Sweep) -> float:
            if validation is None or y_val is None:
                return sweep.value
            scores = np.asarray(validation.X @ search.coef(sweep.weights), dtype=np.float64)
            value = measure.mean(y_val, scores, validation.groups)
            value = value if measure.greater_is_better else -value
            return -np.inf if np.isnan(value) else value

        best: tuple[float, list[Sweep]] | None = None
        reached: list[float] = []
        for start in range(self.n_restarts + 1):
            weights: Float64Array = (
                search.preferences()
                if start == 0
                else rng.normal(size=rows.n_columns) * (rows.spread > 0)
            )
            sweeps = list(search.run(weights, rng))
            values = [judge(sweep) for sweep in sweeps]
            if validation is None:
                kept = len(values) - 1
            else:
                kept = int(np.argmax(values))
            reached.append(values[kept])
            if best is None or values[kept] > best[0]:
                best = values[kept], sweeps[: kept + 1]
        assert best is not None
        sign = 1.0 if measure.greater_is_better else -1.0
        self.coef_: Float64Array = search.coef(best[1][-1].weights)
        self.measure_curve_: Float64Array = sign * np.array([sweep.value for sweep in best[1]])
        self.n_iter_: int = len(best[1]) - 1
        self.start_values_: Float64Array = sign * np.array(reached)
