"""Reranking, features of several streams, vectors, unjudged candidates, saving."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import RidgeRanker, compare, evaluate
from rankwise.datasets import Qrels, judge
from rankwise.selection import evaluate_systems
from rankwise.text import Analyzer, QueryDocumentFeatures, TextIndex, TextRanker
from tests.text.corpus import random_corpus

PLAIN = Analyzer(stop_words=None, stemmer=None)


@pytest.fixture(scope="module")
def corpus():
    """Documents that are relevant when the words of the query are neighbours."""
    rng = np.random.default_rng(0)
    documents = random_corpus(4, n_documents=150, n_words=15)
    queries, rows = {}, []
    for number in range(24):
        a, b = rng.choice(8, 2, replace=False)
        queries[f"q{number}"] = f"w{a} w{b}"
        for name, text in documents.items():
            if rng.random() < 0.8:
                rows.append((f"q{number}", name, int(f"w{a} w{b} " in f"{text} ")))
    qid, doc_ids, relevance = zip(*rows, strict=True)
    return documents, queries, Qrels(np.array(qid), np.array(doc_ids), np.array(relevance))


def part(queries, qrels, names):
    kept = np.isin(qrels.qid, names)
    chosen = Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])
    return {name: queries[name] for name in names}, chosen


def ap(run, qrels):
    rows = judge(qrels, run)
    options = {"preset": "trec_eval", "doc_ids": rows.doc_ids, "retrieved": rows.retrieved}
    return evaluate(rows.y, rows.scores, rows.qid, "AP", **options)["AP"]


@pytest.mark.parametrize("unjudged", ["zero", "ignore", "sample"])
def test_reranking_beats_retrieval(corpus, unjudged):
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    train, test = list(queries)[:16], list(queries)[16:]
    ranker = TextRanker(index, RidgeRanker(), unjudged=unjudged)
    ranker.fit(*part(queries, qrels, train))
    asked, judged = part(queries, qrels, test)
    run = ranker.rank(asked, 100)
    assert ap(run, judged) > ap(index.search(asked, 100), judged) + 0.1
    few = ranker.rank(asked, 3)
    for name in test:
        mine, whole = few.qid == name, run.qid == name
        assert few.doc_ids[mine].tolist() == run.doc_ids[whole][:3].tolist()
        assert (np.diff(run.scores[whole]) <= 0).all()
    assert len(ranker.rank("unknown")) == 0
    assert clone(ranker).get_params()["unjudged"] == unjudged


def test_the_default_ranker_chooses_its_penalty(corpus):
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    ranker = TextRanker(index, n_candidates=20).fit(queries, qrels)
    assert sorted(ranker.estimator_.cv_results_["C"]) == [1e-5, 1e-4, 1e-3, 1e-2]
    few = TextRanker(index, n_candidates=20).fit(*part(queries, qrels, list(queries)[:4]))
    assert few.estimator_.C_ == 1e-3


def test_rows_of_unjudged_candidates(corpus):
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    sizes = {u: len(TextRanker(index, unjudged=u).table(queries, qrels)) for u in
             ("zero", "ignore", "sample")}  # fmt: skip
    assert sizes["ignore"] < sizes["sample"] <= sizes["zero"]
    assert sizes["zero"] == len(index.search(queries, 100))


def test_the_table_goes_into_a_comparison(corpus):
    documents, queries, qrels = corpus
    ranker = TextRanker(TextIndex(analyzer=PLAIN).add(documents))
    table = ranker.table(queries, qrels)
    assert table.feature_names is not None and table.feature_names[-1] == "retrieval_score"
    board = compare(["ridge"], table, measures=["AP"], cv=3)
    assert "ridge" in str(board)


def test_a_comparison_counts_missed_documents(corpus):
    """The retrieval score as a column has the AP that trec_eval gives to the retrieved list."""
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    ranker = TextRanker(index, n_candidates=7)
    table = ranker.table(queries, qrels)
    assert table.missed is not None and (table.missed.y > 0).any()
    board = compare(
        {"bm25": "column:retrieval_score", "ridge": RidgeRanker()}, table, cv=3, measures=["AP"]
    )
    rows = judge(qrels, index.search(queries, 7))
    options = {"preset": "trec_eval", "doc_ids": rows.doc_ids, "retrieved": rows.retrieved}
    found = evaluate(rows.y, rows.scores, rows.qid, "AP", **options)
    expected = dict(zip(found.qids.tolist(), found.per_query["AP"], strict=True))
    own = np.nan_to_num(board.per_query("AP")["bm25"])
    assert own == pytest.approx([expected[q] for q in board.qids.tolist()])
    judged = [name for name in queries if (qrels.relevance[qrels.qid == name] > 0).any()]
    infos = [(info.recall, len([q for q in info.qids if q in judged])) for info in board.fold_infos]
    mean = sum(recall * n for recall, n in infos) / len(judged)
    assert mean == pytest.approx(ranker.recall(*part(queries, qrels, judged)))


def test_recall(corpus):
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    assert TextRanker(index, n_candidates=1000).recall(queries, qrels) == 1.0
    few = TextRanker(index, n_candidates=5)
    run, shares = index.search(queries, 5), []
    for name in queries:
        relevant = set(qrels.doc_ids[(qrels.qid == name) & (qrels.relevance > 0)].tolist())
        if relevant:
            found = set(run.doc_ids[run.qid == name].tolist())
            shares.append(len(relevant & found) / len(relevant))
    assert few.recall(queries, qrels) == pytest.approx(np.mean(shares))


def test_save_and_load(corpus, tmp_path):
    documents, queries, qrels = corpus
    ranker = TextRanker(TextIndex(analyzer=PLAIN).add(documents), RidgeRanker(), n_candidates=30)
    ranker.fit(queries, qrels)
    loaded = TextRanker.load(ranker.save(tmp_path / "ranker"))
    wanted, found = ranker.rank(queries), loaded.rank(queries)
    assert found.doc_ids.tolist() == wanted.doc_ids.tolist()
    assert found.scores.tolist() == wanted.scores.tolist()
    index = ranker.index
    with pytest.raises(FileNotFoundError, match="has no ranker, only an index"):
        TextRanker.load(index.save(tmp_path / "index"))
    index.save(tmp_path / "ranker")  # the ranker stays with the index
    assert TextRanker.load(tmp_path / "ranker").rank(queries).scores.tolist() == (
        wanted.scores.tolist()
    )
    ranker.save(tmp_path / "ranker")
    assert len(list((tmp_path / "ranker").iterdir())) == 8
    vectors = {"vectors": np.ones((150, 2)), "embed": lambda texts: np.ones((len(texts), 2))}
    features = QueryDocumentFeatures(index, **vectors)
    other = TextRanker(index, RidgeRanker(), features=features).fit(queries, qrels)
    folder = other.save(tmp_path / "vectors")
    with pytest.raises(ValueError, match="was fitted on other features"):
        TextRanker.load(folder)
    again = TextRanker.load(folder, features=lambda own: QueryDocumentFeatures(own, **vectors))
    assert again.rank("w0 w1").doc_ids.tolist() == other.rank("w0 w1").doc_ids.tolist()


def test_parameters_of_features_are_saved(corpus, tmp_path):
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    features = QueryDocumentFeatures(index, k1=0.4, near=3)
    ranker = TextRanker(index, RidgeRanker(), features=features).fit(queries, qrels)
    folder = ranker.save(tmp_path / "ranker")
    assert TextRanker.load(folder).rank(queries).scores.tolist() == (
        ranker.rank(queries).scores.tolist()
    )
    with pytest.raises(ValueError, match=r"features with k1=0\.4, got 1\.2"):
        TextRanker.load(folder, features=QueryDocumentFeatures)


def test_cross_rank_learns_from_other_folds_only(corpus):
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    ranker = TextRanker(index, RidgeRanker(), n_candidates=40)
    run = ranker.cross_rank(queries, qrels, cv=4, random_state=1, tag="ridge")
    assert run.tag == "ridge" and set(run.qid.tolist()) == set(queries)
    names = np.array(list(queries))
    fold = np.random.RandomState(1).permutation(len(names)) % 4
    own = names[fold == 2].tolist()
    ranker.fit(*part(queries, qrels, names[fold != 2].tolist()))
    wanted, mine = ranker.rank(part(queries, qrels, own)[0], 40), np.isin(run.qid, own)
    assert run.doc_ids[mine].tolist() == wanted.doc_ids.tolist()
    with pytest.raises(ValueError, match="cv must lie between 2 and the number of judged queries"):
        ranker.cross_rank(queries, qrels, cv=25)


def test_missed_documents_count_in_a_comparison(corpus):
    """AP over two candidates is divided by all relevant documents."""
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    few, many = (TextRanker(index, RidgeRanker(), n_candidates=n) for n in (2, 150))
    systems = {
        "bm25": index.search(queries, 150),
        "two": few.cross_rank(queries, qrels),
        "all": many.cross_rank(queries, qrels),
    }
    board = evaluate_systems(qrels, systems, measures=["AP", "R@150"], all_queries=True)
    rows = {
        row["ranker"]: {name: of["mean"] for name, of in row["measures"].items()}
        for row in board.rows()
    }
    assert rows["all"]["AP"] > rows["bm25"]["AP"] > rows["two"]["AP"]
    judged = [name for name in queries if (qrels.relevance[qrels.qid == name] > 0).any()]
    assert rows["two"]["R@150"] == pytest.approx(few.recall(*part(queries, qrels, judged)))


def test_unknown_documents_in_the_judgements(corpus):
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    more = Qrels(
        np.append(qrels.qid, "q1"), np.append(qrels.doc_ids, "x7"), np.append(qrels.relevance, 1)
    )
    with pytest.warns(UserWarning, match="1 of .* documents that the index does not have.*'x7'"):
        TextRanker(index, RidgeRanker()).fit(queries, more)


def test_queries_without_terms_and_empty_documents():
    index = TextIndex(analyzer=PLAIN).add({"a": "cat", "b": "", "c": "cat dog"})
    qrels = Qrels(np.array(["1", "2"]), np.array(["a", "b"]), np.array([1, 1]))
    ranker = TextRanker(index, RidgeRanker())
    with pytest.warns(UserWarning, match="1 of 2 judged queries find no document"):
        ranker.fit({"1": "cat", "2": "..."}, qrels)
    assert set(ranker.rank({"1": "cat", "2": "...", "3": ""}).qid.tolist()) == {"1"}
    assert ranker.recall({"1": "cat", "2": "..."}, qrels) == 0.5
    X = QueryDocumentFeatures(index).transform([["...", "b"], ["", "a"], ["cat", "b"]])
    assert np.isfinite(X).all()


def test_features_are_a_transformer(corpus):
    index = TextIndex(analyzer=PLAIN).add(corpus[0])
    features = QueryDocumentFeatures(index, k1=0.9)
    frame = pd.DataFrame({"query": ["w0 w1", "w2", "w0 w1"], "document": ["d1", "d2", "d3"]})
    X = features.fit_transform(frame)
    wanted = features.compute({"a": "w0 w1", "b": "w2"}, ["a", "b", "a"], ["d1", "d2", "d3"])
    assert X.tolist() == wanted.tolist()
    assert features.get_feature_names_out().tolist() == features.feature_names
    copy = clone(features)
    assert copy.index is index and copy.get_params() == features.get_params()
    pipeline = make_pipeline(features, StandardScaler(), Ridge())
    assert pipeline.fit(frame, [1, 0, 1]).predict(frame).shape == (3,)
    with pytest.raises(ValueError, match="X must have two columns"):
        features.transform([["w0"]])
    with pytest.raises(ValueError, match="k1 must be a finite number >= 0, got -1"):
        features.set_params(k1=-1.0).fit()


def test_streams_are_fields_and_the_whole():
    documents = {
        "d1": {"title": "black cat", "text": "a dog"},
        "d2": {"title": "", "text": "cat black cat"},
    }
    index = TextIndex(["title", "text"], analyzer=PLAIN).add(documents)
    features = QueryDocumentFeatures(index)
    assert features.streams == ("title", "text", "whole")
    X = features.compute({"q": "black cat"}, ["q", "q"], ["d2", "d1"])
    values = {name: X[:, place].tolist() for place, name in enumerate(features.feature_names)}
    assert values["phrase(title)"] == [0, 1] and values["phrase(text)"] == [1, 0]
    assert values["exact(title)"] == [0, 1] and values["exact(whole)"] == [0, 0]
    assert values["length(whole)"] == [3, 4] and values["tf_sum(whole)"] == [3, 2]
    joined = {name: f"{of['title']} {of['text']}" for name, of in documents.items()}
    one = QueryDocumentFeatures(TextIndex(analyzer=PLAIN).add(joined))
    assert one.compute({"q": "black cat"}, ["q", "q"], ["d2", "d1"]).tolist() == (
        X[:, -len(one.feature_names) :].tolist()
    )


def test_vectors():
    index = TextIndex(analyzer=PLAIN).add({"d1": "cat", "d2": "dog"})
    vectors = np.array([[3.0, 4.0], [0.0, 0.0]])
    features = QueryDocumentFeatures(
        index, vectors=vectors, embed=lambda texts: np.array([[1.0, 0.0]] * len(texts))
    )
    assert features.feature_names[-3:] == ["dot", "vector_cosine", "distance"]
    X = features.compute("cat", ["1", "1"], ["d1", "d2"])
    assert X[:, -3:] == pytest.approx(np.array([[3, 0.6, 20**0.5], [0, 0, 1]]))
    with pytest.raises(ValueError, match="vectors and embed belong together"):
        QueryDocumentFeatures(index, vectors=vectors)
    with pytest.raises(ValueError, match="vectors must hold a row of finite numbers"):
        QueryDocumentFeatures(index, vectors=vectors[:1], embed=len)
    bad = QueryDocumentFeatures(index, vectors=vectors, embed=lambda texts: np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"embed must give an array of shape \(1, 2\)"):
        bad.compute("cat", ["1"], ["d1"])


def test_features_follow_a_growing_index():
    index = TextIndex(analyzer=PLAIN).add({"d1": "cat dog"})
    features = QueryDocumentFeatures(index)
    features.compute("cat", ["1"], ["d1"])
    index.add({"d2": "bird"})
    fresh = QueryDocumentFeatures(TextIndex(analyzer=PLAIN).add({"d1": "cat dog", "d2": "bird"}))
    pair = ("cat", ["1"], ["d2"])
    assert features.compute(*pair).tolist() == fresh.compute(*pair).tolist()


def test_bad_arguments(corpus):
    documents, queries, qrels = corpus
    index = TextIndex(analyzer=PLAIN).add(documents)
    features = QueryDocumentFeatures(index)
    with pytest.raises(ValueError, match="query 'x' has no text"):
        features.compute(queries, ["x"], ["d1"])
    with pytest.raises(ValueError, match="document 'x' is not in the index"):
        features.compute(queries, ["q1"], ["x"])
    with pytest.raises(ValueError, match="one entry per pair, got 1 and 2"):
        features.compute(queries, ["q1"], ["d1", "d2"])
    with pytest.raises(ValueError, match="lam must lie in"):
        QueryDocumentFeatures(index, lam=0.0)
    with pytest.raises(ValueError, match="unjudged must be one of"):
        TextRanker(index, unjudged="skip").fit(queries, qrels)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_candidates must be a whole number >= 1, got 0"):
        TextRanker(index, n_candidates=0).fit(queries, qrels)
    other = Qrels(np.array(["q1"]), np.array(["x"]), np.array([1]))
    with pytest.raises(ValueError, match="qrels judge no candidate"):
        TextRanker(index).fit(queries, other)
    with pytest.raises(ValueError, match="features must be of the index of the ranker"):
        TextRanker(TextIndex().add(documents), features=features).fit(queries, qrels)
    with pytest.raises(ValueError, match="qrels name no relevant document"):
        TextRanker(index).recall({"x": "w1"}, qrels)
    with pytest.raises(ValueError, match="k must be a whole number >= 1, got 0"):
        TextRanker(index, RidgeRanker()).fit(queries, qrels).rank("w1", 0)


def test_arrays_of_features_are_refused(corpus):
    documents, _, _ = corpus
    with pytest.raises(TypeError, match="call compare on table"):
        TextRanker(TextIndex(analyzer=PLAIN).add(documents)).fit(np.ones((4, 2)), np.ones(4))
