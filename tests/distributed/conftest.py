"""Rows with ragged queries, and cuts of them into partitions."""

from __future__ import annotations

import itertools
import multiprocessing
from unittest import mock

import numpy as np
import pytest

from rankwise.datasets import RankingData

IMPORTED = [  # those that are not installed are left out
    "distributed.nanny",
    "dask.array",
    "dask.dataframe",
    "rankwise.distributed.boosters",
    "rankwise.rankers.adapters.lightgbm",
    "rankwise.rankers.adapters.xgboost",
    "rankwise.distributed.with_dask",
    "tests.distributed.deaths",
]
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@pytest.fixture(scope="package")
def judged():
    """1,000 rows of 40 queries, one of them large; weights 1 to 3."""
    rng = np.random.default_rng(20261121)
    sizes = rng.integers(1, 40, 40)
    sizes[7] = 300
    qid = np.repeat(rng.permutation(40), sizes)
    X = rng.random((len(qid), 5))
    y = np.digitize(X[:, 0] + 0.4 * rng.standard_normal(len(qid)), [0.4, 0.8]).astype(float)
    return RankingData(X, y, qid=qid, sample_weight=rng.integers(1, 4, len(qid)).astype(float))


@pytest.fixture(scope="package")
def start_method():
    """Start method of processes: forks of one that has imported everything, if there are forks."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return "spawn"
    from multiprocessing import forkserver

    multiprocessing.get_context("forkserver").set_forkserver_preload(IMPORTED)
    with mock.patch.dict("os.environ", dict.fromkeys(ONE_THREAD, "1")):
        forkserver.ensure_running()
    return "forkserver"


@pytest.fixture(scope="package")
def client(start_method):
    """Two worker processes.

    An innocent task may meet any number of deaths, and a worker may take long to come back: by
    default a LocalCluster gives it up after 15 seconds, in which a busy machine starts no process.
    """
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": 20,
                "distributed.deploy.lost-worker-timeout": "10 minutes",
                "distributed.worker.multiprocessing-method": start_method,
            }
        ),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def cut(data, cuts, *, weighted=False):
    """Partitions (X, y, qid, sample_weight) between the given row numbers."""
    bounds = [0, *cuts, len(data)]
    weight = data.sample_weight if weighted else None
    columns = (data.X, data.y, data.qid, weight)
    return [
        tuple(None if column is None else column[lo:hi] for column in columns)
        for lo, hi in itertools.pairwise(bounds)
    ]
