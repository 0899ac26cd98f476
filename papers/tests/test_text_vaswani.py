"""The experiment on Vaswani: splits, choice by validation, missed documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from rankwise.datasets import Qrels
from rankwise.text import Analyzer, TextCollection, TextIndex
from rankwise_papers.text_vaswani import experiment, feedback
from rankwise_papers.text_vaswani.tables import make

TOPICS = 25
SETTINGS = {
    "few": {"ranker": "ridge", "n_candidates": 4, "latent": False},
    "many": {"ranker": "ridge", "n_candidates": 60, "latent": False},
    "hinge": {"ranker": "RankSVM", "n_candidates": 60, "latent": False},
}


@pytest.fixture
def small(rng, monkeypatch):
    """Documents of which those with both words of a topic as neighbours are relevant."""
    words = np.array([f"w{number}" for number in range(12)])
    texts = {f"d{n}": " ".join(rng.choice(words, 20)) for n in range(60)}
    queries, rows = {}, []
    for number in range(TOPICS):
        a, b = rng.choice(words, 2, replace=False)
        queries[str(number + 1)] = f"{a} {b}"
        found = [name for name, text in texts.items() if f"{a} {b} " in f"{text} "]
        rows += [(str(number + 1), name) for name in found or ["d0"]]
    qid, doc_ids = np.array(rows).T
    qrels = {"all": Qrels(qid, doc_ids, np.ones(len(qid), int))}
    documents = {name: {"text": text} for name, text in texts.items()}
    collection = TextCollection(documents, queries, qrels, ("text",))
    index = TextIndex(analyzer=Analyzer(stop_words=None, stemmer=None)).add(documents)
    monkeypatch.setattr(experiment, "_loaded", lambda: (index, collection))
    monkeypatch.setattr(experiment, "SETTINGS", SETTINGS)
    experiment._table.cache_clear()
    yield collection
    experiment._table.cache_clear()


def test_splits(small):
    notebook = experiment._split("notebook", 0)
    assert [len(part) for part in notebook] == [15, 5, 5]
    assert notebook.test == [str(number) for number in range(21, 26)]
    tested = []
    for fold in range(1, 6):
        split = experiment._split(f"fold{fold}", 0)
        assert sorted([*split.train, *split.vali, *split.test]) == sorted(small.queries)
        tested += split.test
    assert sorted(tested) == sorted(small.queries)


def test_validation_chooses_and_missed_documents_count(small):
    of = experiment.TextVaswani()
    cells = {cell.name: cell for cell in of.cells(quick=False)}
    results = {name: of.run(cells[name]) for name in ("models", "fold1", "notebook")}
    fold = results["fold1"]
    assert fold["vali_AP"][fold["chosen"]] == max(fold["vali_AP"].values())
    # Four candidates miss most of the relevant documents, which AP is divided by.
    assert np.mean(fold["test_AP"]["few"]) < np.mean(fold["test_AP"]["many"]) - 0.1
    tables = {table.name: table for table in make(results)}
    values = {(value.row, value.column): value for value in tables["notebook"].values}
    assert values["chosen by validation", "AP"].ours == pytest.approx(
        np.mean(results["notebook"]["chosen_test"]["AP"])
    )
    assert values["PL2", "AP"].paper == 0.206
    assert all(value.ours is None for value in tables["settings"].values)


def test_feedback(small, monkeypatch):
    monkeypatch.setattr(feedback, "DIMENSIONS", (3,))
    index, _ = experiment._loaded()
    queries = {**small.queries, "unknown": "nothing"}
    collection = replace(small, queries=queries)
    table = experiment._table(60, False)
    more = feedback.add_feedback_columns(table, index, collection)
    assert more.X.shape == (len(table), table.X.shape[1] + 5)
    assert np.isfinite(more.X).all() and (more.X[:, : table.X.shape[1]] == table.X).all()
    topic = table.qid[0]
    rows = np.flatnonzero(table.qid == topic)
    tf_idf = TfidfVectorizer(analyzer=index.analyzer, sublinear_tf=True)
    vectors = tf_idf.fit_transform([of["text"] for of in small.documents.values()]).toarray()
    best = index.positions(index.search({"1": queries[topic]}, 5).doc_ids.tolist())
    expanded = tf_idf.transform([queries[topic]]).toarray()[0] + vectors[best].mean(axis=0)
    cosine = vectors[index.positions(table.doc_ids[rows].tolist())] @ expanded
    expected = (cosine - cosine.mean()) / cosine.std()
    assert more.X[rows, table.X.shape[1]] == pytest.approx(expected)
