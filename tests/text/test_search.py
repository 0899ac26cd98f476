"""Retrieval models: formulas document by document, and the reference libraries."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise import RidgeRanker
from rankwise.text import Analyzer, QueryDocumentFeatures, TextIndex, TextRanker
from rankwise.text.models import MODELS
from tests.text.corpus import QUERIES, as_lists, random_corpus

PLAIN = Analyzer(stop_words=None, stemmer=None)
DOCUMENTS = random_corpus(0)
PARAMETERS = {
    "bm25_okapi": {"epsilon": 0.4},
    "dirichlet": {"mu": 30.0},
    "jelinek_mercer": {"lam": 0.3},
    "pl2": {"c": 3.0},
}
for name in ("bm25", "bm25_lucene", "bm25_robertson", "bm25_atire", "bm25f"):
    PARAMETERS[name] = {"k1": 0.9, "b": 0.4}


@pytest.fixture(scope="module")
def index():
    return TextIndex(analyzer=PLAIN).add(DOCUMENTS)


class Statistics:
    """What the formulas read of a corpus."""

    def __init__(self, documents):
        self.terms = {name: text.split() for name, text in documents.items()}
        self.df = Counter(t for terms in self.terms.values() for t in set(terms))
        self.cf = Counter(t for terms in self.terms.values() for t in terms)
        self.n, self.total = len(documents), sum(self.cf.values())
        self.mean = self.total / self.n
        ratios = [math.log((self.n - df + 0.5) / (df + 0.5)) for df in self.df.values()]
        self.mean_idf = sum(ratios) / len(ratios)


def term_weight(model, s, term, tf, dl):
    """Weight of a term that comes tf times in a document of dl terms."""
    df, cf, n, p = s.df[term], s.cf[term], s.n, PARAMETERS.get(model, {})
    if model.startswith("bm25"):
        k1, b = p.get("k1", 1.5), p.get("b", 0.75)
        ratio = (n - df + 0.5) / (df + 0.5)
        saturated = tf / (tf + k1 * (1 - b + b * dl / s.mean))
        if model == "bm25f":
            scaled = tf / (1 - b + b * dl / s.mean)
            return math.log(1 + ratio) * scaled / (scaled + k1)
        if model == "bm25_robertson":
            return math.log(max(1, ratio)) * saturated
        if model == "bm25_atire":
            return math.log(n / df) * saturated * (k1 + 1)
        if model == "bm25_okapi":
            idf = math.log(ratio) if ratio >= 1 else p["epsilon"] * s.mean_idf
            return idf * saturated * (k1 + 1)
        return math.log(1 + ratio) * saturated
    if model == "dirichlet":
        return math.log((tf + p["mu"] * cf / s.total) / (p["mu"] * cf / s.total))
    if model == "jelinek_mercer":
        share = cf / s.total
        return math.log(((1 - p["lam"]) * tf / dl + p["lam"] * share) / (p["lam"] * share))
    if model == "pl2":
        tfn, rate = tf * math.log2(1 + p["c"] * s.mean / dl), cf / n
        gain = tfn * math.log2(tfn / rate) + (rate - tfn) * math.log2(math.e)
        return (gain + 0.5 * math.log2(2 * math.pi * tfn)) / (tfn + 1)
    if model == "dph":
        if tf == dl:
            return 0.0
        gain = tf * math.log2(tf * s.mean / dl * n / cf)
        gain += 0.5 * math.log2(2 * math.pi * tf * (1 - tf / dl))
        return (1 - tf / dl) ** 2 / (tf + 1) * gain
    return (1 + math.log(tf)) * math.log(n / df)


def expected(model, text):
    s = Statistics(DOCUMENTS)
    counts = Counter(term for term in text.split() if term in s.df)
    found = {}
    for name, terms in s.terms.items():
        held = {t: terms.count(t) for t in counts if t in terms}
        if not held:
            continue
        weights = {t: term_weight(model, s, t, tf, len(terms)) for t, tf in held.items()}
        if model == "tf_idf":
            of_query = {t: (1 + math.log(c)) * math.log(s.n / s.df[t]) for t, c in counts.items()}
            of_document = [term_weight(model, s, t, terms.count(t), 0) for t in set(terms)]
            norm = math.hypot(*of_query.values()) * math.hypot(*of_document)
            found[name] = sum(of_query[t] * weights[t] for t in held) / norm
            continue
        largest = max(counts.values()) if model in ("pl2", "dph") else 1
        score = sum(counts[t] / largest * weights[t] for t in held)
        if model == "dirichlet":
            mu = PARAMETERS[model]["mu"]
            score += sum(counts.values()) * math.log(mu / (mu + len(terms)))
        found[name] = score
    return found


@pytest.mark.parametrize("model", MODELS)
def test_formulas(index, model):
    found = as_lists(index.search(QUERIES, model=model, **PARAMETERS.get(model, {})))
    assert "none" not in found
    for query in ("a", "b", "c"):
        assert found[query] == pytest.approx(expected(model, QUERIES[query]), rel=1e-10, abs=1e-12)
        scores = list(found[query].values())
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire"])
def test_bm25_equals_bm25s(index, method):
    bm25s = pytest.importorskip("bm25s")
    oracle = bm25s.BM25(method=method, k1=1.2, b=0.6, dtype="float64")
    oracle.index([text.split() for text in DOCUMENTS.values()], show_progress=False)
    found = as_lists(index.search(QUERIES, model=f"bm25-{method}", k1=1.2, b=0.6))
    for query in ("a", "b", "c"):
        terms = [term for term in QUERIES[query].split() if term in index.vocabulary]
        scores = dict(zip(DOCUMENTS, oracle.get_scores(terms).tolist(), strict=True))
        for document, score in scores.items():
            assert found[query].get(document, 0.0) == pytest.approx(score, abs=1e-6)


def test_pl2_equals_terrier():
    """Two scores that PyTerrier's notebook prints (ltr.ipynb, query "chemical" on Vaswani).

    Its index has 11,429 documents of 271,581 terms; 20 of them have this one, 21 times. Two have
    it once among 5 and 8 terms.
    """
    n_documents, n_terms = 11_429, 271_581
    texts = ["chemic" + " x" * 4, "chemic" + " x" * 7, "chemic chemic" + " x" * 98]
    texts += ["chemic" + " x" * 99] * 17
    left, n_left = n_terms - sum(len(text.split()) for text in texts), n_documents - len(texts)
    sizes = np.full(n_left, left // n_left)
    sizes[: left % n_left] += 1
    texts += ["x" + " x" * (size - 1) for size in sizes.tolist()]
    index = TextIndex(analyzer=str.split).add({f"d{i}": text for i, text in enumerate(texts)})
    assert index.postings.n_tokens == n_terms
    found = as_lists(index.search("chemic", model="pl2"))["1"]
    assert found["d0"] == pytest.approx(6.9992254918907575, rel=1e-14)
    assert found["d1"] == pytest.approx(6.358419229871986, rel=1e-14)


def test_bm25_equals_rank_bm25(index):
    rank_bm25 = pytest.importorskip("rank_bm25")
    oracle = rank_bm25.BM25Okapi([text.split() for text in DOCUMENTS.values()], k1=1.2, b=0.6)
    found = as_lists(index.search(QUERIES, model="bm25_okapi", k1=1.2, b=0.6))
    for query in ("a", "b", "c"):
        scores = dict(zip(DOCUMENTS, oracle.get_scores(QUERIES[query].split()), strict=True))
        for document, score in scores.items():
            assert found[query].get(document, 0.0) == pytest.approx(score, abs=1e-6)


def test_the_first_k_are_those_of_the_whole_list(index):
    whole = as_lists(index.search(QUERIES))
    for k in (1, 4, 1000):
        few = as_lists(index.search(QUERIES, k))
        assert {q: list(lists.items())[:k] for q, lists in whole.items()} == {
            q: list(lists.items()) for q, lists in few.items()
        }


def test_equal_scores_come_in_the_order_of_the_index():
    index = TextIndex().add({"z": "cat", "a": "cat", "m": "cat dog"})
    assert index.search("cat", 2).doc_ids.tolist() == ["z", "a"]


def test_fields_of_bm25f():
    documents = {
        "d1": {"title": "cat", "text": "a dog and a dog"},
        "d2": {"title": "dog", "text": "cat cat bird"},
        "d3": {"title": "", "text": "bird"},
    }
    index = TextIndex(["title", "text"], analyzer=PLAIN).add(documents)
    weights = {"title": 3.0}
    run = index.search("cat", model="bm25f", field_weights=weights, k1=1.2, b=0.5)
    idf = math.log(1 + 1.5 / 2.5)
    tf = {
        "d1": 3 / (0.5 + 0.5 * 1 / (2 / 3)),
        "d2": 2 / (0.5 + 0.5 * 3 / 3),
    }
    expected = {name: idf * t / (t + 1.2) for name, t in tf.items()}
    assert as_lists(run)["1"] == pytest.approx(expected)
    with pytest.raises(ValueError, match="field_weights must map fields"):
        index.search("cat", model="bm25f", field_weights={"body": 1.0})
    with pytest.raises(ValueError, match="field_weights are for model='bm25f'"):
        index.search("cat", field_weights=weights)


def test_many_queries_are_those_of_one(index):
    queries = {f"q{n}": f"w{n % 40} w{n % 7}" for n in range(150)}
    found = as_lists(index.search(queries, 5, model="pl2"))
    for query in ("q0", "q77", "q149"):
        assert (
            as_lists(index.search({query: queries[query]}, 5, model="pl2"))[query] == found[query]
        )


def test_bad_arguments(index):
    with pytest.raises(ValueError, match="model must be one of 'bm25'"):
        index.search("w1", model="bm26")
    with pytest.raises(TypeError, match=r"model 'dph' has no parameter 'k1'\. It has: none"):
        index.search("w1", model="dph", k1=1.0)
    with pytest.raises(ValueError, match=r"b must lie in \[0, 1\], got 2"):
        index.search("w1", b=2)
    with pytest.raises(ValueError, match="mu must be a finite number > 0, got 0"):
        index.search("w1", model="dirichlet", mu=0)
    with pytest.raises(ValueError, match="k must be a whole number >= 1, got 0"):
        index.search("w1", 0)


def test_an_empty_index():
    assert len(TextIndex().search("cat")) == 0
    assert len(TextIndex().add({"d": ""}).search("cat", model="dirichlet")) == 0
    assert np.isfinite(TextIndex().add({"d": "cat"}).search("cat", model="dph").scores).all()


EXTREMES = [1e308, 1.7e308, float("inf"), float("nan"), -1.0, -1e-300, 1e-320, 0.0, 1.0, 10**400]


@pytest.mark.parametrize("model", MODELS)
def test_parameters_at_their_limits_are_refused_or_give_finite_scores(index, model):
    for name in MODELS[model].parameters:
        for value in EXTREMES:
            try:
                scores = index.search(QUERIES, model=model, **{name: value}).scores
            except ValueError as error:
                assert f"{name}=" in str(error) or f"{name} must" in str(error)
            else:
                assert np.isfinite(scores).all()
                assert math.isfinite(value)
        for value in ("1", None, True, np.True_, [1.0], 1j, np.array([1.0])):
            with pytest.raises(TypeError, match=f"{name} must be a number, got"):
                index.search(QUERIES, model=model, **{name: value})
    with pytest.raises(ValueError, match="c must be a finite number > 0, got inf"):
        index.search("w1", model="pl2", c=np.inf)
    with pytest.raises(ValueError, match=r"model 'pl2' gives scores that are not finite with c=1e"):
        index.search("w1", model="pl2", c=1e308)


@pytest.mark.parametrize("value", [*EXTREMES, "1", True, None])
def test_weights_of_fields_at_their_limits(index, value):
    try:
        scores = index.search("w1", model="bm25f", field_weights={"text": value}).scores
    except (TypeError, ValueError) as error:
        assert "field_weights" in str(error)
    else:
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", ["k1", "b", "mu", "lam", "delta", "near"])
def test_parameters_of_features_at_their_limits(index, name):
    for value in [*EXTREMES, 2**80, 2.5]:
        try:
            features = QueryDocumentFeatures(index, **{name: value})
            X = features.compute(QUERIES, ["a", "b"], ["d1", "d5"])  # d5 is empty
        except ValueError as error:
            assert f"{name}=" in str(error) or f"{name} must" in str(error)
        else:
            assert np.isfinite(X).all()
            assert name == "near" or math.isfinite(value)
    for value in ("1", None, True):
        with pytest.raises(TypeError, match=f"{name} must be a"):
            QueryDocumentFeatures(index, **{name: value})


@pytest.mark.parametrize("value", [2.5, 0, -1, True, None, "3", float("nan"), float("inf"), [1]])
def test_numbers_of_documents_are_whole(index, value):
    def check(call, name):
        with pytest.raises((TypeError, ValueError), match=f"{name} must be a whole number >= 1"):
            call()

    check(lambda: index.search("w1", value), "k")
    ranker = TextRanker(index, RidgeRanker(), n_candidates=value)
    check(lambda: ranker.fit({"a": "w1"}, {"a": {"d1": 1}}), "n_candidates")
    ranker = TextRanker(index, RidgeRanker()).fit({"a": "w1"}, {"a": {"d1": 1}})
    check(lambda: ranker.rank("w1", value), "k")
    assert len(index.search("w1", np.int8(3))) == len(index.search("w1", 10**30).scores[:3])


@pytest.mark.parametrize(
    "make", [list, tuple, iter, np.array, lambda texts: pd.Series(texts, index=[7, 5]), pl.Series]
)
def test_texts_of_any_iterable_are_queries(index, make):
    texts = ["w1", "w2 w1"]
    expected = index.search({"1": texts[0], "2": texts[1]})
    found = index.search(make(texts))
    assert found.qid.tolist() == expected.qid.tolist()
    assert found.doc_ids.tolist() == expected.doc_ids.tolist()


@pytest.mark.parametrize(
    ("labels", "ids"),
    [
        (["q2", "q1"], ["q2", "q1"]),
        (pd.Index([7, 5], name="qid"), ["7", "5"]),
        (["a", 1], ["a", "1"]),
    ],
)
def test_labels_of_a_series_that_are_ids_stay(index, labels, ids):
    texts = pd.Series(["w1", "w2 w1"], index=labels)
    found, expected = index.search(texts), index.search(dict(zip(ids, texts, strict=True)))
    assert found.qid.tolist() == expected.qid.tolist()
    assert set(found.qid.tolist()) == set(ids)
    assert TextIndex().add(texts).doc_ids == ids
    with pytest.raises(ValueError, match="comes a second time"):
        index.search(pd.Series(["w1", "w2"], index=["a", "a"]))


@pytest.mark.parametrize(("given", "left"), [(1, ["2"]), ("2", ["1"]), (np.int64(2), ["1"])])
def test_a_single_document_is_removed(given, left):
    assert TextIndex().add({1: "a cat", 2: "a dog"}).remove(given).doc_ids == left


def test_a_missing_id_is_not_removed():
    with pytest.raises(ValueError, match="document id 0 is missing"):
        TextIndex().add({1: "a cat"}).remove(None)


@pytest.mark.parametrize(
    "words, said",
    [
        ({"queries": ["w1", None]}, "query 1 must be text, as others are, got None"),
        ({"field_weights": [1.0]}, r"field_weights must map fields \(text\) to numbers"),
        ({"field_weights": {"text": 0}}, "field_weights must not all be 0"),
    ],
)
def test_arguments_of_a_search_are_named(index, words, said):
    model = {"model": "bm25f"} if "field_weights" in words else {}
    with pytest.raises((TypeError, ValueError), match=said):
        index.search(**{"queries": "w1", **model, **words})
