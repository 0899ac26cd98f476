"""Export of learnt fusion weights to search engines.

References
----------
.. [1] Elasticsearch reference, "RRF retriever" and "Linear retriever": ``retrievers`` with
   ``weight``.
.. [2] OpenSearch documentation, "Score ranker processor" and "Normalization processor":
   ``combination`` with ``weights``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rankwise.fusion.learned_fusion import LearnedFusion

# Documents that Elasticsearch returns by default; largest constant that OpenSearch takes.
_DEFAULT_SIZE, _LARGEST_K = 10, 10_000


def hybrid_query(
    fusion: LearnedFusion,
    engine: Literal["elasticsearch", "opensearch"] = "elasticsearch",
    *,
    retrievers: Mapping[str, Any] | None = None,
    window: int = 100,
) -> dict[str, Any]:
    """Convert a fitted fusion to an Elasticsearch hybrid query or an OpenSearch pipeline.

    The engine truncates each list to its window and computes the scores of
    :meth:`LearnedFusion.fuse`: weighted reciprocal rank fusion for the feature "reciprocal_rank",
    weighted min-max scores for "min-max". Send ``json.dumps`` of the result to the engine.

    Parameters
    ----------
    fusion : LearnedFusion
        Fusion that was fitted with ``nonnegative=True`` on one of these two features.
    engine : {"elasticsearch", "opensearch"}, default="elasticsearch"
        "elasticsearch": the body of a search, with an ``rrf`` retriever with weights (9.2 and
        later) or a ``linear`` retriever (8.18 and later). "opensearch": a search pipeline with a
        ``score-ranker-processor`` with weights (3.1 and later) or a ``normalization-processor``;
        its weights are for the clauses of a ``hybrid`` query in the order of ``weights_``.
    retrievers : mapping from system name to retriever, optional
        Elasticsearch retrievers of the systems. None: a placeholder ``match_all`` query for each.
    window : int >= 1, default=100
        Length of each list in Elasticsearch (``rank_window_size``). Below 10, the query also sets
        ``size`` to ``window``, as Elasticsearch requires.

    Returns
    -------
    dict
        JSON values. For Elasticsearch, systems of weight 0 are left out. One of them is kept if an
        ``rrf`` retriever, which needs two systems, would otherwise have only one.

    Raises
    ------
    ValueError
        If a weight is negative or all are 0, the feature has no counterpart, ``k`` is not a whole
        number >= 1 (for OpenSearch also <= 10,000), ``window`` is below 1, there is only one
        system, or ``retrievers`` lacks a system.

    Notes
    -----
    Engines rank equal scores one after the other, while rankwise gives them the mean of their
    ranks. The min-max scores of engines differ from rankwise's in two cases. OpenSearch gives the
    last document of a list 0.001 instead of 0. In a list of equal scores, every document has 0 in
    rankwise, its original score in Elasticsearch, and 1 in OpenSearch.

    Examples
    --------
    >>> import json, numpy as np
    >>> from rankwise.datasets import Qrels
    >>> from rankwise.fusion import LearnedFusion, hybrid_query
    >>> runs = {"bm25": {"q": {"a": 2.0, "b": 1.0}}, "encoder": {"q": {"b": 0.9, "c": 0.4}}}
    >>> qrels = Qrels(np.array(["q", "q"]), np.array(["a", "b"]), np.array([1, 1]))
    >>> fusion = LearnedFusion(nonnegative=True).fit(runs, qrels)
    >>> pipeline = hybrid_query(fusion, "opensearch")
    >>> list(pipeline["phase_results_processors"][0])
    ['score-ranker-processor']
    """
    weights = fusion.weights_
    for system, weight in weights.items():
        if weight < 0:
            raise ValueError(
                f"weights must be >= 0 for a search engine, got {weight:.4g} for {system!r}. Fit "
                "with nonnegative=True."
            )
    if len(weights) < 2:
        raise ValueError(f"weights must be of two or more systems, got {len(weights)}.")
    if window < 1 or window != int(window):
        raise ValueError(f"window must be a whole number >= 1, got {window}.")
    if not any(weights.values()):
        raise ValueError("weights are all 0: no system carries information about relevance.")
    (feature,) = fusion._features
    if feature not in ("reciprocal_rank", "min-max"):
        raise ValueError(
            f"features must be 'reciprocal_rank' or 'min-max' for a search engine, got {feature!r}."
        )
    by_rank = feature == "reciprocal_rank"
    if by_rank and (fusion.k < 1 or fusion.k != int(fusion.k)):
        raise ValueError(f"k must be a whole number >= 1 for a search engine, got {fusion.k}.")
    if engine == "elasticsearch":
        return _elasticsearch(weights, by_rank, int(fusion.k), retrievers, window)
    if engine == "opensearch":
        if by_rank and fusion.k > _LARGEST_K:
            raise ValueError(f"k must be <= {_LARGEST_K} for OpenSearch, got {fusion.k:g}.")
        return _opensearch(weights, by_rank, int(fusion.k))
    raise ValueError(f"engine must be 'elasticsearch' or 'opensearch', got {engine!r}.")


def _elasticsearch(
    weights: Mapping[str, float],
    by_rank: bool,
    k: int,
    retrievers: Mapping[str, Any] | None,
    window: int,
) -> dict[str, Any]:
    if retrievers is None:
        retrievers = {name: {"standard": {"query": {"match_all": {}}}} for name in weights}
    n_kept = max(sum(weight > 0 for weight in weights.values()), 2 if by_rank else 1)
    heaviest = sorted(weights, key=lambda name: -weights[name])[:n_kept]
    kept = [name for name in weights if name in heaviest]
    lacking = [name for name in kept if name not in retrievers]
    if lacking:
        raise ValueError(f"retrievers must have an entry for {', '.join(map(repr, lacking))}.")
    parts = [{"retriever": retrievers[name], "weight": weights[name]} for name in kept]
    size = {"size": window} if window < _DEFAULT_SIZE else {}
    if by_rank:
        body = {"retrievers": parts, "rank_constant": k, "rank_window_size": window}
        return {"retriever": {"rrf": body}, **size}
    parts = [{**part, "normalizer": "minmax"} for part in parts]
    return {"retriever": {"linear": {"retrievers": parts, "rank_window_size": window}}, **size}


def _opensearch(weights: Mapping[str, float], by_rank: bool, k: int) -> dict[str, Any]:
    parameters = {"weights": list(weights.values())}
    if by_rank:
        combination = {"technique": "rrf", "rank_constant": k, "parameters": parameters}
        processor: dict[str, Any] = {"score-ranker-processor": {"combination": combination}}
    else:
        processor = {
            "normalization-processor": {
                "normalization": {"technique": "min_max"},
                "combination": {"technique": "arithmetic_mean", "parameters": parameters},
            }
        }
    return {
        "description": f"Weights of {', '.join(weights)}",
        "phase_results_processors": [processor],
    }
