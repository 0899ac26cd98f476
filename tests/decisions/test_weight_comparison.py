"""Learnt weights of signals: against naive fits, and verdicts on data whose answer is known."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import norm, t

from rankwise import RankingData
from rankwise.clicks import ClickLog, propensities
from rankwise.decisions import compare_weights
from rankwise.decisions.weight_comparison import (
    NO_PULL,
    OPTIMISM,
    STRENGTHS,
    _Fits,
    _weigh_feedback,
)
from rankwise.metrics import parse
from rankwise.metrics.significance import paired_test
from rankwise.runtime.messages import ArgumentError
from rankwise.tuning import deal_queries

NAMES = ["similarity", "recency", "importance"]
POOR = "0.8*similarity + 0.1*recency + 0.1*importance"  # of users who want recency
FAST: dict[str, Any] = {"n_resamples": 0}


def draw(n, truth, seed=0, noise=0.2, m=12):
    """Rows of n queries, of which a third of the documents is relevant by a linear formula."""
    rng = np.random.default_rng(seed)
    X = rng.random((n * m, len(truth)))
    wanted = (X @ np.array(truth) + noise * rng.normal(size=n * m)).reshape(n, m)
    y = (wanted > np.quantile(wanted, 2 / 3, axis=1, keepdims=True)).astype(float).ravel()
    return RankingData(X, y, qid=np.arange(n * m) // m, feature_names=NAMES[: len(truth)])


def fits_of(data, current, keeps_signs=True):
    return _Fits(data, np.array(current), keeps_signs, parse("nDCG@10"), 0)


def naive_fit(data, w0, strength, bounded):
    """Minimise the objective of the docstring over all pairs of rows."""
    pairs = [
        (i, j, 1 / len(rows) ** 2)
        for rows in (np.flatnonzero(data.qid == query) for query in np.unique(data.qid))
        for i, j in combinations(rows, 2)
    ]
    first, second, c = (np.array(column) for column in zip(*pairs, strict=True))
    D, d = data.X[first] - data.X[second], data.y[first] - data.y[second]
    v = c @ D**2
    current = D @ w0
    s = max((c * d) @ current / ((c * current) @ current), 0.0)

    def objective(w):
        return (c * (d - D @ w)) @ (d - D @ w) + strength * v @ (w - s * w0) ** 2

    bounds = [(None, 0) if w < 0 else (0, None) for w in w0] if bounded else None
    found = minimize(objective, s * w0, method="L-BFGS-B", bounds=bounds, tol=1e-14)
    w = found.x
    return w * np.abs(w0).sum() / np.abs(w).sum()


@pytest.mark.parametrize("strength", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(
    ("current", "bounded"),
    [((0.4, 0.3, 0.2), True), ((0.4, -0.3, 0.2), True), ((0.4, 0.0, 0.2), False)],
)
def test_weights_minimise_the_objective(current, bounded, strength):
    data = draw(15, (0.2, 0.7, -0.1))
    found = fits_of(data, current, bounded).learn(strength)
    expected = naive_fit(data, np.array(current), strength, bounded)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert np.abs(found).sum() == pytest.approx(np.abs(current).sum())


def test_an_infinite_strength_leaves_the_weights():
    np.testing.assert_array_equal(
        fits_of(draw(10, (0.2, 0.7, 0.1)), (0.4, 0.3, 0.2)).learn(math.inf), [0.4, 0.3, 0.2]
    )


def test_signals_that_do_not_vary_within_queries_keep_their_weight():
    data = draw(20, (0.2, 0.7))
    X = np.column_stack([np.asarray(data.X), data.qid * 1.0])
    found = fits_of(RankingData(X, data.y, qid=data.qid), (0.5, 0.5, 0.4)).learn(0.1)
    expected = fits_of(data, (0.5, 0.5)).learn(0.1)
    np.testing.assert_allclose(found[:2] / found[:2].sum(), expected, atol=1e-9)
    assert found[2] > 0


def test_folds_are_held_out():
    """A naive nested cross-validation has the same values per query and the same strength."""
    data, current = draw(23, (0.2, 0.7, 0.1), seed=3), np.array([0.4, 0.3, 0.2])
    fits, measure = fits_of(data, current), parse("nDCG@10")

    def values(test, train, strength):
        part = data.queries(np.sort(train))
        w = current if math.isinf(strength) else naive_fit(part, current, strength, True)
        rows, groups = data.groups.subset(test)
        return measure.per_query(data.y[rows], data.X[rows] @ w, groups)

    def choose(table):
        best = table.mean(axis=0).argmax()
        losses = table[:, [best]] - table
        errors = losses.std(axis=0, ddof=1) / math.sqrt(len(table))
        return int(np.flatnonzero(losses.mean(axis=0) <= errors)[0])

    now, learned, _, strength = fits.cross_validate()
    fold = fits.folds[4]
    rest = np.setdiff1d(np.arange(23), fold)
    inner = np.vstack([
        np.column_stack([
            values(other, np.setdiff1d(rest, other), strength) for strength in STRENGTHS
        ])
        for k, other in enumerate(fits.folds)
        if k != 4
    ])  # fmt: skip
    chosen = STRENGTHS[choose(inner)]
    np.testing.assert_allclose(learned[fold], values(fold, rest, chosen), atol=1e-9)
    np.testing.assert_allclose(now[fold], values(fold, rest, math.inf), atol=1e-12)
    assert strength in STRENGTHS


def test_the_strength_of_a_fold_is_chosen_on_other_queries(monkeypatch):
    fits = fits_of(draw(60, [0.1, 0.7, 0.2], noise=0.5), [0.6, 0.2, 0.2])
    choose, known = _Fits._choose, []

    def record(self, values):
        known.append(~np.isnan(values).any(axis=1))
        return choose(self, values)

    monkeypatch.setattr(_Fits, "_choose", record)
    fits.cross_validate()
    for fold, counted in zip(fits.folds, known[:-1], strict=True):
        expected = ~np.isin(np.arange(60), fold)
        np.testing.assert_array_equal(counted, expected)
    assert known[-1].all()


def test_better_weights_are_taken():
    found = compare_weights(
        draw(80, (0.1, 0.8, 0.0)), "0.8*similarity + 0.1*recency + 0.1*importance"
    )
    assert (found.verdict, found.weights["recency"] > 0.6) == ("take", True)
    assert found.gain > found.gain_low > 0
    assert found.p_value < 0.001
    assert found.learned_mean - found.current_mean == pytest.approx(found.gain)
    assert "importance" in found.without_gain and "recency" not in found.without_gain
    assert (found.low <= found.high).all() and found.low[1] > 0.1
    assert found.export("sql").count('"recency"') == 1
    assert str(found).startswith("take: nDCG@10 ")
    assert json.loads(found.to_json())["weights"] == found.weights


def test_right_weights_are_kept():
    found = compare_weights(
        draw(60, (0.4, 0.3, 0.2)), "0.4*similarity + 0.3*recency + 0.2*importance"
    )
    assert found.verdict == "keep yours"
    assert found.weights == {"similarity": 0.4, "recency": 0.3, "importance": 0.2}


def test_weights_that_win_where_they_were_tuned_and_lose_elsewhere_are_kept():
    """Story: weights tuned on 12 queries gain there and lose on the other queries."""
    many = draw(1000, (0.4, 0.3, 0.3), seed=5, noise=0.5)
    few, rest = many.queries(np.arange(12)), many.queries(np.arange(12, 1000))
    current, measure = np.array([0.4, 0.3, 0.3]), parse("nDCG@10")
    candidates = np.random.default_rng(0).dirichlet(np.ones(3), 200)

    def mean(part, w):
        return measure.per_query(part.y, part.X @ w, part.groups).mean()

    tuned = candidates[np.argmax([mean(few, w) for w in candidates])]
    assert mean(few, tuned) > mean(few, current) + 0.02
    assert mean(rest, tuned) < mean(rest, current) - 0.01
    assert (
        compare_weights(few, dict(zip(NAMES, current, strict=True)), **FAST).verdict == "keep yours"
    )


def test_a_margin_must_be_exceeded():
    data, formula = draw(80, (0.1, 0.8, 0.0)), POOR
    gain = compare_weights(data, formula, **FAST).gain
    found = compare_weights(data, formula, margin=gain, **FAST)
    assert found.verdict == "keep yours"
    with pytest.raises(ArgumentError, match="margin must be a number >= 0, got -1"):
        compare_weights(data, formula, margin=-1, **FAST)


def test_worth_is_the_loss_without_the_signal():
    data, current = draw(40, (0.3, 0.7)), np.array([0.5, 0.5])
    _, learned, without, _ = fits_of(data, current).cross_validate()
    alone = parse("nDCG@10").per_query(data.y, data.X[:, 0], data.groups)
    np.testing.assert_allclose(without[:, 1], alone, atol=1e-12)
    found = compare_weights(data, dict(zip(NAMES, current, strict=False)), **FAST)
    test = paired_test(learned, alone)
    assert found.worth[1] == pytest.approx(test.mean_difference)
    assert found.worth_p[1] >= test.p_value


def test_lower_measures_turn_gains_around():
    found = compare_weights(
        draw(80, (0.1, 0.8, 0.0)),
        POOR,
        measure="Misranking",
        **FAST,
    )
    assert found.verdict == "take" and found.gain > 0
    assert found.gain == pytest.approx(found.current_mean - found.learned_mean)
    assert found.worth[1] > 0


def test_signs_are_kept_unless_any_is_allowed():
    data = draw(80, (0.3, 0.7, -0.4))
    formula = "0.3*similarity + 0.3*recency + 0.3*importance"
    assert compare_weights(data, formula, **FAST).learned[2] == 0
    assert compare_weights(data, formula, nonnegative=False, **FAST).learned[2] < -0.1
    turned = compare_weights(data, formula.replace("+ 0.3*imp", "- 0.3*imp"), **FAST)
    assert turned.learned[2] < -0.1


def test_frames_and_files(tmp_path):
    data = draw(30, (0.2, 0.7, 0.1))
    frame = pd.DataFrame(data.X, columns=NAMES).assign(session=data.qid, used=data.y)
    words = {"label": "used", "qid": "session", **FAST}
    formula = "0.4*similarity + 0.3*recency"
    found = compare_weights(frame, formula, **words)
    assert found.signals.tolist() == NAMES[:2]
    assert "'used' looks like feedback" in found.notes[0]
    frame.to_csv(tmp_path / "signals.csv", index=False)
    read = compare_weights(tmp_path / "signals.csv", formula, **words)
    np.testing.assert_array_equal(read.learned, found.learned)


def with_position(data, seed=0):
    """Clicks on lists by a poor ranking: users look less often further down."""
    rng = np.random.default_rng(seed)
    m = len(data) // data.n_queries
    order = np.argsort(-data.X[:, 0].reshape(-1, m) + rng.normal(size=(data.n_queries, m)), axis=1)
    position = (np.argsort(order, axis=1) + 1).ravel()
    chances = 1 / np.arange(1, m + 1)
    clicks = data.y * (rng.random(len(data)) < chances[position - 1])
    return RankingData(data.X, clicks, qid=data.qid, feature_names=NAMES), position, chances


def test_positions_enter_as_propensities():
    data, position, chances = with_position(draw(600, (0.1, 0.8, 0.1)))
    formula = "0.4*similarity + 0.3*recency + 0.3*importance"
    plain = compare_weights(data, formula, **FAST)
    found = compare_weights(data, formula, position=position, propensities=chances, **FAST)
    best = compare_weights(draw(600, (0.1, 0.8, 0.1)), formula, **FAST).learned
    # Without positions, the signal by which documents were shown looks better than it is.
    assert abs(found.learned[0] - best[0]) < abs(plain.learned[0] - best[0])
    assert found.measure == "DCG(gain='linear')@10"
    named = RankingData(
        np.column_stack([np.asarray(data.X), position]),
        data.y,
        qid=data.qid,
        feature_names=[*NAMES, "shown"],
    )
    again = compare_weights(named, formula, position="shown", propensities=chances, **FAST)
    np.testing.assert_array_equal(again.learned, found.learned)


def test_corrected_labels():
    """Clicks over the chance of a look, estimated from documents at several positions."""
    rng = np.random.default_rng(0)
    n = 4000
    document, position = rng.integers(0, 4, n).astype(str), rng.integers(1, 4, n)
    click = (rng.random(n) < np.array([0.8, 0.4, 0.02])[position - 1]).astype(float)
    query = rng.integers(0, 20, n)
    data = RankingData(np.zeros((n, 1)), click, qid=query, doc_ids=document)
    notes: list[str] = []
    found = _weigh_feedback(data, position, None, notes).y
    estimate = propensities(ClickLog.from_columns(query, document, position, click)).examination
    clipped = np.maximum(estimate / estimate.max(), 0.1)
    np.testing.assert_allclose(found, click / clipped[position - 1])
    assert "less than 10%" in notes[0]


@pytest.mark.parametrize(
    ("column", "formula", "notes"),
    [
        (
            lambda X: 0.1 + 0 * X[:, 0],
            "1*similarity + 2*third",
            ["no interval for third: constant"],
        ),
        (lambda X: X[:, 0], "1*similarity + 2*third", ["no interval for similarity, third: "]),
        (lambda X: X[:, 1], "-1*recency + 0*similarity", ["labels fall as the formula rises"]),
        (lambda X: X[:, 1], "0.2*similarity + 0.7*recency", []),
    ],
)
def test_what_queries_cannot_tell_is_said(column, formula, notes):
    data = draw(30, (0.2, 0.7))
    X = np.column_stack([data.X, column(data.X)])
    rows = RankingData(X, data.y, qid=data.qid, feature_names=["similarity", "recency", "third"])
    found = compare_weights(rows, formula, n_resamples=50)
    assert len(found.notes) == len(notes)
    assert all(line.startswith(note) for line, note in zip(found.notes, notes, strict=True))
    unknown = [name in " ".join(notes) for name in found.signals]
    np.testing.assert_array_equal(np.isnan([found.low, found.high]), [unknown, unknown])
    if unknown == [False, True]:
        assert found.learned[1] == 2.0


def test_a_formula_that_labels_contradict_without_a_gain():
    data = draw(60, (0.4, 0.6), seed=1)
    found = compare_weights(data, "0.5*similarity + 0.5*recency", margin=1.0)
    assert found.verdict == "keep yours"
    assert found.current[1] < found.low[1]
    assert found.notes[-1].startswith("other weights of similarity, recency fit the labels better")


def broken(**changes):
    data = draw(30, (0.2, 0.7, 0.1))
    values = {"X": data.X.copy(), "y": data.y.copy(), "qid": data.qid}
    for name, change in changes.items():
        values[name] = change(values[name])
    return RankingData(values["X"], values["y"], qid=values["qid"], feature_names=NAMES)


def put(value, row, column):
    def change(X):
        X[row, column] = value
        return X

    return change


@pytest.mark.parametrize(
    ("data", "words", "problem"),
    [
        (broken(X=put(np.nan, 7, 1)), {}, r"Input X contains NaN at row 7, column 1 \('recency'\)"),
        (broken(X=put(-np.inf, 0, 0)), {}, r"contains infinity at row 0, column 0 \('similarity'"),
        (broken(X=put(1e200, 2, 1)), {}, r"contains 1e\+200 at row 2, column 1 \('recency'"),
        (broken(y=np.zeros_like), {}, "label must be positive in some rows"),
        (broken(y=np.ones_like), {}, "at least 10 queries with different labels.* 0 of 30 queries"),
        (broken(qid=lambda q: q // 4), {}, "but 8 of 8 queries have rows with different labels"),
        (broken(qid=np.zeros_like), {}, "rows must be of several queries, but all 360 have one"),
        (broken(), {"current": "1*similarty"}, "got 'similarty'. Did you mean 'similarity'"),
        (broken(), {"current": 5}, "current must be weights of signals, got 5. Map the name"),
        (broken(), {"current": {"recency": "x"}}, "got 'x' for 'recency'"),
        (broken(), {"position": "shown"}, "position must name columns of the data, got 'shown'"),
        (
            broken(),
            {"position": np.ones(360)},
            "propensities must be given if documents have no ids",
        ),
        (broken(), {"position": np.ones(3)}, "position must have one rank per row, got shape"),
        (broken(), {"position": np.zeros(360)}, "position must be whole ranks, got 0.0 at row 0"),
        (
            broken(y=lambda y: 2 * y),
            {"position": np.ones(360), "propensities": [1.0]},
            "label must be 0 or 1 with positions, got 2",
        ),
        (broken(), {"propensities": [1.0]}, "propensities must come with positions"),
        (broken(), {"n_resamples": -1}, "n_resamples must be a whole number >= 0"),
        (broken(), {"confidence_level": 95}, "confidence_level must lie between 0 and 1"),
    ],
)
def test_bad_input(data, words, problem):
    current = words.pop("current", "0.5*similarity + 0.5*recency")
    with pytest.raises(ValueError, match=problem):
        compare_weights(data, current, **words)


def test_what_is_left_out_is_counted():
    data = draw(30, (0.2, 0.7, 0.1))
    y = data.y.copy()
    y[:24] = 0
    y[30] = np.nan
    rows = RankingData(
        data.X,
        y,
        qid=data.qid,
        feature_names=NAMES,
        judged=~np.isnan(y),
        sample_weight=np.ones(360),
    )
    found = compare_weights(rows, "0.5*similarity + 0.5*recency", **FAST)
    assert found.n_queries == 28
    for note in ("a label, left out: 1", "sample weights are not used", "labels, left out: 2"):
        assert any(note in line for line in found.notes), note


def test_joint_intervals_hold_a_share_of_the_draws():
    """Draws of whole queries, each fitted by itself: the box has a bit more than 80 % of them."""
    data, current, n_draws = draw(20, (0.2, 0.7, 0.1), noise=0.4), (0.4, 0.3, 0.3), 150
    low, high = fits_of(data, current).intervals(n_draws, 0.8)
    drawn = np.random.default_rng(0).multinomial(20, np.full(20, 1 / 20), n_draws)
    number = np.concatenate(deal_queries(data.groups, 20, 0))
    inside = np.zeros((n_draws, 3), dtype=bool)
    for count, row in zip(drawn, inside, strict=True):
        rows, groups = data.groups.subset(np.repeat(number, count))
        part = RankingData(data.X[rows], data.y[rows], qid=groups.row_ids())
        part = replace(part, qid=np.repeat(np.arange(20), 12))
        weights = fits_of(part, current).learn(NO_PULL)
        row[:] = (low - 1e-9 <= weights) & (weights <= high + 1e-9)
    share = inside.all(axis=1).mean()
    expanded = 1 - OPTIMISM * 2 * norm.sf(math.sqrt(20 / 19) * t.ppf(0.9, 19))
    assert 0.8 < expanded <= share < expanded + 0.06
    assert inside.mean() > share  # of single signals
