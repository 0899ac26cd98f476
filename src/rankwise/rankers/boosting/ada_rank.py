"""AdaRank: boosting of single features over queries, by any measure [1]_.

References
----------
.. [1] Xu & Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from rankwise.checks.rows import FitData
from rankwise.metrics.measure import Measure
from rankwise.rankers.boosting.measure_ranker import AT_LEAST_ONE, MeasureRanker
from rankwise.solvers.boosting.measured_rows import MeasuredRows
from rankwise.solvers.boosting.query_boosting import QueryBoosting, QueryStage
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.structure.rules import Number, Rule, floats, integers


class AdaRank(MeasureRanker):
    """Boosting of single features over queries, by any measure (AdaRank).

    Parameters
    ----------
    measure : str, default="nDCG@10"
        What is optimised, see :func:`rankwise.metrics.parse`; between 0 and 1 on every query, such
        as "nDCG@10", "AP" and "ERR". Labels that are no whole grades from 0 to 30 are spread over 0
        to 4 for measures of a ranked list.
    n_estimators : int >= 1, default=200
        Most rounds. Fewer are kept where no feature brings a gain.
    n_features_to_select : int >= 1, optional
        Stop when so many distinct features are in the model; ``selected_features_`` then has so
        many (or all), whether the rounds have reached them or not.
    tol : float >= 0, default=1e-4
        Least gain of the measure in a round.
    early_stopping_rounds : int >= 1, optional
        Used only where ``fit`` receives X_val: stop after this many rounds without improvement
        there and keep the rounds up to the best.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features.
    selected_features_ : ndarray of int
        Columns of the model in the order in which they came in; with ``n_features_to_select``
        followed, where it has fewer, by those of the best weighted performance at the end.
    features_, steps_ : ndarray of shape (n_estimators_,)
        Column of each round, and what was added to its coefficient.
    measure_curve_ : ndarray of shape (n_estimators_,)
        The measure on the training queries after each round, ascending (descending where smaller
        is better).
    n_estimators_ : int
        Rounds kept.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round, where X_val was given.
    score_name_ : str

    Notes
    -----
    Weak rankers are the features, ascending and descending. Queries begin with equal weights P. A
    round takes the weak ranker h with the largest ``sum P E(q, h)``, E the measure of query q when
    ranked by h, adds ``log(sum P (1 + E) / sum P (1 - E)) / 2`` times h, and sets P to
    ``exp(-E(q, f))``, normalised, for the scores f so far: queries that are ranked badly weigh
    more. The measures of all weak rankers on all queries are computed once, on threads: O(N d) and
    a sort; a round then costs O(Q d), and O(N) for each weak ranker tried. Rows of equal score are
    ranked in an order of their content, unless the measure has another rule for ties.

    The first features taken are a selection of features (``selected_features_``), the use that [2]_
    makes of AdaRank.

    Differs from [1]_: a feature is divided by its standard deviation, so that its unit does not
    matter; a weak ranker that would not raise the measure is passed over for the next best (the
    same feature would be taken again and again else), and rounds end where none is left. Queries
    without relevant rows are left out.

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

    _structure: ClassVar[dict[str, Rule]] = {
        "n_estimators_": Number("i", low=0, size="n_rounds"),
        "features_": integers("n_rounds", low=0, below="n_features_in_"),
        "steps_": floats("n_rounds"),
        "selected_features_": integers("n_selected", low=0, below="n_features_in_"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": [str],
        "n_estimators": [AT_LEAST_ONE],
        "n_features_to_select": [AT_LEAST_ONE, None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping_rounds": [AT_LEAST_ONE, None],
    }

    def __init__(
        self,
        measure: str = "nDCG@10",
        n_estimators: int = 200,
        *,
        n_features_to_select: int | None = None,
        tol: float = 1e-4,
        early_stopping_rounds: int | None = None,
    ) -> None:
        self.measure = measure
        self.n_estimators = n_estimators
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.early_stopping_rounds = early_stopping_rounds

    def _learn(self, rows: MeasuredRows, valid: FitData | None, measure: Measure) -> None:
        boosting = QueryBoosting(rows, measure.greater_is_better, self.tol)
        staged = None
        if valid is not None:
            staged = StagedMeasure(measure, rows.labels(valid.y), valid.groups)
        patience = np.inf if self.early_stopping_rounds is None else self.early_stopping_rounds
        wanted = np.inf if self.n_features_to_select is None else self.n_features_to_select
        stages: list[QueryStage] = []
        while len(stages) < self.n_estimators:
            stage = boosting.run_round()
            if stage is None:
                break
            stages.append(stage)
            if valid is not None and staged is not None:
                column = valid.X[:, [stage.feature]] @ np.array([stage.coef])
                staged.add(np.asarray(column, dtype=np.float64))
                if staged.stages_since_best >= patience:
                    break
            if len({s.feature for s in stages}) >= wanted:
                break
        if staged is not None and self.early_stopping_rounds is not None:
            stages = stages[: staged.best]
        self._set_rounds(stages, rows.n_columns, measure.greater_is_better)
        if staged is not None:
            self.validation_scores_ = np.array(staged.values)
        if self.n_features_to_select is not None:
            best = [feature for feature, _ in boosting.by_weighted_performance()]
            taken = self.selected_features_.tolist()
            chosen = list(dict.fromkeys([*taken, *best, *range(rows.n_columns)]))
            self.selected_features_ = np.array(chosen[: self.n_features_to_select])

    def _set_rounds(self, stages: list[QueryStage], n_features: int, greater: bool) -> None:
        self.features_ = np.array([s.feature for s in stages], dtype=np.int64)
        self.steps_ = np.array([s.coef for s in stages])
        values = np.array([s.value for s in stages])
        self.measure_curve_ = values if greater else 1.0 - values
        self.coef_ = np.bincount(self.features_, self.steps_, minlength=n_features)
        self.selected_features_ = np.array(list(dict.fromkeys(self.features_.tolist())), np.int64)
        self.n_estimators_ = len(stages)
