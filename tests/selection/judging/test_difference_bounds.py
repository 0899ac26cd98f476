"""Bounds of differences against all completions of small judgements."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from rankwise.datasets import judge
from rankwise.datasets.readers.results import as_run, read_judgements
from rankwise.metrics import evaluate, parse
from rankwise.metrics._table import MEASURES
from rankwise.selection import difference_bounds
from rankwise.selection.judging.completions import Completions, pool_runs
from rankwise.selection.judging.difference_bounds import is_completable

EXACT = ["P@2", "P", "R@2", "DCG@3", "RBP", "RBP(p=0.5)@2", "nDCG@3", "nDCG(gain=linear)@2",
         "P(ties=stable)@2", "nDCG(empty=0)@3", "P(ties=mean)@2", "nDCG(ties=mean)@2",
         "DCG(ties=mean)"]  # fmt: skip
ENCLOSED = ["AP", "AP@3", "RR", "RR@2", "ERR", "ERR@3", "Success@1", "Success@3", "Rprec",
            "OneError", "AP(rel=2)@3", "RR(ties=mean)"]  # fmt: skip


def test_every_measure_with_bounds_is_among_them():
    for name in MEASURES:
        try:
            measure = parse(name)
        except ValueError:
            continue
        if is_completable(measure):
            assert any(parse(spec).name == measure.name for spec in [*EXACT, *ENCLOSED]), name


def case(rng, n_queries=2, levels=None):
    """Two runs of three documents per query, of which some are judged, with grades up to 2."""
    runs = {"a": {}, "b": {}}
    judgements = {}
    for q in range(n_queries):
        names = [f"d{number}" for number in range(6)]
        for run in runs.values():
            found = rng.permutation(names[:5])[:3].tolist()
            scores = rng.random(3) if levels is None else rng.integers(0, levels, 3)
            run[f"q{q}"] = dict(zip(found, scores.astype(float).tolist(), strict=True))
        judged = rng.permutation(names)[:3].tolist()
        grades = rng.integers(0, 3, 3).tolist()
        judgements[f"q{q}"] = dict(zip(judged, grades, strict=True)) | {"d5": 2 * (q == 0)}
    return runs, judgements


def per_query(run, judgements, spec, preset):
    words = {"preset": preset}
    rows = judge(run=run, qrels=judgements, all_queries=True)
    result = evaluate(rows, spec, **words)
    return dict(zip(result.qids.tolist(), np.nan_to_num(result.per_query[spec]), strict=True))


def all_differences(runs, judgements, spec, preset):
    """By query: the differences under every completion of what the systems rank in the cut-off."""
    cutoff = parse(spec).__dict__.get("cutoff") or 99
    found = {}
    for q, grades in judgements.items():
        open_ = set()
        for run in runs.values():
            rows = judge(run=run, qrels=judgements)
            ranked = rows.doc_ids[(rows.qid == q) & rows.retrieved][:cutoff].tolist()
            open_ |= {d for d in ranked if d not in grades}
        found[q] = []
        for choice in product([0, 2], repeat=len(open_)):
            more = grades | dict(zip(sorted(open_), choice, strict=True))
            values = [per_query({q: run[q]}, {q: more}, spec, preset)[q] for run in runs.values()]
            found[q].append(values[0] - values[1])
    return found


@pytest.mark.parametrize("most", [10, 0])
@pytest.mark.parametrize("preset", [None, "trec_eval"])
@pytest.mark.parametrize("spec", [*EXACT, *ENCLOSED])
def test_extremes_are_those_of_all_completions(rng, monkeypatch, spec, preset, most):
    """Of every measure; also of many documents, of which not every set is tried."""
    monkeypatch.setattr("rankwise.selection.judging.completions._MOST_ENUMERATED", most)
    n_open = n_wide = 0
    for levels in (None, 2) if preset else (None,):
        for _ in range(4):
            runs, judgements = case(rng, levels=levels)
            pool = pool_of(runs, judgements)
            completions = Completions(pool, parse(spec, preset), "a", "b")
            ends = completions.extremes()
            found = all_differences(runs, judgements, spec, preset)
            for number, query in enumerate(pool.qids.tolist()):
                low, high = ends[0][number], ends[1][number]
                differences = found[query]
                wanted = (min(differences), max(differences))
                if most or spec in EXACT:
                    assert (low, high) == pytest.approx(wanted, abs=1e-12)
                assert low <= wanted[0] + 1e-12 and wanted[1] <= high + 1e-12
                now = np.nan_to_num(completions.differences()[number])
                assert low - 1e-12 <= now <= high + 1e-12
                n_wide += high - low > 1e-9
            n_open += int(completions.is_open.sum())
    assert n_open > 8 and n_wide > 3


def pool_of(runs, judgements):
    qrels = read_judgements(judgements)
    judged = {name: judge(qrels, as_run(run), all_queries=True) for name, run in runs.items()}
    return pool_runs(judged, qrels)


def test_the_bounds_of_means_add_up_queries(rng):
    runs, judgements = case(rng, n_queries=12)
    pool = pool_of(runs, judgements)
    [bounds] = difference_bounds(judgements, runs, "nDCG(empty=0)@3")
    pair = bounds.first, bounds.second
    low, high = Completions(pool, parse("nDCG(empty=0)@3"), *pair).extremes()
    assert (bounds.low, bounds.high) == pytest.approx((low.mean(), high.mean()), abs=1e-12)
    values = {name: evaluate(judgements, run, "nDCG(empty=0)@3") for name, run in runs.items()}
    ends = [values[name]["nDCG(empty=0)@3"] for name in pair]
    assert bounds.difference == pytest.approx(ends[0] - ends[1], abs=1e-12) and bounds.low < 0
    assert bounds.difference >= 0 and not bounds.is_settled  # best first


def test_neighbours_come_in_the_order_of_the_means(rng):
    runs, judgements = case(rng, n_queries=9)
    runs |= {"c": case(rng, 9)[0]["a"], "d": case(rng, 9)[0]["b"]}
    means = {name: evaluate(judgements, run, "AP")["AP"] for name, run in runs.items()}
    order = sorted(means, key=means.get, reverse=True)
    found = difference_bounds(judgements, runs, "AP")
    assert [(b.first, b.second) for b in found] == list(pairwise(order))


def test_many_unjudged_documents_give_bounds_that_enclose_the_current_difference(rng):
    """Not every set of relevant documents is tried; the sums of gains are still exact."""
    runs = {
        name: {f"q{q}": {f"d{d}": s for d, s in enumerate(rng.random(900))} for q in range(20)}
        for name in "ab"
    }
    judgements = {f"q{q}": {f"d{d}": 1 for d in range(q, q + 30)} for q in range(20)}
    for spec in ("DCG", "RBP(p=0.99)"):
        completions = Completions(pool_of(runs, judgements), parse(spec), "a", "b")
        low, high = completions.extremes()
        gains = completions.advantage * completions.is_open
        query = completions.pool.query
        for sign, end in ((1, high), (-1, low)):
            added = np.bincount(query, np.maximum(sign * gains, 0))
            wanted = completions.differences() + sign * added
            np.testing.assert_allclose(end, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("spec", ["AP", "nDCG", "RR"])
def test_long_lists_have_the_bounds_of_the_measure(rng, monkeypatch, spec):
    monkeypatch.setattr("rankwise.selection.judging.completions._MOST_ROWS", 10)
    runs, judgements = case(rng)
    completions = Completions(pool_of(runs, judgements), parse(spec), "a", "b")
    low, high = completions.extremes()
    is_open = np.bincount(completions.pool.query, completions.is_open) > 0
    assert is_open.any()
    assert (high[is_open] == 1).all() and (low[is_open] == -1).all()


def test_without_unjudged_documents_everything_is_settled():
    runs = {"a": {"q": {"d1": 2.0, "d2": 1.0}}, "b": {"q": {"d2": 2.0, "d1": 1.0}}}
    [bounds] = difference_bounds({"q": {"d1": 1, "d2": 0}}, runs, "nDCG")
    assert bounds.n_open == 0 and bounds.is_settled
    assert bounds.low == bounds.difference == bounds.high > 0
    [same] = difference_bounds({"q": {"d1": 1, "d2": 1}}, runs, "nDCG")
    assert same.difference == 0 and same.is_settled


def test_unjudged_documents_can_be_better_than_all_judged_ones():
    runs = {"a": {"q": {"d1": 2.0, "d2": 1.0}}, "b": {"q": {"d2": 2.0, "d1": 1.0}}}
    [bounds] = difference_bounds({"q": {"d1": 2}}, runs, "P(rel=3)@1", pairs=[("a", "b")])
    assert (bounds.difference, bounds.low, bounds.high) == (0, -1, 0)


def test_bad_arguments_are_named(rng):
    runs, judgements = case(rng)
    for spec in (
        "Bpref",
        "AP(judged_only=True)",
        "Judged@5",
        "Tau",
        "MeanNDCG",
        "nDCG(short=zero)@3",
    ):
        with pytest.raises(ValueError, match="measure must take unjudged documents as not relev"):
            difference_bounds(judgements, runs, spec)
    with pytest.raises(ValueError, match=r"pairs must name two systems each, got .*Systems: a, b"):
        difference_bounds(judgements, runs, pairs=[("a", "x")])
    with pytest.raises(ValueError, match="at least two systems, got 1"):
        difference_bounds(judgements, {"a": runs["a"]})
    with pytest.raises(TypeError, match="systems must map names to runs, got list"):
        difference_bounds(judgements, [runs["a"]])
    with pytest.raises(ValueError, match="no query in common"):
        difference_bounds({"other": {"d1": 1}}, runs)
