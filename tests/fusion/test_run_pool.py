"""Result lists side by side."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise.datasets import Qrels, Run, read_run, write_run
from rankwise.fusion import as_run, pool_runs
from tests.fusion.lists import as_mapping, random_lists


def test_every_form_gives_the_same_run(tmp_path):
    lists = random_lists(1)["s1"]
    run = as_run(lists, tag="s1")
    write_run(run, tmp_path / "s1.run")
    columns = {"qid": run.qid.tolist(), "docno": run.doc_ids.tolist(), "score": run.scores.tolist()}
    hits = {
        query: {"hits": {"hits": [{"_id": d, "_score": s} for d, s in scores.items()]}}
        for query, scores in lists.items()
    }
    solr = {
        query: {"response": {"docs": [{"id": d, "score": s} for d, s in scores.items()]}}
        for query, scores in lists.items()
    }
    forms = [tmp_path / "s1.run", pd.DataFrame(columns), pl.DataFrame(columns), hits, solr]
    forms += [pl.LazyFrame(columns), read_run(tmp_path / "s1.run")]
    for form in forms:
        assert as_mapping(as_run(form)) == lists


def test_scores_and_ranks_are_those_of_the_lists():
    systems = random_lists(2)
    pool = pool_runs(systems)
    for column, lists in enumerate(systems.values()):
        for query, scores in lists.items():
            expected = {d: r for r, d in enumerate(sorted(scores, key=lambda d: -scores[d]), 1)}
            rows = (pool.qid == query) & (pool.ranks[:, column] > 0)
            documents = pool.doc_ids[rows].tolist()
            assert dict(zip(documents, pool.ranks[rows, column].tolist(), strict=True)) == expected
            assert dict(zip(documents, pool.scores[rows, column].tolist(), strict=True)) == scores
    assert np.array_equal(np.isnan(pool.scores), pool.ranks == 0)
    counts = [[len(lists[q]) for lists in systems.values()] for q in pool.groups.ids.tolist()]
    assert pool.n_returned.tolist() == counts


def ranks_of(pool):
    return dict(zip(pool.doc_ids.tolist(), pool.ranks[:, 0].tolist(), strict=True))


def test_equal_scores_share_the_mean_of_their_ranks():
    scores = {"d1": 1.0, "d3": 1.0, "d0": 2.0, "d2": 1.0, "d4": 0.5}
    expected = {"d0": 1.0, "d1": 3.0, "d2": 3.0, "d3": 3.0, "d4": 5.0}
    assert ranks_of(pool_runs([{"q": scores}])) == expected
    # Of the documents that are kept, by descending id.
    cut = pool_runs([{"q": scores}], depth=3)
    assert ranks_of(cut) == {"d0": 1.0, "d2": 2.5, "d3": 2.5}


def test_depth_cuts_every_list():
    systems = random_lists(4)
    pool = pool_runs(systems, depth=3)
    assert pool.ranks.max() == 3
    whole = pool_runs(systems)
    kept = ((whole.ranks > 0) & (whole.ranks <= 3)).any(axis=1)
    assert len(pool) == kept.sum()


def test_grades_of_judged_and_unjudged_documents():
    pool = pool_runs({"a": {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "q2": {"d1": 1.0}}})
    qrels = Qrels(np.array(["q1", "q1", "q9"]), np.array(["d2", "d3", "d1"]), np.array([2, -1, 1]))
    grades, judged = pool.grades(qrels)
    assert grades.tolist() == [0, 2, 0, 0]
    assert judged.tolist() == [False, True, True, False]


def test_names_of_systems():
    lists = {"q": {"d": 1.0}}
    assert pool_runs([as_run(lists, "a"), as_run(lists, "b")]).systems == ("a", "b")
    assert pool_runs([lists, lists], systems=["x", "y"]).systems == ("x", "y")
    frame = pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": [1.0]})
    mixed = [lists, as_run(lists, "b"), frame, pl.from_pandas(frame)]
    assert pool_runs(mixed).systems == ("system 1", "b", "system 3", "system 4")
    assert pool_runs(iter(mixed)).systems == ("system 1", "b", "system 3", "system 4")
    with pytest.raises(ValueError, match=r"systems must have different names, .* Pass systems="):
        pool_runs([as_run(lists, "a"), as_run(lists, "a")])
    with pytest.raises(TypeError, match="systems must be a list of names, got the string 'ab'"):
        pool_runs([lists, lists], systems="ab")
    with pytest.raises(ValueError, match="systems must name each of the 2 runs"):
        pool_runs([lists, lists], systems=["x"])
    with pytest.raises(ValueError, match="runs must hold the result lists of at least one system"):
        pool_runs([])
    for depth in (0, 2.5, "3"):
        with pytest.raises(ValueError, match="depth must be a whole number >= 1, got"):
            pool_runs({"a": lists}, depth=depth)


@pytest.mark.parametrize(
    "results",
    ["a.run", Path("a.run"), as_run({"q": {"d": 1.0}}), pd.DataFrame({"qid": ["q"]}),
     pl.DataFrame({"qid": ["q"]})],
)  # fmt: skip
def test_results_of_one_system_are_not_several_systems(results):
    with pytest.raises(TypeError, match="runs must hold the result lists of several systems"):
        pool_runs(results)


def test_bad_result_lists():
    with pytest.raises(TypeError, match="results must be a Run, a path, a frame, a mapping"):
        as_run(3)
    with pytest.raises(TypeError, match="query 'q' must have a mapping, got list"):
        as_run({"q": ["d1"]})
    with pytest.raises(ValueError, match="a hit has no '_score'"):
        as_run({"q": {"hits": {"hits": [{"_id": "d", "_score": None}]}}})
    with pytest.raises(ValueError, match="must be a column of the document id"):
        as_run(pd.DataFrame({"qid": ["q"], "score": [1.0]}))
    with pytest.raises(ValueError, match="scores must be finite, got nan for document 'd'"):
        as_run({"q": {"d": float("nan")}})
    with pytest.raises(ValueError, match="scores must be numbers"):
        as_run({"q": {"d": "high"}})
    with pytest.raises(ValueError, match="scores must be numbers, got bool for 'timed_out'"):
        as_run({"q": {"timed_out": True}})
    with pytest.raises(ValueError, match="scores must be numbers, got dict for 'grouped'"):
        as_run({"q": {"grouped": {}}})
    with pytest.raises(ValueError, match=r"answered with an error: .*no such index"):
        as_run({"q": {"error": {"reason": "no such index"}, "status": 404}})
    with pytest.raises(ValueError, match="scores must be finite, got inf for document 'd'"):
        as_run(Run(np.array(["q"]), np.array(["d"]), np.array([np.inf]), ""))
    with pytest.raises(ValueError, match="a second time"):
        as_run(pd.DataFrame({"qid": ["q", "q"], "doc_id": ["d", "d"], "score": [1.0, 2.0]}))


def test_errors_name_the_system():
    good, twice = {"q": {"d": 1.0}}, Run(np.array(["q"] * 2), np.array(["d"] * 2), np.ones(2), "")
    with pytest.raises(ValueError, match="system 'b': scores must be finite, got nan"):
        pool_runs({"a": good, "b": {"q": {"d": float("nan")}}})
    with pytest.raises(ValueError, match="system 'b', row 1: query 'q' has document 'd' a second"):
        pool_runs({"a": good, "b": twice})


def test_systems_need_a_query_in_common():
    first, second = {"1": {"d": 1.0}}, {"q1": {"d": 1.0}}
    with pytest.raises(ValueError, match="no query in common: 'a' has '1', 'b' has 'q1'"):
        pool_runs({"a": first, "b": second, "c": {"q1": {}}})
    # One that returned nothing is no other id.
    assert len(pool_runs({"a": first, "b": {"1": {}}})) == 1
    assert len(pool_runs({"a": first, "b": second, "c": {**first, **second}})) == 2


def test_a_system_without_queries_is_refused_by_name(tmp_path):
    (tmp_path / "empty.run").write_text("")
    frame = pd.DataFrame({"qid": [], "docno": [], "score": []})
    run = Run(np.array([], dtype=str), np.array([], dtype=str), np.zeros(0), "b")
    with pytest.raises(ValueError, match=r"system 'b': .*empty\.run is empty"):
        pool_runs({"a": {"q": {"d": 1.0}}, "b": tmp_path / "empty.run"})
    for empty in ({}, frame, pl.from_pandas(frame), run):
        for runs in ({"a": {"q": {"d": 1.0}}, "b": empty}, [{"q": {"d": 1.0}}, empty]):
            with pytest.raises(ValueError, match=r"system '(b|system 2)' holds no query and no"):
                pool_runs(runs)
    # A system that found nothing says so query by query.
    assert len(pool_runs({"a": {"q": {"d": 1.0}}, "b": {"q": {}}})) == 1


def test_repr():
    pool = pool_runs({"a": {"q": {"d": 1.0}}})
    assert repr(pool) == "RunPool(1 documents, 1 queries, systems a)"
    assert isinstance(pool.run(np.ones(1)), Run)


def test_scores_of_databases_are_decimals():
    run = {"1": {"a": Decimal("2.5"), "b": Decimal("1")}}
    pool = pool_runs([run, {"1": {"a": 1.0, "c": 3.0}}])
    same = pool_runs([{"1": {"a": 2.5, "b": 1.0}}, {"1": {"a": 1.0, "c": 3.0}}])
    np.testing.assert_array_equal(pool.scores, same.scores)
    with pytest.raises(ValueError, match="scores must be finite, got nan"):
        pool_runs([{"1": {"a": Decimal("nan")}}, run])
