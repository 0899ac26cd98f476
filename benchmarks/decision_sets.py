"""Judged lists of nine sets, on which rules of :mod:`rankwise.decisions` are measured.

Five have the scores of a MiniLM cross-encoder for the documents that BM25 or BGE-M3 found, 45
queries each ("ce-"). SciFact and NFCorpus have BM25's first hundred documents, from the library's
own index. MQ2008 and OHSUMED have the scores of ridge regression on LETOR's features, each query
scored by a model of the other folds.
"""

from __future__ import annotations

import gzip
import os
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise import RidgeRanker
from rankwise.datasets import RankingData, load_dataset
from rankwise.text import TextIndex, load_text

DEPTH = 100  # documents of BM25's lists
CROSS_ENCODER = ("arguana", "fiqa", "nfcorpus", "scidocs", "scifact")
SETS = (*(f"ce-{name}" for name in CROSS_ENCODER), "scifact", "nfcorpus", "mq2008", "ohsumed")
Floats = NDArray[np.float64]


class JudgedList(NamedTuple):
    """List of a query, best first: scores, grades, and grades of judged documents outside it."""

    scores: Floats
    grades: Floats
    missed: Floats


@cache
def load_lists(name: str) -> list[JudgedList]:
    """Lists of all queries with a relevant document, inside or outside the list."""
    if name.startswith("ce-"):
        lists = _cross_encoder(name.removeprefix("ce-"))
    elif name in ("scifact", "nfcorpus"):
        lists = _bm25(name)
    else:
        lists = _letor(name)
    return [entry for entry in lists if max(entry.grades.max(), *entry.missed, 0.0) > 0]


def pack(lists: Sequence[JudgedList]) -> tuple[Floats, RankingData]:
    """Scores and judged rows as the rules take them; queries are 0, 1, …."""
    numbers = np.arange(len(lists))
    lost = np.concatenate([entry.missed for entry in lists])
    of_lost = np.repeat(numbers, [len(entry.missed) for entry in lists])
    y = np.concatenate([entry.grades for entry in lists])
    qid = np.repeat(numbers, [len(entry.scores) for entry in lists])
    missed = RankingData(np.empty((len(lost), 0)), lost, qid=of_lost) if len(lost) else None
    data = RankingData(np.empty((len(y), 0)), y, qid=qid, missed=missed)
    return np.concatenate([entry.scores for entry in lists]), data


def _make(scores: Any, grades: Any, missed: Any) -> JudgedList:
    scores, grades = np.asarray(scores, dtype=np.float64), np.asarray(grades, dtype=np.float64)
    order, lost = np.argsort(-scores, kind="stable"), np.asarray(missed, dtype=np.float64)
    return JudgedList(scores[order], grades[order], lost[lost > 0])


def _join(found: dict[str, dict[str, float]], qrels: dict[str, dict[str, float]]) -> Any:
    """Lists of the queries that are judged."""
    for query, scores in found.items():
        if grades := qrels.get(query):
            missed = [grade for doc, grade in grades.items() if doc not in scores]
            yield _make(list(scores.values()), [grades.get(doc, 0.0) for doc in scores], missed)


def _cross_encoder(name: str) -> list[JudgedList]:
    folder = Path(os.environ["RANKWISE_DATA"]) / "beir-cross-encoder-scores"
    found: dict[str, dict[str, float]] = defaultdict(dict)
    qrels: dict[str, dict[str, float]] = defaultdict(dict)
    with gzip.open(folder / f"{name}.tsv.gz", "rt") as file:
        for query, doc, score in (line.rstrip("\n").split("\t") for line in file):
            if query != doc:  # queries of ArguAna are documents, too
                found[query][doc] = float(score)
    with gzip.open(folder / f"qrels.{name}.test.txt.gz", "rt") as file:
        for query, _, doc, grade in map(str.split, file):
            qrels[query][doc] = float(grade)
    return list(_join(found, qrels))


def _bm25(name: str) -> list[JudgedList]:
    collection = load_text(name)  # type: ignore[arg-type]
    qrels: dict[str, dict[str, float]] = defaultdict(dict)
    for part in collection.qrels.values():
        for query, doc, grade in zip(part.qid, part.doc_ids, part.relevance, strict=True):
            qrels[query][doc] = float(grade)
    queries = {query: text for query, text in collection.queries.items() if query in qrels}
    run = TextIndex(collection.fields).add(collection.documents).search(queries, DEPTH)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for query, doc, score in zip(run.qid, run.doc_ids, run.scores, strict=True):
        found[query][doc] = float(score)
    return list(_join(found, qrels))


def _letor(name: str) -> list[JudgedList]:
    lists = []
    for number in range(1, 6):
        fold = load_dataset(name, fold=number)
        train, test = fold.train, fold.test
        scores = RidgeRanker().fit(train.X, train.y, qid=train.qid).predict(test.X)
        ends = zip(test.groups.indptr[:-1], test.groups.indptr[1:], strict=True)
        y, scores = test.groups.sort(test.y), test.groups.sort(scores)
        lists += [_make(scores[a:b], y[a:b], []) for a, b in ends]
    return lists
