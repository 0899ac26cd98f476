"""AdaRank: boosting of single features by reweighting queries, for any measure [1]_.

References
----------
.. [1] Xu & Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rankwise.checks.parameter_constraints import NOT_NEGATIVE, minimum
from rankwise.metrics.measure import Measure
from rankwise.rankers.boosting.measure_ranker import MeasureRanker
from rankwise.rows.fit_data import FitData
from rankwise.solvers.boosting.measured_rows import MeasuredRows
from rankwise.solvers.boosting.query_boosting import ColumnEnsemble, QueryBoosting
from rankwise.solvers.boosting.rounds import boost
from rankwise.structure.rules import Number, Rule, floats, integers


class AdaRank(MeasureRanker):
    """Boosting of single features by reweighting queries, for any measure (AdaRank).

    Parameters
    ----------
    measure : str, default="nDCG@10"
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
        Used only if ``fit`` receives X_val: stop after this many rounds without improvement and
        keep the rounds up to the best.

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
        ``measure`` on X_val after every round. Only if X_val was given.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Weak rankers are the features, ascending and descending. Initially all queries have equal
    weights P. A round takes the weak ranker h with the largest ``sum P E(q, h)``, where E is the
    measure of query q ranked by h. It adds ``log(sum P (1 + E) / sum P (1 - E)) / 2`` times h to
    the scores f. It then sets P to ``exp(-E(q, f))``, normalised, so badly ranked queries gain
    weight. The measures of all weak rankers on all queries are computed once, in threads, in O(N d)
    time plus a sort. A round then costs O(Q d), and O(N) for each weak ranker tried. Rows of equal
    score are ranked by their content, unless the measure has another rule for ties.

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

    _structure: ClassVar[dict[str, Rule]] = {
        "n_estimators_": Number("i", low=0, size="n_rounds"),
        "features_": integers("n_rounds", low=0, below="n_features_in_"),
        "steps_": floats("n_rounds"),
        "selected_features_": integers("n_selected", low=0, below="n_features_in_"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": [str],
        "n_estimators": [minimum(1)],
        "n_features_to_select": [minimum(1), None],
        "tol": [NOT_NEGATIVE],
        "early_stopping_rounds": [minimum(1), None],
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
        self.n_estimators_ = len(done.ensemble)
        values = done.values[1:]
        self.measure_curve_ = values if measure.greater_is_better else 1.0 - values
        self.coef_ = np.bincount(self.features_, self.steps_, minlength=rows.n_columns)
        if done.validation_scores is not None:
            self.validation_scores_ = done.validation_scores
        chosen = self.features_.tolist()
        if self.n_features_to_select is not None:
            chosen += [feature for feature, _ in boosting.by_weighted_performance()]
            chosen += range(rows.n_columns)
        distinct = np.array(list(dict.fromkeys(chosen)), dtype=np.int64)
        self.selected_features_ = distinct[: self.n_features_to_select]
