"""The little of Spark and Ray that the documented recipes use: bytes, processes, any order."""

from __future__ import annotations

import itertools
import random
from concurrent.futures import ProcessPoolExecutor
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pyarrow.parquet as pq


def _call(payload: bytes) -> bytes:
    function, args = cloudpickle.loads(payload)
    return cloudpickle.dumps(function(*args))


def elsewhere(pool: ProcessPoolExecutor, function: Any, argument_lists: list[Any]) -> list[Any]:
    """Results of the calls, each in another process; nothing is shared."""
    payloads = [cloudpickle.dumps((function, arguments)) for arguments in argument_lists]
    return [cloudpickle.loads(result) for result in pool.map(_call, payloads)]


class Rdd:
    """Rows in partitions."""

    def __init__(self, pool: ProcessPoolExecutor, partitions: list[list[Any]]) -> None:
        self.pool, self.partitions = pool, partitions

    def cache(self) -> Rdd:
        return self

    def take(self, n: int) -> list[Any]:
        return [row for partition in self.partitions for row in partition][:n]

    def mapPartitionsWithIndex(self, function: Any) -> Rdd:
        def work(number: int, rows: list[Any]) -> list[Any]:
            return list(function(number, iter(rows)))

        return Rdd(self.pool, elsewhere(self.pool, work, list(enumerate(self.partitions))))

    def treeReduce(self, function: Any) -> Any:
        """Reduces in an order of its own, as Spark may."""
        values = self.take(len(self.partitions))
        while len(values) > 1:
            random.Random(len(values)).shuffle(values)
            rest = values[len(values) // 2 * 2 :]
            pairs = [(values[i], values[i + 1]) for i in range(0, len(values) - 1, 2)]
            values = elsewhere(self.pool, function, pairs) + rest
        return values[0]


class Frame:
    """A table read from Parquet."""

    def __init__(self, pool: ProcessPoolExecutor, rows: list[Any]) -> None:
        self.pool, self.rows = pool, rows

    def sort(self, column: str) -> Frame:
        return Frame(self.pool, sorted(self.rows, key=lambda row: row[column]))

    @property
    def rdd(self) -> Rdd:
        n = len(self.rows)
        cuts = [0, n // 5, n // 5, n // 2, n // 2 + 7, n]  # one partition is empty, one tiny
        return Rdd(self.pool, [self.rows[lo:hi] for lo, hi in itertools.pairwise(cuts)])


def spark(pool: ProcessPoolExecutor) -> Any:
    """What ``from pyspark.sql import SparkSession`` gives."""
    session = SimpleNamespace(
        read=SimpleNamespace(parquet=lambda path: Frame(pool, pq.read_table(path).to_pylist())),
        sparkContext=SimpleNamespace(broadcast=lambda value: SimpleNamespace(value=value)),
    )
    return SimpleNamespace(
        SparkSession=SimpleNamespace(builder=SimpleNamespace(getOrCreate=lambda: session))
    )


class Ray:
    """What ``import ray`` gives; a reference holds the bytes of its value."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self.pool = pool

    def init(self) -> None:
        pass

    def put(self, value: Any) -> Any:
        return SimpleNamespace(payload=cloudpickle.dumps(value))

    def get(self, reference: Any) -> Any:
        return cloudpickle.loads(reference.payload)

    def remote(self, function: Any) -> Any:
        def call(*args: Any) -> Any:
            values = [self.get(arg) if hasattr(arg, "payload") else arg for arg in args]
            return self.put(elsewhere(self.pool, function, [values])[0])

        return SimpleNamespace(remote=call)
