"""Answer or abstain: thresholds against naive tests, promises in simulation, all inputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.exceptions import NotFittedError

from rankwise import RidgeRanker
from rankwise.datasets import RankingData
from rankwise.decisions import AnswerRule, CutRule
from rankwise.decisions.answer_rule import _STARTS
from rankwise.runtime.messages import ArgumentError


def draw_lists(n, seed=0, share=0.7, size=6):
    """Scores, grades and queries of lists with one relevant document or none."""
    rng = np.random.default_rng(seed)
    y = np.zeros((n, size))
    y[:, 0] = rng.random(n) < share
    scores = rng.normal(size=(n, size)) + 2.0 * y
    return scores.ravel(), y.ravel(), np.repeat(np.arange(n), size)


def naive_threshold(values, answerable, promise, at_most, level):
    """Lowest value that may be answered, by the definition: sets of growing size, one at a time."""
    pairs = sorted(zip(values, answerable, strict=True), reverse=True)
    wrong = [0, *np.cumsum([not right for _, right in pairs]).tolist()]
    n, best = len(pairs), 0
    if promise == "false_answers":
        for m in range(1, n + 1):
            if binom.cdf(wrong[m], wrong[n], at_most) <= level:
                best = m
    else:
        for several in (2, 1):
            each = level / several
            first = [
                next(m for m in range(1, 9999) if binom.cdf(k, m, at_most) <= each)
                for k in _STARTS[:several]
            ]
            if first[-1] <= n:
                break
        if len(first) > 1:
            first[-1] = max(first[-1], n // 3)
        for start in first:
            m = start
            while m <= n and binom.cdf(wrong[m], m, at_most) <= each:
                best, m = max(best, m), m + 1
    return pairs[best - 1][0] if best else None


@pytest.mark.parametrize("promise", ["wrong_answers", "false_answers"])
@pytest.mark.parametrize("n", [20, 45, 300])
@pytest.mark.parametrize("at_most", [0.1, 0.25])
def test_threshold_is_that_of_naive_tests(promise, n, at_most):
    scores, y, qid = draw_lists(n, seed=n)
    rule = AnswerRule(promise, at_most, 0.9, policy="top_score").fit(scores, y, qid)
    tops, answerable = scores.reshape(n, -1).max(axis=1), y.reshape(n, -1).max(axis=1) > 0
    lowest = naive_threshold(tops, answerable, promise, at_most, 0.1)
    if lowest is None:
        assert np.isinf(rule.threshold_) and not rule.decide(scores, qid).answer.any()
        return
    answered = tops >= rule.threshold_
    assert answered.any() and tops[answered].min() == lowest
    report = rule.report_
    about = answered if promise == "wrong_answers" else ~answerable
    assert (report.n_decided, report.n_wrong) == (about.sum(), (answered & ~answerable).sum())
    assert rule.risk_ == pytest.approx((answered & ~answerable).sum() / about.sum())
    assert rule.report_.kept == pytest.approx(answered[answerable].mean())


@pytest.mark.parametrize("promise", ["wrong_answers", "false_answers"])
def test_promise_is_kept_in_most_draws(promise):
    scores, y, qid = draw_lists(2000, seed=9)
    answerable, broken = y.reshape(2000, -1).max(axis=1) > 0, 0
    for draw in range(40):
        rule = AnswerRule(promise, 0.15, 0.9).fit(*draw_lists(150, seed=100 + draw))
        answer = rule.decide(scores, qid).answer
        about = answer if promise == "wrong_answers" else ~answerable
        broken += bool((answer & ~answerable).sum() > 0.15 * about.sum())
    assert broken <= binom.ppf(0.99, 40, 0.1)


def test_tied_queries_are_decided_together():
    n = 200
    scores, y, qid = draw_lists(n, share=0.95)
    rule = AnswerRule(at_most=0.1, policy="top_score").fit(np.round(scores), y, qid)
    found = rule.decide(np.round(scores), qid)
    assert found.value[found.answer].min() > found.value[~found.answer].max()


def test_queries_that_it_asks_for_would_do():
    scores, y, qid = draw_lists(25, share=0.8, seed=3)
    rule = AnswerRule("false_answers", 0.2).fit(scores, y, qid)
    assert np.isinf(rule.threshold_) and rule.risk_ is None and rule.report_.kept == 0
    needed = rule.n_queries_needed_
    n_wrong = int((y.reshape(25, -1).max(axis=1) == 0).sum())
    assert needed * n_wrong / 25 == pytest.approx(14, rel=0.1)  # log(.05) / log(.8), rounded up
    assert f"It takes {needed:,} or more" in str(rule)
    times = -(-needed // 25)
    rows = np.tile(np.arange(len(scores)), times)
    again = rule.fit(scores[rows], y[rows], qid[rows] + 100 * np.repeat(range(times), len(scores)))
    assert np.isfinite(again.threshold_)


def test_no_number_of_queries_helps_if_scores_say_nothing():
    _, y, qid = draw_lists(60, share=0.5)
    rule = AnswerRule(at_most=0.1).fit(np.zeros(len(y)), y, qid)
    assert rule.n_queries_needed_ is None and "promise less" in str(rule)


def test_lists_lose_their_documents_if_all_are_answerable():
    scores, y, qid = draw_lists(120, share=1.0)
    rule = AnswerRule("false_answers", 0.1, policy="top_score").fit(scores, y, qid)
    assert rule.report_.unanswerable == "removed" and "without their relevant" in str(rule)
    table = scores.reshape(120, -1)
    values = np.append(table.max(axis=1), table[:, 1:].max(axis=1))
    lowest = naive_threshold(values, np.arange(240) < 120, "false_answers", 0.1, 0.05)
    assert table.max(axis=1)[table.max(axis=1) >= rule.threshold_].min() >= lowest
    halves = AnswerRule(at_most=0.4, policy="top_score", unanswerable_share=0.3)
    report = halves.fit(scores, y, qid).report_
    assert report.n_tested == 120
    judged = AnswerRule(at_most=0.1, policy="top_score", unanswerable="judged").fit(scores, y, qid)
    assert judged.report_.n_wrong == 0 and judged.decide(scores, qid).answer.all()


def test_a_list_of_relevant_documents_only_is_abstained_from_without_them():
    scores, y, qid = draw_lists(80, share=1.0, size=1)
    rule = AnswerRule("false_answers", 0.1).fit(scores, y, qid)
    assert rule.report_.kept == 1.0


def test_runs_arrays_frames_and_rankers_give_the_same_rule():
    scores, y, qid = draw_lists(150)
    doc = [f"d{row}" for row in range(len(qid))]
    frame = pd.DataFrame({"qid": qid.astype(str), "doc_id": doc})
    rule = AnswerRule(at_most=0.2).fit(scores, y, qid)
    of_run = AnswerRule(at_most=0.2).fit(frame.assign(score=scores), frame.assign(relevance=y))
    assert of_run.threshold_ == pytest.approx(rule.threshold_)
    model = RidgeRanker().fit(scores[:, None], y, qid=qid)
    data = RankingData(scores[:, None], y, qid=qid)
    of_model = AnswerRule(at_most=0.2).fit(model, data)
    assert of_model.report_.kept == pytest.approx(rule.report_.kept)
    np.testing.assert_array_equal(
        of_model.decide(model, data).answer, rule.decide(scores, qid).answer
    )
    unsorted = np.random.default_rng(0).permutation(len(scores))
    found = rule.decide(scores[unsorted], qid[unsorted])
    order = np.argsort(found.qid)
    np.testing.assert_array_equal(found.answer[order], rule.decide(scores, qid).answer)


def test_features_of_a_list():
    scores = [3.0, 1.0, 2.0, 7.0]
    other = [1.0, 2.0, 3.0, 0.0]
    rule = AnswerRule(depth=2)
    columns = {"idf": {"a": 0.5, "b": 1.5}}
    found = rule.list_features(scores, list("aaab"), others=[other], query_columns=columns)
    assert list(found) == ["top", "gap", "lead", "spread", "agreement", "idf"]
    np.testing.assert_allclose(np.array([*found.values()])[:, 0], [3, 1, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(np.array([*found.values()])[:, 1], [7, 0, 0, 0, 1, 1.5])


def test_other_systems_and_columns_of_queries_help():
    rng = np.random.default_rng(2)
    scores, y, qid = draw_lists(400)
    answerable = y.reshape(400, -1).max(axis=1)
    columns = {"idf": dict(enumerate(5 * answerable + rng.normal(size=400)))}
    other = scores + rng.normal(size=len(scores)) * np.repeat(answerable < 1, 6)
    rule = AnswerRule(depth=3).fit(scores, y, qid)
    more = AnswerRule(depth=3).fit(scores, y, qid, others=[other], query_columns=columns)
    assert more.policy_ == "model" and more.report_.kept > rule.report_.kept + 0.1
    more.to_python()
    with pytest.raises(ValueError, match=r"features top.*Pass the same others"):
        more.decide(scores, qid)


def test_numbers_of_queries_belong_to_ids_of_any_type():
    columns = {"idf": {0: 0.5, 1: 1.5}}
    for ids in ([0, 0, 1], [0.0, 0.0, 1.0], ["0", "0", "1"]):
        found = AnswerRule().list_features([1.0, 2.0, 3.0], ids, query_columns=columns)
        assert found["idf"].tolist() == [0.5, 1.5]


def test_documents_beyond_the_depth_are_not_shown():
    rule = AnswerRule(at_most=0.3, depth=3, policy="top_score").fit(*draw_lists(200))
    found = rule.decide([9.0, 2.0, 1.0, 0.0, 9.0], list("aaaab"))
    assert found.n_shown.tolist() == [3, 1]


def test_the_order_of_judged_rows_tells_nothing():
    y = np.tile([1, 0, 0, 0], 200)
    for grades in (y, y[::-1]):
        report = AnswerRule(depth=1).fit(np.zeros(800), grades, np.arange(800) // 4).report_
        assert report.n_unanswerable == pytest.approx(150, abs=20)


def test_a_response_and_empty_lists_get_a_decision():
    rule = AnswerRule(at_most=0.3, policy="top_score").fit(*draw_lists(200))
    hit, none = ({"hits": {"hits": x}} for x in ([{"_id": "a", "_score": 9.0}], []))
    solr = {"response": {"docs": [{"id": "a", "score": 9.0}]}}
    for scores, wanted in (
        ({"q": {}, "p": {"a": 9.0}, "r": none}, {"q": 0, "p": 1, "r": 0}),
        (hit | {"took": 3}, {"query": 1}),
        (solr, {"query": 1}),
        (none, {"query": 0}),
    ):
        found = rule.decide(scores)
        assert dict(zip(found.qid.tolist(), found.n_shown.tolist(), strict=True)) == wanted
        assert CutRule("precision", 0.1).fit(*draw_lists(200)).decide(scores).qid.tolist() == [
            *wanted
        ]


def test_judged_queries_that_all_have_an_answer_are_named():
    rule = AnswerRule(unanswerable="judged").fit(*draw_lists(200, share=1.0))
    assert "no judged query has a list with nothing relevant" in str(rule)


def test_notes_say_what_does_not_count():
    scores, y, qid = draw_lists(120, share=119 / 120)
    rule = AnswerRule().fit(scores, y, qid)
    assert rule.policy_ == "top_score" and rule.report_.n_tested == 84
    assert "tested on the other 84. policy='top_score' tests all" in str(rule).replace("\n ", "")
    run = {"q": {"a": 1.0}, "r": {"b": 2.0}}
    qrels = {"q": {"a": 1}, "r": {"b": 1}, "s": {"a": 1}}
    for fitted in (AnswerRule().fit(run, qrels), CutRule().fit(run, qrels)):
        note = "1 of 3 judged queries are not in the run and do not count"
        assert note in fitted.report_.notes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"promise": "wrong"}, "promise must be one of"),
        ({"at_most": 0}, "at_most must lie between 0 and 1"),
        ({"confidence_level": 95}, r"Write 0\.95"),
        ({"policy": "best"}, "policy must be one of"),
        ({"unanswerable": "none"}, "unanswerable must be one of"),
        ({"unanswerable_share": 1}, "unanswerable_share must lie"),
        ({"depth": 0}, "depth must be a whole number"),
        ({"rel": np.nan}, "rel must be a finite number"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ArgumentError, match=message):
        AnswerRule(**settings)


ROWS = RankingData(np.ones((2, 1)), [0, 1], qid=[1, 2])


def test_runs_and_scores_of_rows_with_ids_agree():
    scores, y, qid = draw_lists(100)
    ids = np.arange(len(y)).astype(str)
    data = RankingData(scores[:, None], y, qid=qid.astype(str), doc_ids=ids)
    run = pd.DataFrame({"qid": qid.astype(str), "doc_id": ids, "score": -scores})
    of_rows, of_run = (AnswerRule(depth=2).fit(scores, data, others=[x]) for x in (-scores, run))
    assert of_rows.to_json() == of_run.to_json() and "agreement" in of_run.coefficients_


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        (([1.0, 2.0], [0, 1]), {}, "qid must"),
        (([1.0, 2.0], None, [1, 2]), {}, "y must give judgements"),
        (([1.0, np.nan], [0, 1], [1, 2]), {}, "scores must be finite"),
        (([1.0, 2.0], [0, 0], [1, 2]), {}, "no list has a document of grade 1"),
        (
            ([1.0, 2.0], [0, 1], [1, 2]),
            {"query_columns": {"idf": {1: 2.0}}},
            "finite idf for every query, but .2. has none",
        ),
        (([1.0, 2.0], [0, 1], [1, 2]), {"query_columns": {"gap": {}}}, "other names than 'gap'"),
        (([1.0, 2.0], [0, 1], [1, 2]), {"others": "bm25.run"}, "others must be a list"),
        (([1.0, 2.0], ROWS), {"others": [{"1": {"a": 1.0}}]}, "document ids"),
        (([1.0, 2.0], ROWS, [1, 2]), {"others": [{"1": {"a": 1.0}}]}, "document ids"),
    ],
)
def test_wrong_data(arguments, more, message):
    with pytest.raises(ValueError, match=message):
        AnswerRule().fit(*arguments, **more)


def test_a_rule_must_be_fitted():
    for use in (lambda r: r.decide([1.0], [1]), lambda r: r.to_json(), lambda r: r.to_python()):
        with pytest.raises(NotFittedError, match="Call fit first"):
            use(AnswerRule())
