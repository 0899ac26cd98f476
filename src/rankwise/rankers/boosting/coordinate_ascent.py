"""Coordinate ascent on a measure, for linear rankers [1]_.

References
----------
.. [1] Metzler & Croft, "Linear feature-based models for information retrieval", Information
   Retrieval 10 (2007).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from rankwise.checks.parameter_constraints import NOT_NEGATIVE, minimum
from rankwise.metrics.measure import Measure
from rankwise.rankers.boosting.measure_ranker import MeasureRanker
from rankwise.rows.fit_data import FitData
from rankwise.solvers.boosting.coordinate_search import CoordinateSearch, Sweep
from rankwise.solvers.boosting.measured_rows import MeasuredRows
from rankwise.structure.rules import Number, Plain, Rule
from rankwise.typing import Float64Array


class CoordinateAscent(MeasureRanker):
    """Linear ranker that optimises a measure one weight at a time (coordinate ascent).

    Parameters
    ----------
    measure : str, default="nDCG@10"
        Measure to optimise: any measure of rankings, see :func:`rankwise.metrics.parse`. For
        measures of a ranked list, labels that are not whole grades from 0 to 30 are mapped linearly
        onto 0 to 4.
    n_restarts : int >= 0, default=2
        Number of additional starts from random weights.
    max_iter : int >= 1, default=25
        Largest number of sweeps over the features for each start.
    tol : float >= 0, default=1e-3
        A start ends when a sweep improves the measure by at most ``tol``.
    random_state : int, RandomState or None, default=None
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
    trial costs O(N) and a ranking. Trials run in threads. Rows of equal score are ranked by their
    content, unless the measure has another rule.

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
    >>> ranker = CoordinateAscent(random_state=0).fit(X, [0, 1, 2, 1, 0, 0], qid=[1, 1, 1, 2, 2, 2])
    >>> ranker.measure_curve_[-1]
    np.float64(1.0)
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "n_iter_": Number("i", low=0),
        "start_values_": Plain(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": [str],
        "n_restarts": [minimum(0)],
        "max_iter": [minimum(1)],
        "tol": [NOT_NEGATIVE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        measure: str = "nDCG@10",
        n_restarts: int = 2,
        *,
        max_iter: int = 25,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
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
        self.coef_ = search.coef(best[1][-1].weights)
        self.measure_curve_ = sign * np.array([sweep.value for sweep in best[1]])
        self.n_iter_ = len(best[1]) - 1
        self.start_values_ = sign * np.array(reached)
