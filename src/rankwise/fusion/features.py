"""Features of documents from the result lists of several systems.

A document that a system did not return gets the worst value of that system's list: the lowest
score, the rank after the last one, and a reciprocal rank of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import find_missed_documents
from rankwise.datasets.readers.trec import Qrels
from rankwise.fusion.rules import RANK_CONSTANT
from rankwise.fusion.run_pool import RunPool, check_judged, convert_to_pool, normalize
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_choice
from rankwise.runtime.renames import spell
from rankwise.typing import Float64Array

ALL_FEATURES = ("score", "rank", "reciprocal_rank", "min_max", "z", "missing")


@names_its_class
def fusion_table(
    runs: RunPool | Sequence[Any] | Mapping[str, Any],
    qrels: Qrels | None = None,
    *,
    systems: Sequence[str] | None = None,
    features: Sequence[str] = ALL_FEATURES,
    rank_constant: float = 60.0,
    unjudged: Literal["zero", "ignore"] = "zero",
) -> RankingData:
    """Build a table with one row per query and document and the features of each system.

    Parameters
    ----------
    runs : RunPool, sequence, or mapping from system name to result lists
        See :func:`rankwise.fusion.pool_runs`.
    qrels : Qrels, optional
        Relevance judgements. None: all labels are 0.
    systems : sequence of str, optional
        Names of the systems, see :func:`rankwise.fusion.pool_runs`.
    features : sequence of str, default=all of them
        Features of each system. A document is "missing" if the system did not return it:

        - "score": its score; missing: the lowest score of the list;
        - "rank": from 1, equal scores share the mean of their ranks; missing: one more than the
          length of the list;
        - "reciprocal_rank": ``1 / (rank_constant + rank)``; missing: 0;
        - "min_max": ``(score - min) / (max - min)`` of the list; missing: 0;
        - "z": ``(score - mean) / sd`` of the list; missing: the lowest z of the list;
        - "missing": 1 if the system did not return the document, else 0.

        If a system has no documents for a query, its score and z are 0.
    rank_constant : float in [0, 1e12], default=60
        Constant of "reciprocal_rank".
    unjudged : {"zero", "ignore"}, default="zero"
        Treatment of unjudged documents if ``qrels`` is given. "zero": not relevant, as in
        trec_eval. "ignore": their rows are left out. Queries without any judgement are always
        left out.

    Returns
    -------
    RankingData
        Features are named "feature(system)". Judged documents that no system returned are in
        ``missed``.

    Raises
    ------
    ValueError
        If a feature is unknown or given twice, ``rank_constant`` is outside its range, or no
        document of any
        query is judged.

    Examples
    --------
    >>> from rankwise.fusion import fusion_table
    >>> bm25, encoder = {"q": {"d1": 9.0, "d2": 7.0}}, {"q": {"d2": 0.8}}
    >>> table = fusion_table({"bm25": bm25, "encoder": encoder}, features=["rank", "missing"])
    >>> table.feature_names
    ['rank(bm25)', 'rank(encoder)', 'missing(bm25)', 'missing(encoder)']
    >>> table.X.tolist()
    [[1.0, 2.0, 0.0, 1.0], [2.0, 1.0, 0.0, 0.0]]
    """
    pool = convert_to_pool(runs, systems)
    chosen = check_features(features)
    RANK_CONSTANT.check("rank_constant", rank_constant)
    check_choice("unjudged", unjudged, ("zero", "ignore"))
    X, grades = feature_matrix(pool, chosen, rank_constant), np.zeros(len(pool))
    names = [f"{feature}({system})" for feature in chosen for system in pool.systems]
    if qrels is None:
        return RankingData(
            X, grades, qid=pool.qid, doc_ids=pool.doc_ids, feature_names=names, name="fusion"
        )
    grades, judged = check_judged(pool, qrels)
    kept = judged if unjudged == "ignore" else np.isin(pool.qid, np.unique(qrels.qid))
    qid, doc_ids = pool.qid[kept], pool.doc_ids[kept]
    missed = find_missed_documents(qrels, qid, doc_ids)
    return RankingData(
        X[kept],
        grades[kept],
        qid=qid,
        doc_ids=doc_ids,
        feature_names=names,
        name="fusion",
        missed=missed,
    )


def feature_matrix(pool: RunPool, features: Sequence[str], k: float) -> Float64Array:
    """Features of the rows of a pool: all systems of the first feature, then of the next."""
    return np.concatenate([_FEATURES[feature](pool, k) for feature in features], axis=1)


def check_features(features: Sequence[str]) -> tuple[str, ...]:
    """The names of features, each known and named once."""
    chosen = (features,) if isinstance(features, str) else tuple(features)
    chosen = tuple(map(spell, chosen))
    for feature in chosen:
        if feature not in _FEATURES:
            raise ValueError(
                f"features must be among {', '.join(map(repr, _FEATURES))}, got {feature!r}."
            )
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"features must name each feature once, got {list(chosen)}.")
    return chosen


def _lowest(pool: RunPool, values: Float64Array) -> Float64Array:
    """Values, and the lowest one of the list in place of NaN; 0 in lists without documents."""
    low = np.fmin.reduceat(values, pool.groups.indptr[:-1], axis=0)
    low = np.repeat(low, pool.groups.sizes, axis=0)
    return np.nan_to_num(np.where(np.isnan(values), low, values))


def _rank(pool: RunPool, k: float) -> Float64Array:
    after = np.repeat(pool.n_returned, pool.groups.sizes, axis=0) + 1
    return np.where(pool.ranks > 0, pool.ranks, after).astype(np.float64)


_FEATURES: dict[str, Callable[[RunPool, float], Float64Array]] = {
    "score": lambda pool, k: _lowest(pool, pool.scores),
    "rank": _rank,
    "reciprocal_rank": lambda pool, k: np.where(
        pool.ranks > 0, 1.0 / (k + np.maximum(pool.ranks, 1)), 0.0
    ),
    "min_max": lambda pool, k: np.nan_to_num(normalize(pool, "min_max")),
    "z": lambda pool, k: _lowest(pool, normalize(pool, "z")),
    "missing": lambda pool, k: (pool.ranks == 0).astype(np.float64),
}
