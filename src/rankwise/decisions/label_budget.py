"""How many queries that a model labels are worth one query that people judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.datasets.data import RankingData
from rankwise.decisions.rerank_budget import read_given, read_measure, read_steps, score_rows
from rankwise.metrics.measure import MeasureLike
from rankwise.metrics.statistics.intervals import mean_intervals
from rankwise.rankers.regression import RidgeRanker
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, check_share, check_whole
from rankwise.runtime.result import Result
from rankwise.selection.cells.candidates import RunScores
from rankwise.selection.systems import evaluate_systems
from rankwise.typing import Float64Array, Int64Array, Seed


@dataclass(frozen=True, eq=False)
class LabelBudget(Result):
    """Quality of a student by its number of training queries, and by who labelled them.

    Attributes
    ----------
    queries : ndarray of shape (n_sizes,), int64
        Number of training queries.
    judged, labeled : ndarray of shape (n_sizes,), float64
        Mean of the measure after training on judgements of people, and on scores of the model.
    equal : ndarray of shape (n_sizes,), float64
        Number of judged queries with which the student is as good as with the labelled ones, by
        interpolation in its logarithm. NaN: fewer than the smallest number; infinite: more than
        the largest one.
    first : float
        Mean of the first stage on the same queries.
    gain, gain_low, gain_high : float
        Student of most labelled queries minus the first stage, and the interval of this mean.
    measure : str
    n_queries : int
        Number of test queries, over all folds.
    confidence_level : float
    advice : list of str
        What to do, in sentences.
    """

    _derived = ("advice",)

    queries: Int64Array
    judged: Float64Array
    labeled: Float64Array
    equal: Float64Array
    first: float
    gain: float
    gain_low: float
    gain_high: float
    measure: str
    n_queries: int
    confidence_level: float

    @property
    def advice(self) -> list[str]:
        """What to do, in sentences."""
        n, equal = self.queries[-1], self.equal[-1]
        worth = f"about {equal:.0f} judged ones ({n / equal:.1f} to 1)"
        if not math.isfinite(equal):
            worth = f"fewer than {self.queries[0]}" if math.isnan(equal) else f"more than {n}"
            worth += " judged ones"
        text = f"{n} queries labelled by the model are worth {worth}."
        ends = f"{self.gain:+.4f}, {self.gain_low:+.4f} to {self.gain_high:+.4f}"
        if self.gain_low > 0:
            return [text, f"The student of the model beats the first stage ({ends})."]
        return [text, f"The student of the model does not beat the first stage ({ends})."]

    def _heading(self) -> str:
        return f"{self.measure} of {self.n_queries} queries, first stage {self.first:.4f}"

    def _cells(self) -> tuple[list[list[str]], list[str]]:
        cells, below = super()._cells()
        return cells, [*below, *self.advice]


@names_its_class
def label_budget(
    first: Any,
    reranked: Any,
    data: RankingData,
    *,
    sizes: int | Sequence[int] | None = None,
    student: Any = None,
    measure: MeasureLike = "nDCG@10",
    cv: int = 5,
    confidence_level: float = 0.95,
    random_state: Seed = 0,
) -> LabelBudget:
    """Compare students trained on human judgements with students of an expensive model.

    Parameters
    ----------
    first : run, "column:NAME", array-like of shape (n_rows,) or fitted ranker
        Scores of the first stage, to beat.
    reranked : run, "column:NAME", array-like of shape (n_rows,) or fitted ranker
        Scores of the model, which are the labels of its student; NaN: not labelled.
    data : RankingData
        Judged rows with the features of the student. A column equal to ``reranked`` is left out.
    sizes : int >= 1 or sequence of them, optional
        Numbers of training queries. None: 5, 10, 20, 40, … up to those of a fold.
    student : estimator, optional
        Ranker to train, which must take labels of any value. None: ridge regression, its penalty
        chosen by folds of the training queries.
    measure : str, Measure or callable
    cv : int >= 2
        Number of folds of queries.
    confidence_level : float in (0, 1)
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds and of the training queries drawn.

    Returns
    -------
    LabelBudget

    Raises
    ------
    ValueError
        If lengths differ, an argument is out of range, or no feature is left.

    Notes
    -----
    Both students have the same test queries, and the same training queries, which have labels of
    both kinds. One set of training queries is drawn for each size and fold, so differences of a few
    queries are noise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1200, 4))
    >>> y = (X.sum(axis=1) + rng.normal(size=1200) > 2).astype(float)
    >>> data = RankingData(X, y, qid=np.arange(1200) // 10)
    >>> budget = label_budget(X[:, 0], X.sum(axis=1), data, sizes=[5, 20, 80])
    >>> budget.advice[1][:50]
    'The student of the model beats the first stage (+0'
    """
    check_share("confidence_level", confidence_level)
    spec, _ = read_measure(measure)
    if not isinstance(data, RankingData) or not data.n_features:
        raise ArgumentError("data", "must be judged rows with features for the student.")
    start, taught = (score_rows(*pair, data) for pair in (("first", first), ("reranked", reranked)))
    labels = {"judged": data.y.astype(np.float64), "labeled": taught}
    query = data.groups.codes()
    has_both = np.ones(data.n_queries, dtype=bool)
    for y in labels.values():
        has_both &= np.bincount(query[np.isfinite(y)], minlength=len(has_both)) > 0
    check_whole("cv", cv, 2)
    if has_both.sum() < cv:
        problem = f"must label at least cv={cv} judged queries, got {has_both.sum()}. Label more."
        raise ArgumentError("reranked", problem)
    # A column with the labels would let their student look.
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    X = X[:, [not np.array_equal(column, taught, equal_nan=True) for column in X.T]]
    if not X.shape[1]:
        raise ArgumentError("data", "must have more features for the student than the labels.")
    ranker = RidgeRanker(alpha="cv", measure="Misranking") if student is None else student
    shuffled = check_random_state(random_state).permutation(data.n_queries)
    labelled, others = shuffled[has_both[shuffled]], shuffled[~has_both[shuffled]]
    folds = zip(np.array_split(labelled, cv), np.array_split(others, cv), strict=True)
    tests = [np.append(*parts) for parts in folds]
    trains = [labelled[~np.isin(labelled, test)] for test in tests]
    most = min(map(len, trains))
    if sizes is None:
        sizes = [*(5 * 2**k for k in range(30) if 5 * 2**k < most), most]
    steps = read_steps("sizes", sizes)
    if steps[-1] > most:
        raise ArgumentError("sizes", f"must lie between 1 and {most}, got {steps[-1]}.")
    given = read_given(first)  # a run need not have all rows
    scores: dict[str, Any] = {"first": given.run if isinstance(given, RunScores) else start}
    for size, (source, y) in product(steps.tolist(), labels.items()):
        predicted = scores[f"{source} {size}"] = np.empty(data.n_samples)
        for train, test in zip(trains, tests, strict=True):
            rows = np.flatnonzero(np.isin(query, train[:size]) & np.isfinite(y))
            fitted: Any = clone(ranker)
            fitted.fit(X[rows], y[rows], qid=data.qid[rows])
            rows = np.flatnonzero(np.isin(query, test))
            predicted[rows] = fitted.predict(X[rows])
    board = evaluate_systems(data, scores, measures=[spec])
    values = board.per_query()
    means = {name: float(np.nanmean(column)) for name, column in values.items()}
    judged, labeled = (np.array([means[f"{name} {size}"] for size in steps]) for name in labels)
    # Made monotone against the noise of single draws.
    climbed = np.maximum.accumulate(judged)
    equal = np.exp(np.interp(labeled, climbed, np.log(steps)))
    equal[labeled < climbed[0]] = math.nan
    equal[labeled > climbed[-1]] = math.inf
    gain = values[f"labeled {steps[-1]}"] - values["first"]
    low, high = mean_intervals(gain[:, None], confidence_level=confidence_level)[0].tolist()
    return LabelBudget(
        queries=steps,
        judged=judged,
        labeled=labeled,
        equal=equal,
        first=means["first"],
        gain=float(np.nanmean(gain)),
        gain_low=low,
        gain_high=high,
        measure=board.measures[0],
        n_queries=int((~np.isnan(gain)).sum()),
        confidence_level=confidence_level,
    )
