"""Boosted trees on a cluster: each worker holds whole queries, and all train one model.

LightGBM and XGBoost exchange what they need; LambdaMART exchanges only histograms, and its model
equals that of a single machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.distributed.dask_partitions import Tasks
from rankwise.distributed.processes import Place, Star, client_of, run_ranks
from rankwise.distributed.steps import naming_partition
from rankwise.distributed.whole_queries import (
    QueryPart,
    join_parts,
    read_part,
    same_columns,
    whole_parts,
)
from rankwise.groups import QueryGroups
from rankwise.metrics.default import TARGETS
from rankwise.rankers.adapters.boosted_ranker import BoostedRanker, TrainingLabels
from rankwise.rankers.boosting.lambdamart import LambdaMART, check_shareable, fit_share
from rankwise.runtime.constraints import check_random_state


def fit_booster(
    ranker: BoostedRanker,
    partitions: Sequence[Any],
    validation: tuple[Any, Any, Any],
    client: Any = None,
) -> Any:
    """Fit a copy of a boosting adapter (LightGBM or XGBoost) on the partitions of a collection.

    ``validation`` holds X_val, y_val and qid_val in memory; they are sent to every worker.
    """
    client = client_of(client)
    hub: Any = clone(ranker)
    hub._check_parameters()
    if hub.categorical_features not in ("from_dtype", None):
        raise ValueError(
            "categorical_features must be None on a cluster, got "
            f"{hub.categorical_features!r}. Encode categories as numbers, or fit locally."
        )
    for name, value in {"refit": False, "cv": None}.items():
        if getattr(hub, name) != value:
            raise ValueError(
                f"{name} must be {value} for {type(hub).__name__} on a cluster, got "
                f"{getattr(hub, name)!r}. Pass the number of trees as n_estimators, or fit locally."
            )
    shares, found = share_parts(hub, partitions, client)
    labels = reduce(TrainingLabels.joined, found)
    if labels.values is None and hub._library.name == "LightGBM":
        raise ValueError(
            "y must have at most 65,536 different labels for LightGBM on a cluster. Round them, "
            "or use XGBoostRanker."
        )
    seed = int(check_random_state(hub.random_state).randint(2**31 - 1))
    fitted = run_ranks(
        client, shares, fit_booster_share, hub._networks, clone(ranker), labels, validation, seed
    )
    return join_rankers(fitted)


def fit_booster_share(
    network: Any,
    ranker: Any,
    labels: TrainingLabels,
    validation: tuple[Any, Any, Any],
    seed: int,
    parts: Sequence[QueryPart],
) -> Any:
    """Training task of one worker."""
    share = join_parts(*parts)
    rows = (share.X, share.y, share.qid if share.has_qid else None, share.weight)
    return ranker._fit_share(rows, share.names, labels, validation, seed, network)


def share_parts(
    ranker: Any, partitions: Sequence[Any], client: Any
) -> tuple[list[list[Any]], list[TrainingLabels]]:
    """Split the rows into whole queries for each worker, and return the labels of every part.

    ValueError is raised if no query has two different labels.
    """
    tasks = Tasks(client)
    model = tasks.shared(clone(ranker))
    parts = [
        tasks.on_partition(_read, part, model, number) for number, part in enumerate(partitions)
    ]
    wholes = whole_parts(same_columns(parts, tasks), tasks)
    sizes = tasks.results([tasks.call(_n_rows, part) for part in wholes])
    shares = shares_of(wholes, sizes, len(client.nthreads()))
    filled = [part for share in shares for part in share]
    found = tasks.results([tasks.call(_summary, part) for part in filled])
    if not any(has_pairs for _, has_pairs in found):
        raise ValueError(
            "y must differ within some query, got equal labels in each. Check that qid and y "
            "belong to the same rows."
        )
    return shares, [labels for labels, _ in found]


def shares_of(parts: Sequence[Any], sizes: Sequence[int], n: int) -> list[list[Any]]:
    """Consecutive parts for each of at most n workers, with about equal numbers of rows."""
    filled = [(part, size) for part, size in zip(parts, sizes, strict=True) if size]
    if not filled:
        raise ValueError("X must have rows of positive weight, got none in any partition.")
    ends = np.cumsum([size for _, size in filled])
    middles = ends - np.array([size for _, size in filled]) / 2
    of_part = (middles * min(n, len(filled)) / ends[-1]).astype(int)
    return [
        [part for (part, _), place in zip(filled, of_part, strict=True) if place == share]
        for share in np.unique(of_part)
    ]


def _read(partition: Any, ranker: Any, number: int) -> QueryPart:
    with naming_partition(number):
        return read_part(ranker, partition)


def _n_rows(part: QueryPart) -> int:
    return len(part.y)


def _summary(part: QueryPart) -> tuple[TrainingLabels, bool]:
    """The labels of a part, and whether some query has different labels."""
    groups = QueryGroups.from_qid(part.qid if part.has_qid else None, len(part.y))
    y = groups.sort(part.y)
    first = np.repeat(y[groups.indptr[:-1]], groups.sizes)
    return TrainingLabels.of(part.y), bool((y != first).any())


def join_rankers(fitted: Sequence[Any]) -> Any:
    """The ranker of the first worker, with the fingerprint of all workers' rows."""
    ranker, prints = fitted[0], [part.fit_fingerprint_ for part in fitted]
    totals = {name: sum(found[name] for found in prints) for name in ("n_samples", "n_queries")}
    digest = hashlib.sha256("".join(found["sha256"] for found in prints).encode())
    ranker.fit_fingerprint_ = {**prints[0], **totals, "sha256": digest.hexdigest()[:16]}
    if len({part.score_name_ for part in fitted}) > 1:
        ranker._set_score_name(TARGETS)  # not all labels are grades
    return ranker


def fit_lambdamart(
    ranker: LambdaMART,
    partitions: Sequence[Any],
    validation: tuple[Any, Any, Any],
    client: Any = None,
) -> LambdaMART:
    """Fit on the partitions of a collection, see :func:`fit_share`."""
    client = client_of(client)
    check_shareable(ranker)
    shares, found = share_parts(ranker, partitions, client)
    labels = reduce(TrainingLabels.joined, found)
    if not labels.is_grade:
        raise ValueError(
            "y must hold whole grades from 0 to 30 for LambdaMART on a cluster, got labels from "
            f"{labels.low:g} to {labels.high:g}. Make them grades, or fit on one machine."
        )
    seed = int(check_random_state(ranker.random_state).randint(2**31 - 1))
    fitted = run_ranks(client, shares, _program, Place.all, clone(ranker), validation, seed)
    return join_rankers(fitted)


def _program(
    place: Place,
    ranker: LambdaMART,
    validation: tuple[Any, Any, Any],
    seed: int,
    parts: Sequence[QueryPart],
) -> LambdaMART:
    """Task of one worker."""
    share = join_parts(*parts)
    if share.weight is not None:
        raise ValueError(
            "sample_weight must be None for LambdaMART on a cluster. Drop it, or fit on one "
            "machine."
        )
    rows = (share.X, share.y, share.qid if share.has_qid else None)
    with Star(place) as star:
        return fit_share(ranker, rows, share.names, validation, seed, star)
