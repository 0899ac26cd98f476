"""Learning curve: learnt fusion compared with a rule, by the number of judged queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from rankwise.datasets.readers.judged_run import judge
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.fusion.features import feature_matrix
from rankwise.fusion.learned_fusion import LearnedFusion
from rankwise.fusion.rules import fuse
from rankwise.fusion.run_pool import RunPool
from rankwise.groups import QueryGroups
from rankwise.metrics import evaluate, parse
from rankwise.metrics.measure import Measure
from rankwise.runtime.messages import join_lines
from rankwise.typing import Float64Array


@dataclass(frozen=True, eq=False)
class JudgementCurve:
    """Effectiveness by the number of judged queries.

    Attributes
    ----------
    n_judged : ndarray of shape (n_sizes,), int64
    learned, baseline : ndarray of shape (n_sizes, n_draws)
        Mean of the measure on the queries that were not drawn.
    measure, rule : str
    """

    n_judged: NDArray[np.int64]
    learned: Float64Array
    baseline: Float64Array
    measure: str
    rule: str

    @property
    def gain(self) -> Float64Array:
        """Mean difference between learnt fusion and the rule, shape (n_sizes,)."""
        return (self.learned - self.baseline).mean(axis=1)

    def interval(self, level: float = 0.95) -> Float64Array:
        """Interval of the gain for one set of judged queries, shape (n_sizes, 2).

        The interval contains the middle ``level`` of the draws, so it shows the gain to expect from
        one set of judged queries. It is not a confidence interval of the mean.
        """
        tail = (1.0 - level) / 2
        return np.quantile(self.learned - self.baseline, [tail, 1.0 - tail], axis=1).T

    def __str__(self) -> str:
        lines = [f"judged  {self.measure}  {self.rule}  gain  95 % of the draws"]
        for place, (low, high) in enumerate(self.interval()):
            learned, baseline = self.learned[place].mean(), self.baseline[place].mean()
            lines.append(
                f"{self.n_judged[place]:6d}  {learned:.4f}  {baseline:.4f}  "
                f"{self.gain[place]:+.4f}  {low:+.4f} to {high:+.4f}"
            )
        return join_lines(lines)


def learning_curve(
    fusion: LearnedFusion,
    runs: RunPool | Sequence[Any] | Mapping[str, Any],
    qrels: Qrels,
    *,
    systems: Sequence[str] | None = None,
    n_judged: Sequence[int] = (5, 10, 20, 40, 80),
    n_draws: int = 20,
    rule: str = "rrf",
    measure: str = "AP",
    random_state: Any = 0,
) -> JudgementCurve:
    """Measure learnt fusion as a function of the number of judged queries.

    Each draw fits the fusion on n random queries and measures it on the others.

    Parameters
    ----------
    fusion : LearnedFusion
        Cloned for each fit.
    runs : RunPool, sequence, or mapping from system name to result lists
        See :func:`rankwise.fusion.pool_runs`.
    qrels : Qrels
    systems : sequence of str, optional
        Names of the systems, see :func:`rankwise.fusion.pool_runs`.
    n_judged : sequence of int >= 1, default=(5, 10, 20, 40, 80)
        Numbers of judged queries. Each leaves at least one query to measure.
    n_draws : int >= 1, default=20
        Sets of queries drawn for each number.
    rule : str, default="rrf"
        Rule to compare with, see :func:`rankwise.fusion.fuse`.
    measure : str, default="AP"
        Measured as trec_eval does.
    random_state : int, RandomState or None, default=0
        Draws the queries.

    Returns
    -------
    LearningCurve

    Raises
    ------
    ValueError
        If a number is not below the number of judged queries.

    Notes
    -----
    ``len(n_judged) * n_draws`` fits. The first draws of a larger number contain those of a smaller
    one.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import Qrels
    >>> from rankwise.fusion import LearnedFusion, learning_curve
    >>> queries = [f"q{i}" for i in range(8)]
    >>> good = {q: {"a": 3.0, "b": 2.0, "c": 1.0} for q in queries}
    >>> poor = {q: {"c": 3.0, "b": 2.0, "a": 1.0} for q in queries}
    >>> qrels = Qrels(np.array(queries), np.array(["a"] * 8), np.ones(8, dtype=int))
    >>> curve = learning_curve(
    ...     LearnedFusion(), {"good": good, "poor": poor}, qrels, n_judged=[2, 4], n_draws=3
    ... )
    >>> curve.learned.mean(axis=1).tolist()
    [1.0, 1.0]
    """
    pool, table = fusion._select_judged(runs, qrels, systems)
    groups, n_queries = table.groups, table.n_queries
    sizes = np.array(n_judged, dtype=np.int64)
    if len(sizes) == 0 or sizes.min() < 1 or sizes.max() >= n_queries:
        raise ValueError(
            f"n_judged must lie in [1, {n_queries - 1}], one less than the judged queries, got "
            f"{list(n_judged)}."
        )
    kept = np.flatnonzero(np.isin(pool.qid, groups.ids))
    X = feature_matrix(pool, fusion._features, fusion.k)[kept]
    measured = _Measured.of(pool.take(kept), qrels, measure)
    baseline = measured.values(fuse(pool, rule).scores[kept])
    rng = check_random_state(random_state)
    orders = [rng.permutation(n_queries) for _ in range(n_draws)]
    learned, compared = (np.empty((len(sizes), n_draws)) for _ in range(2))
    for draw, order in enumerate(orders):
        for place, size in enumerate(sizes):
            model: Any = clone(fusion)
            model._learn(pool.systems, table.queries(order[:size]), qrels)
            values = measured.values(model.estimator_.predict(X))
            rest = np.isin(measured.groups.ids, groups.ids[order[size:]])
            learned[place, draw] = np.nanmean(values[rest])
            compared[place, draw] = np.nanmean(baseline[rest])
    return JudgementCurve(sizes, learned, compared, measure, rule)


@dataclass(frozen=True, eq=False)
class _Measured:
    """Measures scores of a pool's rows by trec_eval's conventions, without sorting ids again."""

    measure: Measure  # equal scores in the order of the rows
    y: Float64Array  # (n_rows,), including judged documents that no system returned
    groups: QueryGroups
    source: NDArray[np.int64]  # row of the pool; -1: no system returned the document
    judged: NDArray[np.bool_]

    @classmethod
    def of(cls, pool: RunPool, qrels: Qrels, measure: str) -> _Measured:
        # With equal scores, documents come by descending id: the reverse of the pool's order.
        judged = judge(Run(pool.qid, pool.doc_ids, np.zeros(len(pool))), qrels)
        groups = QueryGroups.from_qid(judged.qid, len(judged))
        number = {query: place for place, query in enumerate(pool.groups.ids.tolist())}
        source = np.full(len(judged), -1, dtype=np.int64)
        for place, query in enumerate(groups.ids.tolist()):
            rows = np.arange(groups.indptr[place], groups.indptr[place + 1])
            source[rows[judged.retrieved[rows]]] = pool.groups.rows([number[query]])[::-1]
        found = parse(measure, "trec_eval")
        if getattr(found, "ties", None) == "docid":
            found = replace(found, **{"ties": "stable"})
        return cls(found, judged.y, groups, source, judged.judged)

    def values(self, scores: Float64Array) -> Float64Array:
        """The measure of every query, in the order of ``groups.ids``."""
        retrieved = self.source >= 0
        single = np.where(retrieved, scores[self.source], 0.0).astype(np.float32)
        words = {"retrieved": retrieved, "judged": self.judged, "measures": [self.measure]}
        result = evaluate(self.y, single.astype(np.float64), self.groups, **words)
        return result.per_query[str(self.measure)]
