"""BM25 and a learnt reranker on Vaswani, Cranfield, cystic fibrosis, SciFact and NFCorpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rankwise import LSRRank, RankSVM, evaluate
from rankwise.datasets import Qrels, Run, judge
from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise.text import TextCollection, TextIndex, TextRanker, load_text
from rankwise_papers.sources import make_fetchers
from rankwise_papers.text_collections import tables
from rankwise_papers.text_collections.tables import RERANKERS

N_FOLDS, SEED, MOST_TRAINING = 5, 0, 800
MEASURES = {"AP": "AP(ties=stable)", "nDCG@10": "nDCG(ties=stable)@10"}
BM25 = {"BM25, 0.9, 0.4": {"k1": 0.9, "b": 0.4}, "BM25": {}}
# Name of the collection, and its parts to learn from and to measure.
SETS: dict[str, tuple[Any, str, str]] = {
    "vaswani": ("vaswani", "all", "all"),
    "cranfield": ("cranfield", "all", "all"),
    "cystic-fibrosis-text": ("cystic_fibrosis", "all", "all"),
    "scifact": ("scifact", "train", "test"),
    "nfcorpus": ("nfcorpus", "train", "test"),
}


class TextCollections(Experiment):
    """Means and tests of BM25 and of its reranked lists."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(SETS)

    def cells(self, quick: bool) -> Sequence[Cell]:
        methods = {name: {"bm25": bm25} for name, bm25 in BM25.items()}
        for ranker in () if quick else RERANKERS:
            params = {"ranker": ranker, "n_candidates": 300, "folds": N_FOLDS, "seed": SEED}
            methods[ranker] = params
        return [
            Cell(f"{name}/{method}", params, name)
            for name in SETS
            for method, params in methods.items()
        ]

    def run(self, cell: Cell) -> Any:
        index, collection = load(cell.data)
        _, train, test = SETS[cell.data]
        queries, qrels = collection.judged_queries(test), collection.qrels[test]
        if "bm25" in cell.params:
            return measure_judged(index.search(queries, **cell.params["bm25"]), qrels)
        ranker = _ranker(cell.params["ranker"])
        text_ranker = TextRanker(index, ranker, n_candidates=cell.params["n_candidates"])
        if train != test:
            asked = dict(list(collection.judged_queries(train).items())[:MOST_TRAINING])
            text_ranker.fit(asked, collection.qrels[train])
            return measure_judged(text_ranker.rank(queries, 300), qrels)
        return measure_judged(folded(text_ranker, queries, qrels, cell.params["seed"]), qrels)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, list(SETS))


def _ranker(name: str) -> Any:
    """A linear ranker that chooses its penalty by folds of the training queries."""
    if name == "RankSVM":
        return RankSVM(C=[1e-4, 1e-3], cv=3, measure="AP")
    return LSRRank("linear", lam="cv", query_weight="document", measure="AP")


@cache
def load(name: str) -> tuple[TextIndex, TextCollection]:
    """The index of a collection, and the collection."""
    collection = load_text(SETS[name][0])
    return TextIndex(collection.fields).add(collection.documents), collection


def folded(ranker: TextRanker, queries: Mapping[str, str], qrels: Qrels, seed: int) -> Run:
    """Lists of all queries, each by a ranker that learnt from the other folds."""
    names = np.array(list(queries))
    fold = np.random.RandomState(seed).permutation(len(names)) % N_FOLDS
    runs = []
    for number in range(N_FOLDS):
        kept = np.isin(qrels.qid, names[fold != number])
        seen = Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])
        asked = {name: queries[name] for name in names[fold == number].tolist()}
        runs.append(ranker.fit(queries, seen).rank(asked, ranker.n_candidates))
    return Run(
        np.concatenate([run.qid for run in runs]),
        np.concatenate([run.doc_ids for run in runs]),
        np.concatenate([run.scores for run in runs]),
    )


def measure_judged(run: Run, qrels: Qrels) -> dict[str, list[float]]:
    """The measures of every judged query."""
    rows = judge(qrels, run, all_queries=True)
    result = evaluate(rows, list(MEASURES.values()), preset="trec_eval")
    return {name: result.per_query[spec].tolist() for name, spec in MEASURES.items()}
