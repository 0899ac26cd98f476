"""Ranks of systems as features, most of them missing, and choices among a few alternatives.

Read from the folders of ``RANKWISE_DATA``:

- ``mq2008-agg/rank_agg.csv.gz`` and ``rel_agg.csv.gz``: LETOR 4.0's MQ2008-agg, from
  ``nercms-mmap/RankAggregation-Lib`` (``datasets/MQ2008-agg``). 784 queries, the ranks of 25
  systems as columns; a row lacks the systems that did not find it (65 % of the values).
- ``trec-covid-runs`` and ``trec-robust03-runs``: the judged documents among the first 100 or 50 of
  some system; 8 and 9 columns.
- ``choices/*.csv.gz``: stated and observed choices of cars, electricity suppliers, fishing modes,
  yogurts (``arteagac/xlogit``, ``examples/data``) and ways to travel in Switzerland
  (``timothyb0912/pylogit``, ``examples/data``). A query is a choice of three or four alternatives,
  the chosen one has label 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from rankwise.datasets import RankingData
from rankwise.runtime.files import data_folders
from rankwise_papers.fusion_robust03 import experiment as robust03
from rankwise_papers.fusion_trec_covid import experiment as trec_covid

COVID_DEPTH, ROBUST_DEPTH, COVID_ROUND = 100, 50, 4


def load(name: str) -> RankingData:
    """Rows of a set; ValueError if its files are in no folder of ``RANKWISE_DATA``."""
    return SETS[name]()


def _read(path: str, **options: object) -> pd.DataFrame:
    for folder in data_folders():
        if (Path(folder) / path).exists():
            return pd.read_csv(Path(folder) / path, **options)
    raise ValueError(f"{path} is in no folder of RANKWISE_DATA. See benchmarks.study_more_sets.")


def _mq2008_agg() -> RankingData:
    ranks = _read("mq2008-agg/rank_agg.csv.gz", names=["query", "system", "item", "rank"])
    grades = _read("mq2008-agg/rel_agg.csv.gz", names=["query", "zero", "item", "grade"])
    table = ranks.pivot_table(index=["query", "item"], columns="system", values="rank")
    rows = grades.set_index(["query", "item"]).join(table, how="left").reset_index()
    X = rows[list(table.columns)].to_numpy(np.float64)
    return RankingData(X, rows["grade"].to_numpy(np.float64), qid=rows["query"].to_numpy())


def _runs(runs: dict, qrels: object, depth: int) -> RankingData:
    judged = pd.DataFrame({"query": qrels.qid, "item": qrels.doc_ids, "grade": qrels.relevance})
    columns = []
    for name, run in runs.items():
        frame = pd.DataFrame({"query": run.qid, "item": run.doc_ids, "score": run.scores})
        frame[name] = frame.groupby("query")["score"].rank(ascending=False, method="first")
        columns.append(frame[frame[name] <= depth].set_index(["query", "item"])[name])
    table = pd.concat(columns, axis=1)
    rows = judged.set_index(["query", "item"]).join(table, how="inner").reset_index()
    X = rows[list(table.columns)].to_numpy(np.float64)
    grade = np.maximum(rows["grade"].to_numpy(np.float64), 0.0)
    return RankingData(X, grade, qid=rows["query"].to_numpy())


def _covid() -> RankingData:
    runs, _, qrels = trec_covid.load(COVID_ROUND)
    return _runs(runs, qrels, COVID_DEPTH)


def _robust() -> RankingData:
    runs, _, qrels = robust03.load()
    return _runs(runs, qrels, ROBUST_DEPTH)


def _choices(name: str, query: str, chosen: str, left_out: tuple[str, ...] = ()) -> RankingData:
    """Rows of alternatives; the names of alternatives become columns of 0 and 1."""
    rows = _read(f"choices/{name}.csv.gz")
    table = pd.get_dummies(rows.drop(columns=[query, chosen, *left_out]))
    labels = rows[chosen].to_numpy(np.float64)
    return RankingData(table.to_numpy(np.float64), labels, qid=rows[query].to_numpy())


SETS: dict[str, Callable[[], RankingData]] = {
    "mq2008-agg": _mq2008_agg,
    "covid-runs": _covid,
    "robust-runs": _robust,
    "cars": lambda: _choices("car100_long", "choice_id", "choice", ("person_id", "alt")),
    "suppliers": lambda: _choices("electricity_long", "chid", "choice", ("id", "alt")),
    "fishing": lambda: _choices("fishing_long", "id", "choice"),
    "yogurt": lambda: _choices("yogurt_long", "chid", "choice", ("id",)),
    "travel": lambda: _choices("long_swiss_metro_data", "custom_id", "CHOICE", ("ID",)),
}
