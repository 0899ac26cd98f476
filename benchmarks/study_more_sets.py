"""Ranks of systems as features, most of them missing, and choices among a few alternatives.

Read from the folders of ``RANKWISE_DATA``:

- ``mq2008-agg``: LETOR 4.0's MQ2008-agg. 784 queries, the ranks of 25 systems as columns; a row
  lacks the systems that did not find it (65 % of the values).
- ``trec-covid-runs`` and ``trec-robust03-runs``: the judged documents among the first 100 or 50 of
  some system; 8 and 9 columns.
- ``choices``: stated and observed choices of cars, electricity suppliers, fishing modes, yogurts
  and ways to travel in Switzerland. A query is a choice of three or four alternatives, the chosen
  one has label 1.

The files of ``mq2008-agg`` and ``choices`` are those of ``SOURCES``, which names repositories on
GitHub; they may be compressed by gzip. Studies skip sets whose files are absent.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankwise.datasets import RankingData
from rankwise.runtime.files import data_folders
from rankwise_papers.fusion_robust03 import experiment as robust03
from rankwise_papers.fusion_trec_covid import experiment as trec_covid

_AGG = "nercms-mmap/RankAggregation-Lib, commit 1247de6eb18a, datasets/MQ2008-agg"
_XLOGIT = "arteagac/xlogit, commit c3d6d44b4df6, examples/data"
_PYLOGIT = "timothyb0912/pylogit, commit cffc9c523b53, examples/data"
# Folder and SHA-256 of every file, uncompressed.
SOURCES = {
    "mq2008-agg/rank_agg.csv": (
        _AGG, "0a946a4a12f0ba6278839c94b38c05e3b51a61cf71df61cb90f5c3daff90fe7c",
    ),
    "mq2008-agg/rel_agg.csv": (
        _AGG, "abd78ccdcbc01b0205744ea3626cd0f49e3f4a25f52d14ef35cb7143882ffaeb",
    ),
    "choices/car100_long.csv": (
        _XLOGIT, "a9124ecf4eefbbf4d43bd757b820b821e278f07ad1ff512c1d8b5e086c09abcf",
    ),
    "choices/electricity_long.csv": (
        _XLOGIT, "bf4146ef039a778b096e97e39af97f82b84527fa01f6932db559be232b388db8",
    ),
    "choices/fishing_long.csv": (
        _XLOGIT, "128bdf34ac76758341aa53544a3ceff4305deb50598b811f483758ad9adad2dc",
    ),
    "choices/yogurt_long.csv": (
        _XLOGIT, "e3a149009d95a0372ba7a1faafa4de1633d66edf7f6ce00e9fee0b82093b0291",
    ),
    "choices/long_swiss_metro_data.csv": (
        _PYLOGIT, "aad1c0d2e189e9d0e2fc9ae07a961f164c38f1c44e483296cb6694ef3d8b54c9",
    ),
}  # fmt: skip
COVID_DEPTH, ROBUST_DEPTH, COVID_ROUND = 100, 50, 4


@cache
def load(name: str) -> RankingData:
    """Rows of a set; FileNotFoundError if its files are in no folder of ``RANKWISE_DATA``."""
    return SETS[name]()


def find(names: Iterable[str]) -> list[str]:
    """Names of the sets whose files are there, and of all sets that are not of this module."""
    found = []
    for name in names:
        try:
            if name in SETS:
                load(name)
            found.append(name)
        except FileNotFoundError as error:
            print(f"skipped {name}: {error}", file=sys.stderr)
    return found


def _read(path: str, **options: Any) -> pd.DataFrame:
    source, checksum = SOURCES[path]
    for folder, end in product(data_folders(), ("", ".gz")):
        file = Path(folder) / (path + end)
        if file.exists():
            content = gzip.decompress(file.read_bytes()) if end else file.read_bytes()
            if hashlib.sha256(content).hexdigest() != checksum:
                raise ValueError(f"{file} is not the file of {source}. Download it again.")
            return pd.read_csv(io.BytesIO(content), **options)
    raise FileNotFoundError(
        f"{path} is in no folder of RANKWISE_DATA. Download it from {source} (GitHub)."
    )


def _mq2008_agg() -> RankingData:
    ranks = _read("mq2008-agg/rank_agg.csv", names=["query", "system", "item", "rank"])
    grades = _read("mq2008-agg/rel_agg.csv", names=["query", "zero", "item", "grade"])
    table = ranks.pivot_table(index=["query", "item"], columns="system", values="rank")
    rows = grades.set_index(["query", "item"]).join(table, how="left").reset_index()
    X = rows[list(table.columns)].to_numpy(np.float64)
    return RankingData(X, rows["grade"].to_numpy(np.float64), qid=rows["query"].to_numpy())


def _runs(runs: dict, qrels: Any, depth: int) -> RankingData:
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
    rows = _read(f"choices/{name}.csv")
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
