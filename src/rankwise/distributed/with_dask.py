"""Fit on a Dask cluster: partitions are summed in place, and only sums are transferred."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from rankwise.distributed.steps import (
    Plan,
    Statistics,
    convert_to_stream,
    merge,
    partition_statistics,
    plan,
    solve,
)
from rankwise.rankers.adapters.boosted_ranker import BoostedRanker
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.runtime.finite import names_its_class

try:
    from dask.base import compute
    from dask.delayed import delayed

    from rankwise.distributed.dask_partitions import gather, partitions_of
except ImportError as error:
    raise ImportError(
        "rankwise.distributed.fit needs Dask: pip install 'rankwise[dask]'. On other systems use "
        "its steps plan, partition_statistics, merge and solve."
    ) from error

# Number of results merged by one task.
_MERGED = 4


@names_its_class
def fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    qid_val: Any = None,
    client: Any = None,
) -> Any:
    """Fit a ranker on partitions stored on a cluster.

    Parameters
    ----------
    estimator : closed-form ranker, LightGBMRanker, XGBoostRanker or LambdaMART
        LinearRegressionRanker, RidgeRanker, PointwiseELM and PairwiseELM with random nodes, and
        RankRLS, LSRRank, MPRank and LSSVRanker with a linear kernel or
        ``approximation="nystroem"``. Their penalty is a number, a list or "cv". The ranker is not
        modified.
    X : dask DataFrame, dask array, or list
        - A DataFrame with a Series (or a column's name) each for ``y``, ``qid`` and
          ``sample_weight``; all other columns are features.
        - An array of shape (n_samples, n_features), with arrays of shape (n_samples,).
        - A list of partitions: ``dask.delayed`` objects, futures or
          ``RowStream`` that can be read again. Each gives one chunk or an iterable of chunks, as
          :func:`rankwise.streams.stream` takes them, with labels and queries.
    y, qid, sample_weight : as for ``X``, optional
        Labels, query ids and weights. None: no query ids or weights. For a list, the chunks hold
        them.
    X_val, y_val, qid_val : optional
        Boosters only. Validation rows in memory, as for ``fit``, sent to every worker. The measure
        is computed on them after every tree, and training stops early as in ``fit``.
    client : distributed.Client, optional
        Client to run on. None: the current client or, without one, Dask's default scheduler in this
        process. Boosters need a client.

    Returns
    -------
    ranker
        A fitted copy, equal up to rounding to the model that ``fit`` gives for all rows in memory.
        Boosting libraries choose bins from sketches of each worker's rows and add in floating
        point. Their trees can differ and depend on the number of workers. LambdaMART's trees are
        bit-identical to one machine's for at most 200,000 distinct rows.

    Raises
    ------
    ImportError
        When Dask is not installed.
    ValueError, TypeError
        As ``fit`` raises, and for closed forms if the rows of a query are neither in one partition
        nor at the ends of consecutive ones.
    RuntimeError
        If training of a booster failed in four attempts, because workers died or lost each other,
        if a worker that must be restarted has no nanny, or if the cluster has no workers for five
        minutes.

    Notes
    -----
    A penalty given as a number takes one round over the partitions, a search takes three, and
    landmarks add one. Persist partitions that are expensive to compute. Each partition sends the
    sums of each fold and of its first and last query (p^2 numbers each for p columns) and one id
    per query. No rows are sent except landmarks. Sums are added in a tree on the workers and solved
    in this process. If a worker dies, Dask recomputes its partitions and the result does not
    change. Every task runs on one thread.

    Boosters are trained by the library on all workers at once, each with whole queries: rows of a
    query in later partitions move to the partition with its first rows. If a worker dies, training
    restarts on the same number of workers.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> from rankwise.distributed import fit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3))
    >>> y, qid = np.floor(3 * X[:, 0]), np.arange(100) // 10
    >>> rows = (da.from_array(a, chunks=35) for a in (y, qid))
    >>> y_parts, qid_parts = rows
    >>> ranker = fit(RidgeRanker(), da.from_array(X, chunks=(35, 3)), y_parts, qid=qid_parts)
    >>> bool(np.allclose(ranker.predict(X), RidgeRanker().fit(X, y, qid=qid).predict(X)))
    True
    """
    partitions = partitions_of(X, {"y": y, "qid": qid, "sample_weight": sample_weight})
    validation = (X_val, y_val, qid_val)
    if isinstance(estimator, BoostedRanker):
        from rankwise.distributed.boosters import fit_booster

        return fit_booster(estimator, partitions, validation, client)
    if isinstance(estimator, LambdaMART):
        from rankwise.distributed.boosters import fit_lambdamart

        return fit_lambdamart(estimator, partitions, validation, client)
    if X_val is not None:
        raise TypeError(
            f"X_val is for boosters on a cluster, got it for {type(estimator).__name__}. Choose "
            'the penalty by folds of queries: "cv", or a list.'
        )
    job = _first_plan(estimator, partitions, client)
    while not job.finished:
        job = solve(job, _round(job, partitions, client))
    return job.estimator


def _first_plan(ranker: Any, partitions: Sequence[Any], client: Any) -> Plan:
    """The plan, made on a worker from the first partition that has rows."""
    for partition in partitions:
        made = delayed(_plan_of, pure=False)(ranker, partition)
        job = _compute(made, client)
        if job is not None:
            return job
    raise ValueError("X must have rows, got empty partitions only.")


def _plan_of(ranker: Any, rows: Any) -> Plan | None:
    chunks = convert_to_stream(rows)
    has_rows = any(
        chunk.n_rows and (chunk.sample_weight is None or np.any(chunk.sample_weight))
        for chunk in chunks.keys()  # noqa: SIM118
    )
    return plan(ranker, chunks).for_workers() if has_rows else None


def _round(job: Plan, partitions: Sequence[Any], client: Any) -> Statistics:
    """Statistics of all partitions, added neighbour to neighbour."""
    sent = delayed(job.for_workers(), pure=False, traverse=False)
    results = [
        delayed(partition_statistics, pure=False)(sent, number, partition)
        for number, partition in enumerate(partitions)
    ]
    while len(results) > 1:
        results = [
            delayed(reduce, pure=False)(merge, results[lo : lo + _MERGED])
            for lo in range(0, len(results), _MERGED)
        ]
    return _compute(results[0], client)


def _compute(task: Any, client: Any) -> Any:
    return compute(task)[0] if client is None else gather(client, client.compute(task))
