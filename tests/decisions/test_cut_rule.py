"""Rules of where to cut a list, against naive searches, evaluate() and exact probabilities."""

import json
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, dirichlet

from rankwise import RidgeRanker, evaluate
from rankwise.datasets import RankingData
from rankwise.decisions import CutRule, fewest_queries, load_decision
from rankwise.decisions.cut_rule import MEASURES, POLICIES
from rankwise.decisions.risk_bounds import conformal_risk, mean_risk_p_value
from rankwise.groups import QueryGroups

LEVELS = (0.95, None)


def make_lists(n=120, size=20, seed=0, shift=0.0, graded=False):
    """Scores, grades and query ids; ``shift``: standard deviation of the queries' own levels."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n), size)
    y = (rng.random(n * size) < 0.1) * (rng.integers(1, 4, n * size) if graded else 1)
    scores = 2.0 * (y > 0) + rng.normal(size=n * size) + np.repeat(rng.normal(size=n) * shift, size)
    return scores, y.astype(float), qid


class TestMeanRisk:
    @pytest.mark.parametrize(
        ("n", "n_wrong", "at_most"),
        [(1, 0, 0.5), (29, 0, 0.1), (30, 2, 0.1), (100, 5, 0.1), (400, 30, 0.1), (2000, 9, 0.01)],
    )
    def test_losses_of_0_and_1_are_binomial(self, n, n_wrong, at_most):
        losses = np.repeat([1.0, 0.0], [n_wrong, n - n_wrong])

        found = mean_risk_p_value(losses, at_most)

        assert found == pytest.approx(binom.cdf(n_wrong, n, at_most), abs=1e-6)

    def test_other_losses_are_a_bayesian_bootstrap_with_a_loss_of_1(self):
        rng = np.random.default_rng(0)
        losses = rng.beta(0.3, 2.0, 15)
        weights = dirichlet.rvs(np.ones(16), 100_000, random_state=1)
        share = (weights @ np.append(losses, 1.0) >= 0.25).mean()

        assert mean_risk_p_value(losses, 0.25) == pytest.approx(share, abs=0.005)

    @pytest.mark.parametrize("points", [(0, 0.5, 1), (0, 0.1, 1), (0.05, 0.3, 0.6), (0, 0.9, 1)])
    @pytest.mark.parametrize("at_most", [0.1, 0.3])
    def test_rejects_a_true_risk_with_at_most_its_level(self, points, at_most):
        n, level = 5, 0.2
        samples = list(product(range(3), repeat=n))
        accepted = np.array(
            [mean_risk_p_value(np.take(points, s), at_most) <= level for s in samples]
        )
        counts = np.array([np.bincount(s, minlength=3) for s in samples])
        for middle in np.linspace(0, 1, 21):
            low, mid, high = points
            top = (at_most - middle * mid - (1 - middle) * low) / (high - low)
            p = np.array([1 - middle - top, middle, top])
            if p.min() >= 0:  # the mean is at_most
                assert (np.prod(p**counts, axis=1) @ accepted) <= level + 1e-6

    @pytest.mark.parametrize("times", [2, 3])
    def test_repeated_losses_are_losses_seen_so_often(self, times):
        losses = np.array([0.0, 0.0, 0.3, 0.1, 0.0, 0.25])

        again = np.tile(losses, times)

        assert mean_risk_p_value(losses, 0.3, times) == pytest.approx(mean_risk_p_value(again, 0.3))
        assert conformal_risk(losses, times) == pytest.approx(conformal_risk(again))
        assert conformal_risk(losses) == pytest.approx((losses.sum() + 1) / 7)


@pytest.mark.parametrize("measure", MEASURES)
def test_value_is_that_of_evaluate_for_what_is_shown(measure):
    scores, y, qid = make_lists(60, graded=True)
    run = {f"q{q}": {f"d{i}": s for i, s in enumerate(scores[qid == q])} for q in range(60)}
    qrels = {f"q{q}": {f"d{i}": g for i, g in enumerate(y[qid == q])} for q in range(60)}
    qrels["q3"]["lost"], qrels["q7"]["lost"] = 3.0, 1.0

    rule = CutRule(measure, 0.3, policy="below_top").fit(run, qrels)

    found = rule.decide(run)
    names = {"recall": "R", "nDCG": "nDCG"}
    shown = {
        q: dict(sorted(run[q].items(), key=lambda e: -e[1])[:n])
        for q, n in zip(found.qid, found.n_shown, strict=True)
    }
    if measure == "precision":
        means = [np.mean([qrels[q].get(d, 0) > 0 for d in docs]) for q, docs in shown.items()]
        assert np.mean(means) == pytest.approx(rule.report_.value, abs=0.12)  # on a part of them
        assert rule.report_.n_tested == 42
    else:
        value = evaluate(qrels=qrels, run=shown, measures=[names[measure]])[names[measure]]
        assert rule.report_.value == pytest.approx(value, abs=1e-9)
    kept = evaluate(qrels=qrels, run=shown, measures=["R"])["R"]
    if measure != "precision":
        assert rule.report_.kept == pytest.approx(kept, abs=1e-9)


def stop_value(policy, scores):
    """Naive twins of the policies without a model: stop values of a list, best first."""
    s = np.sort(scores)[::-1]
    return {
        "fixed_k": np.arange(1.0, len(s) + 1),
        "score_floor": -s,
        "below_top": s[0] - s,
        "standardized": (s.mean() - s) / s.std(),
    }[policy]


@pytest.mark.parametrize("policy", POLICIES[:4])
@pytest.mark.parametrize("level", LEVELS)
def test_threshold_is_the_lowest_that_keeps_the_promise(policy, level):
    scores, y, qid = make_lists(80, shift=1.0)
    lists = []
    for q in range(80):
        order = np.argsort(-scores[qid == q])
        if (relevant := y[qid == q][order] > 0).any():
            stops = stop_value(policy, scores[qid == q])
            lists.append((stops, np.cumsum(relevant) / relevant.sum()))

    def passes(threshold):
        losses = [1 - recall[max(1, (v <= threshold).sum()) - 1] for v, recall in lists]
        if level is None:
            return (sum(losses) + 1) / (len(losses) + 1) <= 0.2
        return mean_risk_p_value(losses, 0.2) <= 1 - level

    known = np.unique(np.concatenate([stops for stops, _ in lists]))
    first = next(t for t in known if passes(t))

    rule = CutRule("recall", 0.8, level, policy=policy).fit(scores, y, qid)

    sign = -1 if policy in ("score_floor", "standardized") else 1
    shown = [max(1, (stop_value(policy, scores[qid == q]) <= first).sum()) for q in range(80)]
    np.testing.assert_array_equal(rule.decide(scores, qid).n_shown, shown)
    after = known[np.searchsorted(known, first) + 1]
    assert first - 1e-9 <= sign * rule.threshold_ <= after
    assert rule.risk_ == 1 - rule.report_.value


def test_precision_stops_at_the_first_rank_that_fails():
    scores, y, qid = make_lists(300)
    ranked = [y[qid == q][np.argsort(-scores[qid == q])] for q in range(300)]
    k = 0
    while mean_risk_p_value([1 - r[: k + 1].mean() for r in ranked], 0.6) <= 0.05:
        k += 1

    rule = CutRule("precision", 0.4, policy="fixed_k").fit(scores, y, qid)

    assert rule.threshold_ == k > 1
    assert rule.report_.n_queries == 300 > CutRule().fit(scores, y, qid).report_.n_queries


class TestPolicies:
    def test_auto_takes_another_policy_only_if_it_is_better(self):
        rng, ranks = np.random.default_rng(0), np.arange(30)
        last = rng.integers(0, 30, 400)  # rank of the only relevant document of each list
        qid, y = np.repeat(np.arange(400), 30), (ranks == last[:, None]).ravel().astype(float)
        steep = np.where(ranks <= last[:, None], 5.0, 0.0) - ranks / 100
        alike = np.tile(-ranks, 400)

        found = {
            (name, policy): CutRule("recall", 0.8, policy=policy).fit(scores.ravel(), y, qid)
            for name, scores in (("steep", steep), ("alike", alike))
            for policy in ("auto", "fixed_k")
        }

        assert found["steep", "auto"].policy_ != "fixed_k"
        shown = [found["steep", policy].report_.n_shown for policy in ("auto", "fixed_k")]
        assert shown[0] < 0.8 * shown[1]
        assert [row.policy for row in found["steep", "auto"].policies_] == list(POLICIES)
        assert found["alike", "auto"].policy_ == "fixed_k"
        assert found["alike", "auto"].report_.n_tested == 400

    def test_few_queries_have_fixed_k(self):
        rule = CutRule("recall", 0.7).fit(*make_lists())

        assert rule.policy_ == "fixed_k"
        assert rule.policies_ == []
        assert rule.report_.n_tested == rule.report_.n_queries

    @pytest.mark.parametrize("policy", POLICIES)
    def test_lists_of_equal_scores_are_decided(self, policy):
        rule = CutRule("recall", 0.7, policy=policy).fit(*make_lists())

        found = rule.decide([0.3, 0.3, 0.3, 7.0], ["a", "a", "a", "b"])

        assert found.n_shown[1] == 1
        assert found.n_listed.tolist() == [3, 1]

    def test_order_of_rows_with_equal_scores_does_not_matter(self):
        qid, y = np.repeat(np.arange(60), 5), np.tile([1, 0, 0, 0, 0], 60)

        rule = CutRule("recall", 0.5, policy="fixed_k").fit(np.zeros(300), y, qid)

        assert rule.threshold_ == 3  # k documents in random order have a recall of k / 5
        assert rule.report_.value == pytest.approx(0.6)

    def test_probability_is_tested_on_other_queries_than_fitted(self):
        report = CutRule("recall", 0.7, policy="probability").fit(*make_lists()).report_

        assert report.n_tested == report.n_queries - round(0.3 * report.n_queries)


class TestUnkept:
    def test_whole_lists_that_do_not_reach_it_are_shown(self):
        qrels = {f"q{q}": {"a": 1, "lost": 1} for q in range(50)}
        run = {f"q{q}": {"a": 2.0, "b": 1.0} for q in range(50)}

        rule = CutRule("recall", 0.9).fit(run, qrels)

        assert (rule.report_.threshold, rule.n_queries_needed_) == (None, None)
        assert (rule.report_.whole, rule.report_.value) == (0.5, 0.5)
        assert rule.decide(run).n_shown.tolist() == [2] * 50
        assert "whole lists have recall 0.500" in str(rule)

    @pytest.mark.parametrize(("level", "needed"), [(0.95, fewest_queries(0.1)), (None, 9)])
    def test_says_how_many_queries_would_do(self, level, needed):
        scores, qid = np.tile([2.0, 1.0], 5), np.repeat(np.arange(5), 2)

        rule = CutRule("recall", 0.9, level).fit(scores, np.tile([1, 0], 5), qid)

        assert rule.report_.threshold is None
        assert rule.n_queries_needed_ == needed

    def test_precision_shows_top_documents(self):
        scores, y, qid = make_lists()

        rule = CutRule("precision", 0.99).fit(scores, y, qid)

        assert rule.decide(scores, qid).n_shown.max() == 1
        assert "top documents" in str(rule)


def test_decisions_are_those_of_the_rows_that_were_passed():
    scores, y, qid = make_lists()
    mixed = np.random.default_rng(3).permutation(len(qid))
    rule = CutRule("recall", 0.7).fit(scores[mixed], y[mixed], qid[mixed])

    found = rule.decide(scores[mixed], qid[mixed])

    k = int(rule.threshold_)
    for q in found.qid:
        own = scores[mixed][qid[mixed] == q]
        assert set(own[found.shown[qid[mixed] == q]]) == set(np.sort(own)[-k:])


def test_rankers_score_the_rows():
    scores, y, qid = make_lists()
    data = RankingData(scores[:, None], y, qid=qid)
    model = RidgeRanker().fit(data.X, data.y, qid=qid)

    rule = CutRule("recall", 0.7).fit(model, data)

    assert rule.threshold_ == CutRule("recall", 0.7).fit(scores, y, qid).threshold_
    assert rule.decide(model, data).n_shown.tolist() == rule.decide(scores, qid).n_shown.tolist()
    features = rule.list_features(model, data)
    assert list(features) == ["size", "top", "mean", "spread"]
    assert (features["size"] == 20).all()


class TestEmptyLists:
    @pytest.mark.parametrize(
        ("measure", "policy"),
        [*((measure, "fixed_k") for measure in MEASURES), *(("recall", p) for p in POLICIES[1:])],
    )
    @pytest.mark.parametrize("empty", [[7], [0, 30, 31, 60]])
    def test_they_change_nothing(self, measure, policy, empty):
        scores, y, qid = make_lists(60)
        groups = QueryGroups.from_sizes(np.insert(np.full(60, 20), empty, 0))
        rule = CutRule(measure, 0.3, policy=policy)

        expected = rule.fit(scores, y, qid).report_
        found = rule.fit(scores, y, groups)

        assert found.report_.n_queries == expected.n_queries
        if policy != "probability":  # its parts of the queries are others
            assert found.report_.value == expected.value
            assert found.threshold_ == expected.threshold
        n_shown = found.decide(scores, groups).n_shown
        assert (n_shown[groups.sizes == 0] == 0).all()
        assert (n_shown[groups.sizes > 0] > 0).all()


@pytest.mark.parametrize("policy", ["standardized", "probability"])
@pytest.mark.parametrize(("measure", "at_least"), [("recall", 0.8), ("precision", 0.2)])
def test_code_decides_lists_of_rounded_scores_alike(measure, at_least, policy):
    scores, y, qid = make_lists(300, 5)
    scores = scores.round()
    rule = CutRule(measure, at_least, policy=policy).fit(scores, y, qid)
    names = {}
    exec(rule.to_python(), {}, names)

    found = [names["count_shown"](scores[qid == q].tolist()) for q in range(300)]

    assert found == rule.decide(scores, qid).n_shown.tolist()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("measure", ["recall", "precision"])
def test_files_and_code_decide_alike(policy, measure, tmp_path):
    scores, y, qid = make_lists(shift=1.0)
    rule = CutRule(measure, 0.5, policy=policy).fit(scores, y, qid)
    rule.to_json(tmp_path / "rule.json")

    again = load_decision(tmp_path / "rule.json")

    found = rule.decide(scores, qid).n_shown
    assert again.decide(scores, qid).n_shown.tolist() == found.tolist()
    assert str(again) == str(rule)
    names = {}
    exec(rule.to_python(), {}, names)  # raises if the code decides otherwise
    assert names["count_shown"](scores[qid == 0].tolist()) == found[0]
    assert names["count_shown"]([]) == 0


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("report", "threshold"), "1", "report.threshold must be a number"),
        (("report", "policy"), "best", "report.policy must be one of fixed_k"),
        (("report", "at_least"), 2, "report.at_least must be a number from 0 to 1"),
        (("coefficients",), {"top": 1.0}, "coefficients must be top, below_top"),
        (("coefficients",), {}, "coefficients must be top, below_top"),
        (("report", "n_shown"), None, "report.n_shown must be a number"),
        (("more",), 1, "more is not a field"),
    ],
)
def test_broken_files_are_errors(path, value, message, tmp_path):
    rule = CutRule("recall", 0.7, policy="probability").fit(*make_lists())
    record = json.loads(rule.to_json())
    *outer, last = path
    (record[outer[0]] if outer else record)[last] = value
    file = tmp_path / "rule.json"
    file.write_text(json.dumps(record))

    with pytest.raises(ValueError, match=message):
        load_decision(file)


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"measure": "recal"}, ([1.0], [1], [1]), "Did you mean 'recall'"),
        ({"at_least": 90}, ([1.0], [1], [1]), "at_least must lie between 0 and 1, got 90"),
        ({"confidence_level": 95}, ([1.0], [1], [1]), "Write 0.95 for 95 %"),
        ({"measure": "precision", "confidence_level": None}, ([1.0], [1], [1]), "for precision"),
        ({"policy": "elbow"}, ([1.0], [1], [1]), "policy must be one of 'auto', 'fixed_k'"),
        ({}, ([1.0], [1], [1]), "needs 2 judged queries or more, got 1"),
        ({}, ([1.0, 2.0], [0, 0], [1, 2]), "no query has a document of grade 1 or more"),
        ({}, ([1.0, np.nan], [0, 1], [1, 2]), "must be finite"),
        ({}, ([1.0, 2.0], None, [1, 2]), "y must give judgements"),
        ({"measure": "nDCG"}, ([1.0, 2.0], [1, -2], [1, 2]), "y must be >= 0 .*, got -2"),
        ({"measure": "nDCG"}, ([1.0, 2.0], [1, 2000], [1, 2]), "y must be <= .*, got 2000"),
        ({"rel": "1"}, ([1.0], [1], [1]), "rel must be a finite number, got '1'"),
        ({"rel": np.nan}, ([1.0], [1], [1]), "rel must be a finite number, got nan"),
    ],
)
def test_errors_say_what_to_do(parameters, data, message):
    with pytest.raises(ValueError, match=message):
        CutRule(**parameters).fit(*data)
