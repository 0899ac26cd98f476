"""LambdaMART on Dask: only histograms are transferred; the model equals a single-machine fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state

from rankwise.distributed.boosters import join_rankers, share_parts
from rankwise.distributed.processes import client_of, run_ranks
from rankwise.distributed.star import Place, Star
from rankwise.distributed.whole_queries import QueryPart, join_parts
from rankwise.rankers.adapters._rows import TrainingLabels
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.rankers.boosting.lambdamart_share import check_shareable, fit_share


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
