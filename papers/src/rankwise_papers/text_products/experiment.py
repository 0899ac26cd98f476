"""BM25 and learnt rankers on rated products: Home Depot and CrowdFlower."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rankwise import LambdaMART, RidgeRanker, evaluate
from rankwise.datasets import RankingData, fetch
from rankwise.datasets.readers.textfiles import read_text
from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise.features import QueryScaler
from rankwise.text import QueryDocumentFeatures, TextIndex
from rankwise_papers.sources import make_fetchers
from rankwise_papers.text_products import tables
from rankwise_papers.text_products.tables import COLUMNS, FOLDS, METHODS

SEED, MEASURE = 0, "nDCG(ties=stable)@10"
ALPHA = [1.0, 100.0, 1e4]
TREES = {
    "learning_rate": 0.1, "max_leaf_nodes": 16, "min_samples_leaf": 50, "reg_lambda": 0.0,
    "random_state": 0,
    "early_stopping_rounds": 20,
}  # fmt: skip


class TextProducts(Experiment):
    """nDCG@10 of BM25 and of rankers, all products of a query in one list."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(COLUMNS)

    def cells(self, quick: bool) -> Sequence[Cell]:
        methods = METHODS[:1] if quick else METHODS
        return [
            Cell(f"{name}/{method}", {"method": method, "columns": columns, "seed": SEED}, name)
            for name, columns in COLUMNS.items()
            for method in methods
        ]

    def run(self, cell: Cell) -> Any:
        data = table(cell.data)
        fold = np.random.RandomState(cell.params["seed"]).permutation(data.n_queries) % len(FOLDS)
        found: list[float] = []
        for number in range(len(FOLDS)):
            vali = (number + 1) % len(FOLDS)
            train, held, test = (
                data.queries(np.flatnonzero(kept))
                for kept in ((fold != number) & (fold != vali), fold == vali, fold == number)
            )
            scores = _scores(cell.params["method"], train, held, test)
            result = evaluate(test, scores, MEASURE, preset="trec_eval")
            values = np.array(result.per_query[MEASURE], float)
            found += values[_counts(test)].tolist()
        return found

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results)


@cache
def table(name: str) -> RankingData:
    """Features of the texts of all rated pairs, standardised within queries, and grades from 0."""
    columns = COLUMNS[name]
    text = read_text(fetch(name)[0]).decode("utf-8", "replace")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    fields = {column: field for field, column in columns["fields"].items()}
    documents = {
        row[columns["document"]]: {field: row[column] for column, field in fields.items()}
        for row in rows
    }
    index = TextIndex(list(columns["fields"])).add(documents)
    names = {
        query: str(n) for n, query in enumerate(dict.fromkeys(r[columns["query"]] for r in rows))
    }
    qid = np.array([names[row[columns["query"]]] for row in rows])
    doc_ids = np.array([row[columns["document"]] for row in rows])
    features = QueryDocumentFeatures(index)
    queries = {number: query for query, number in names.items()}
    X = features.compute(queries, qid, doc_ids)
    y = np.array([float(row[columns["grade"]]) for row in rows]) - 1
    order = np.argsort(qid, kind="stable")
    X = QueryScaler("standard").fit_transform(X[order], qid=qid[order])
    return RankingData(
        X,
        y[order],
        qid=qid[order],
        doc_ids=doc_ids[order],
        feature_names=features.feature_names,
        name=name,
    )


def _counts(data: RankingData) -> Any:
    """Queries whose products differ in their grades."""
    grades = (data.y[data.groups.rows([query])] for query in range(data.n_queries))
    return np.array([judged.min() < judged.max() for judged in grades])


def _scores(method: str, train: RankingData, vali: RankingData, test: RankingData) -> Any:
    if method == "BM25":
        names = test.feature_names or []
        stream = "whole" if "bm25(whole)" in names else "title"
        return test.X[:, names.index(f"bm25({stream})")]
    ranker: Any = (
        RidgeRanker(alpha=ALPHA, measure=MEASURE)
        if method == "ridge"
        else LambdaMART(300, measure="nDCG@10", **TREES)
    )
    validation = {"X_val": vali.X, "y_val": vali.y, "qid_val": vali.qid}
    return ranker.fit(train.X, train.y, qid=train.qid, **validation).predict(test.X)
