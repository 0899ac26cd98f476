"""BM25, PL2 and rerankers on Vaswani: the split of PyTerrier's notebook, and five folds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from rankwise import LambdaMART, RankSVM, RidgeRanker
from rankwise.datasets import Qrels, RankingData, Run
from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise.text import QueryDocumentFeatures, TextCollection, TextIndex, TextRanker, load_text
from rankwise_papers.sources import make_fetchers
from rankwise_papers.text_collections.experiment import measure_judged
from rankwise_papers.text_vaswani import tables
from rankwise_papers.text_vaswani.feedback import add_feedback_columns
from rankwise_papers.text_vaswani.tables import FOLDS, MODELS, SETTINGS

DATA = "vaswani"
SEED, DEPTH, DIMENSIONS = 0, 1000, 50
C = [1e-4, 1e-3, 1e-2]
ALPHA = [1.0, 100.0, 1e4]
TREES = {
    "learning_rate": 0.05, "max_leaf_nodes": 8, "min_samples_leaf": 50, "reg_lambda": 0.0,
    "random_state": 0,
    "early_stopping_rounds": 30,
}  # fmt: skip


class Split(NamedTuple):
    """Ids of the topics that train, validate and test."""

    train: list[str]
    vali: list[str]
    test: list[str]


class TextVaswani(Experiment):
    """AP of models and of rerankers, all of which validation topics choose."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([DATA])

    def cells(self, quick: bool) -> Sequence[Cell]:
        cells = [Cell("models", {"models": MODELS}, DATA)]
        if quick:
            return cells
        params = {"settings": SETTINGS, "seed": SEED}
        return cells + [
            Cell(name, {"split": name, **params}, DATA)
            for name in ("notebook", *(f"fold{fold}" for fold in FOLDS))
        ]

    def run(self, cell: Cell) -> Any:
        if cell.name != "models":
            return _compared(_split(cell.params["split"], cell.params["seed"]))
        index, collection = _loaded()
        found: dict[str, Any] = {"topics": list(collection.queries)}
        for name, model in cell.params["models"].items():
            run = index.search(collection.queries, DEPTH, **model)
            found[name] = measure_judged(run, collection.qrels["all"])
        return found

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results)


def _split(name: str, seed: int) -> Split:
    topics = list(_loaded()[1].queries)
    if name == "notebook":
        first, second = int(0.6 * len(topics)), int(0.8 * len(topics))
        return Split(topics[:first], topics[first:second], topics[second:])
    part = np.random.RandomState(seed).permutation(len(topics)) % len(FOLDS)
    test = int(name.removeprefix("fold")) - 1
    vali = (test + 1) % len(FOLDS)

    def select(kept: Any) -> list[str]:
        return [topic for topic, is_in in zip(topics, kept, strict=True) if is_in]

    return Split(
        select((part != test) & (part != vali)), select(part == vali), select(part == test)
    )


@cache
def _loaded() -> tuple[TextIndex, TextCollection]:
    collection = load_text(DATA)
    return TextIndex(collection.fields).add(collection.documents), collection


@cache
def _latent() -> QueryDocumentFeatures:
    """Features with vectors of latent semantic analysis of the documents."""
    index, collection = _loaded()
    analyzer: Any = index.analyzer
    tf_idf = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True)
    embedding = make_pipeline(tf_idf, TruncatedSVD(DIMENSIONS, random_state=0))
    vectors = embedding.fit_transform(
        [document["text"] for document in collection.documents.values()]
    )
    return QueryDocumentFeatures(index, vectors=vectors, embed=embedding.transform)


@cache
def _table(n_candidates: int, latent: bool | str) -> RankingData:
    """Features of the candidates of all topics."""
    index, collection = _loaded()
    features = _latent() if latent is True else None
    ranker = TextRanker(index, n_candidates=n_candidates, features=features)
    table = ranker.table(collection.queries, collection.qrels["all"])
    return add_feedback_columns(table, index, collection) if latent == "feedback" else table


def _rows(data: RankingData, topics: list[str]) -> RankingData:
    return data.take(np.flatnonzero(np.isin(data.qid, topics)))


def _compared(split: Split) -> dict[str, Any]:
    """AP of every setting on validation and test topics; the chosen one, fitted on both parts."""
    found: dict[str, Any] = {"test": split.test, "vali_AP": {}, "test_AP": {}}
    choices = {}
    for name, setting in SETTINGS.items():
        data = _table(setting["n_candidates"], setting["latent"])
        train, vali = _rows(data, split.train), _rows(data, split.vali)
        ranker = _ranker(setting["ranker"])
        ranker.fit(
            train.X, train.y, qid=train.qid, X_val=vali.X, y_val=vali.y, qid_val=vali.qid
        )  # fmt: skip
        choices[name] = _chosen(setting["ranker"], ranker)
        ap = _ap(ranker, vali, split.vali)["AP"]
        found["vali_AP"][name] = float(np.mean(ap))
        found["test_AP"][name] = _ap(ranker, _rows(data, split.test), split.test)["AP"]
    best = max(SETTINGS, key=lambda name: found["vali_AP"][name])
    setting = SETTINGS[best]
    data = _table(setting["n_candidates"], setting["latent"])
    both = _rows(data, split.train + split.vali)
    final = choices[best].fit(both.X, both.y, qid=both.qid)
    chosen = _ap(final, _rows(data, split.test), split.test)
    return {**found, "chosen": best, "chosen_test": chosen}


def _ranker(kind: str) -> Any:
    if kind == "RankSVM":
        return RankSVM(C=C, measure="AP")
    if kind == "LambdaMART":
        return LambdaMART(500, measure="AP", **TREES)
    return RidgeRanker(alpha=ALPHA, measure="AP")


def _chosen(kind: str, fitted: Any) -> Any:
    """An unfitted ranker with the penalty or the number of trees that validation chose."""
    if kind == "RankSVM":
        return RankSVM(C=fitted.C_, measure="AP")
    if kind == "LambdaMART":
        trees = {name: value for name, value in TREES.items() if name != "early_stopping_rounds"}
        return LambdaMART(fitted.best_iteration_, measure="AP", **trees)
    return RidgeRanker(alpha=fitted.alpha_, measure="AP")


def _ap(ranker: Any, rows: RankingData, topics: list[str]) -> dict[str, list[float]]:
    """Measures over all relevant documents of the topics, retrieved or not."""
    qrels = _loaded()[1].qrels["all"]
    kept = np.isin(qrels.qid, topics)
    judged = Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])
    return measure_judged(
        Run(np.asarray(rows.qid), np.asarray(rows.doc_ids), np.asarray(ranker.predict(rows.X))),
        judged,
    )
