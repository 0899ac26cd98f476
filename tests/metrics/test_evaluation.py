"""evaluate(), its result and its errors; the scorer; the default score."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
import rankwise.selection
from rankwise.groups import QueryGroups
from rankwise.metrics import UndefinedMeasureWarning, evaluate, make_scorer, parse
from rankwise.metrics._table import MEASURES
from rankwise.metrics.default import default_score_name, mean_score
from tests.metrics._cases import ragged

SPECS = ["AP", "ndcg@10", "nDCG(gain='linear',empty=0)@3", "P@5"]


def test_keys_are_the_strings_as_given(rng):
    y, f, qid = ragged(rng, levels=None)
    result = evaluate(y, f, qid, SPECS, preset="letor3")
    assert isinstance(result, Mapping)
    assert list(result) == SPECS
    assert len(result) == 4
    assert "AP" in result and "nDCG@10" not in result
    with pytest.raises(KeyError, match="was not evaluated"):
        result["nDCG@10"]
    for spec in SPECS:
        assert type(result[spec]) is float
        assert result[spec] == pytest.approx(np.nanmean(result.per_query[spec]), rel=1e-14)
        assert result.measures[spec] == parse(spec, "letor3")


def test_default_measures_are_the_same_everywhere():
    """Judges are the exception: every query needs a value by people and by the machine."""
    functions = (
        rankwise.evaluate,
        rankwise.rankers.evaluate_stream,
        rankwise.compare,
        rankwise.selection.evaluate_systems,
        pytest.importorskip("rankwise.distributed", exc_type=ImportError).evaluate,
    )
    for function in functions:
        assert signature(function).parameters["measures"].default == ("nDCG@10", "AP")
    judges = signature(rankwise.selection.evaluate_with_judge).parameters
    assert judges["measures"].default == "nDCG(empty=0)@10"


def test_per_query_follows_first_appearance():
    qid = ["b", "a", "b", "a", "c"]
    result = evaluate([1, 0, 0, 1, 1], [1, 2, 3, 1, 0], qid, ["RR", "P@1"])
    assert result.qids.tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(result.per_query["RR"], [0.5, 0.5, 1.0])
    np.testing.assert_array_equal(result.per_query["P@1"], [0.0, 0.0, 1.0])


def test_one_measure_may_come_bare(rng):
    y, f, qid = ragged(rng)
    assert evaluate(y, f, qid, "AP")["AP"] == evaluate(y, f, qid, ["AP"])["AP"]
    measure = parse("AP")
    assert list(evaluate(y, f, qid, measure)) == [str(measure)]


def test_no_qid_is_one_query(rng):
    y, f, _ = ragged(rng)
    assert evaluate(y, f)["nDCG@10"] == evaluate(y, f, np.zeros(len(y)))["nDCG@10"]


def test_frames_lists_and_groups(rng):
    y, f, qid = ragged(rng)
    wanted = evaluate(y, f, qid, SPECS)
    groups = QueryGroups.from_qid(qid, len(qid))
    for a, b, q in [
        (y.tolist(), f.tolist(), qid.tolist()),
        (pd.Series(y), pd.Series(f), pd.Series(qid)),
        (pl.Series(y), pl.Series(f), pl.Series(qid)),
        (y, f, groups),
        (y.astype(object), f, qid.astype(str)),
    ]:
        assert dict(evaluate(a, b, q, SPECS)) == dict(wanted)


def test_the_text_names_values_conventions_and_skipped_queries():
    text = str(evaluate([1, 0, 0], [1, 2, 3], [1, 1, 2], ["AP", "P(rel=1,empty=0)@1"]))
    assert text.splitlines() == [
        "EvaluationResult of 2 queries",
        "  AP                  0.5000  AP(rel=1,norm='all',empty='skip',ties='mean')"
        "  (without 1 query)",
        "  P(rel=1,empty=0)@1  0.0000  P(rel=1,empty=0,ties='mean',short='pad')@1",
    ]


@pytest.mark.parametrize(
    ("y", "f", "qid", "spec", "words"),
    [
        ([1, 0], [1.0], None, "AP", ["y and scores", "2 and 1"]),
        ([1, 0], [1.0, 2.0], [1], "AP", ["qid", "n_samples=2", "got 1"]),
        ([1, 0], [1.0, np.nan], None, "AP", ["scores must be finite", "nan at row 1"]),
        ([1, 0], [-np.inf, 0.0], None, "AP", ["scores must be finite", "-inf at row 0"]),
        ([1, np.nan], [1.0, 2.0], None, "AP", ["y must be finite", "row 1", "unjudged"]),
        ([1, -1], [1.0, 2.0], None, "nDCG@10", ["y must be >= 0", "nDCG(", "got -1"]),
        ([1, -2], [1.0, 2.0], None, "DCG(gain='linear')", ["y must be >= 0"]),
        ([1, -2], [1.0, 2.0], None, "ERR", ["y must be >= 0"]),
        ([1, 2000], [1.0, 2.0], None, "nDCG@10", ["y must be <= 1000", "gain='linear'"]),
        ([1, 5], [1.0, 2.0], None, "ERR@10", ["max_grade=4", "got 5"]),
        ([1, 3], [1.0, 2.0], None, "nDCG(gain=(0,1,3))", ["from 0 to 2", "up to 3"]),
        ([1, 0.5], [1.5, 2.0], None, "nDCG(gain=(0,1,3))", ["integers from 0 to 2"]),
        ([[1, 2], [3, 4]], [1.0, 2.0], None, "AP", ["y must be one-dimensional", "(2, 2)"]),
        ([1, 2], [[1, 2], [3, 4]], None, "AP", ["scores must be one-dimensional"]),
        (["1", "2"], [1.0, 2.0], None, "AP", ["y must have an order", "classes=[...]"]),
        ([1, "b"], [1.0, 2.0], None, "AP", ["y must have an order", "'1', 'b'"]),
        ([b"1", b"2"], [1.0, 2.0], None, "AP", ["y must hold real numbers", "|S1"]),
        ([1, None], [1.0, 2.0], None, "AP", ["y must be finite"]),
        ([1 + 1j, 2], [1.0, 2.0], None, "AP", ["y must hold real numbers", "complex"]),
    ],
)
def test_errors_name_argument_rule_and_value(y, f, qid, spec, words):
    with pytest.raises(ValueError) as error:
        evaluate(y, f, qid, [spec])
    for word in words:
        assert word in str(error.value)


def test_bad_rows_are_found_in_any_block(rng):
    n = 100_000
    y, f, qid = rng.integers(0, 2, n).astype(float), rng.random(n), rng.integers(0, 500, n)
    f[77_777] = np.nan
    with pytest.raises(ValueError, match="nan at row 77777"):
        evaluate(y, f, qid)
    f[77_777], y[99_999] = 0.0, -1.0
    with pytest.raises(ValueError, match="got -1"):
        evaluate(y, f, qid)


def test_measure_checks_lengths():
    with pytest.raises(ValueError, match=r"scores must have shape \(3,\)"):
        parse("AP").mean(np.ones(3), np.ones(2), QueryGroups.single(3))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("kind", ["integers", "strings"])
def test_scorer_receives_the_qid_through_search_and_pipeline(rng, routing, kind):
    n = 240
    X = rng.standard_normal((n, 3))
    y = rng.integers(0, 3, n)
    qid = rng.permutation(np.repeat(np.arange(24), 10))
    qid = qid if kind == "integers" else np.char.add("q", qid.astype(str))
    scorer = make_scorer("nDCG@5", preset="letor3")
    model = make_pipeline(StandardScaler(), LinearRegression())
    folds = GroupKFold(3)
    got = cross_validate(
        model,
        X,
        y,
        scoring=scorer,
        cv=folds,
        params={"qid": qid, "groups": qid},
        error_score="raise",
    )["test_score"]
    for score, (train, test) in zip(got, folds.split(X, y, qid), strict=True):
        f = model.fit(X[train], y[train]).predict(X[test])
        assert score == evaluate(y[test], f, qid[test], ["nDCG@5"], preset="letor3")["nDCG@5"]
    search = GridSearchCV(
        model,
        {"linearregression__fit_intercept": [True]},
        scoring=scorer,
        cv=folds,
        error_score="raise",
    ).fit(X, y, qid=qid, groups=qid)
    assert search.best_score_ == pytest.approx(got.mean())
    assert (
        search.score(X, y, qid=qid)
        == evaluate(y, search.predict(X), qid, ["nDCG@5"], preset="letor3")["nDCG@5"]
    )


def test_scorer_turns_the_sign_where_smaller_is_better(rng):
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    model = LinearRegression().fit(X, y)
    value = evaluate(y, model.predict(X), None, ["Misranking"])["Misranking"]
    assert 0 < value < 0.5
    assert make_scorer("Misranking")(model, X, y) == -value


@pytest.mark.parametrize(
    ("shift", "measure", "name"),
    [
        (0, None, "nDCG@10"),
        (0, "nDCG@10", "nDCG@10"),
        (0, "AP", "AP"),
        (0, "Misranking", "1 - Misranking"),
        (0, "MSD", "-MSD"),
        (-5.0, None, "1 - Misranking"),
        (0.5, "nDCG@10", "1 - Misranking"),  # the default of most rankers
        (0.5, "ndcg@10", "1 - Misranking"),
        (0.5, "nDCG(gain='linear')@5", "nDCG(gain='linear')@5"),
        (-5.0, "nDCG(gain='linear')@5", "1 - Misranking"),  # has no value there
        (0.5, "AP(rel=1.5)", "AP(rel=1.5)"),
        (1e6, "nDCG@10", "1 - Misranking"),
    ],
)
def test_measure_of_score(rng, shift, measure, name):
    y, f, qid = ragged(rng)
    assert default_score_name(y + shift, measure) == name
    score = mean_score(name, y + shift, f, QueryGroups.from_qid(qid, len(qid)))
    assert score == evaluate(y + shift, f, qid, name)[name]
    assert str(parse(str(parse(name)))) == str(parse(name))


def test_a_turned_loss_is_larger_if_it_is_better(rng):
    y, f, qid = ragged(rng)
    losses = evaluate(y, f, qid, ["MAE", "Misranking"])
    turned = evaluate(y, f, qid, ["-MAE", "1 - Misranking", "1-mae"])
    assert turned["-MAE"] == -losses["MAE"]
    assert turned["1 - Misranking"] == 1 - losses["Misranking"]
    assert turned["1-mae"] == 1 - losses["MAE"]
    assert turned.measures["1 - Misranking"].bounds == (0, 1)
    assert turned.measures["-MAE"].reads_labels
    for spec in ("-nDCG@10", "1 - AP", "-Unjudged@5"):
        with pytest.raises(ValueError, match="must negate a loss"):
            parse(spec)


@pytest.mark.parametrize("y", [[0.0, 0.0, 0.0], [3.0, 3.0, 1.0]])
def test_the_score_of_rows_without_information_is_nan(y):
    name = "nDCG@10" if not any(y) else "1 - Misranking"
    groups = QueryGroups.from_qid([1, 1, 2], 3)
    for weight in (None, np.ones(3)):
        with pytest.warns(
            UndefinedMeasureWarning, match=f"score is NaN: no query counts for {name}"
        ):
            assert np.isnan(
                mean_score(name, np.array(y), np.array([3.0, 1.0, 2.0]), groups, weight)
            )


def test_weights_repeat_rows_and_zero_drops_them(rng):
    y, f, qid = ragged(rng, shuffle=False)
    groups = QueryGroups.from_qid(qid, len(qid))
    kept = rng.random(len(y)) < 0.7
    rest = QueryGroups.from_qid(qid[kept], int(kept.sum()))
    for name in ("nDCG@10", "1 - Misranking", "-MAE"):
        dropped = mean_score(name, y, f, groups, kept.astype(float))
        assert dropped == pytest.approx(mean_score(name, y[kept], f[kept], rest), rel=1e-14)
    query_weight = rng.integers(1, 4, groups.n_queries).astype(float)
    values = parse("nDCG@10").per_query(y, f, groups)
    counted = ~np.isnan(values)
    wanted = np.average(values[counted], weights=query_weight[counted])
    weighted = mean_score("nDCG@10", y, f, groups, query_weight[groups.codes()])
    assert weighted == pytest.approx(wanted, rel=1e-14)
    weight = rng.integers(0, 4, len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    one = mean_score("-MAE", y, f, QueryGroups.single(len(y)), weight)
    repeated = mean_score("-MAE", y[copies], f[copies], QueryGroups.single(len(copies)))
    assert one == pytest.approx(repeated, rel=1e-14)


# Class names ------------------------------------------------------------------------------------

GRADES = ["poor", "fair", "good"]  # sorted: fair, good, poor
WORDS, PREDICTED = ["poor", "good", "fair", "good"], ["fair", "good", "poor", "good"]
OF_CLASSES = ["MAE", "ZeroOne", "Kappa"]


def ordered(words, order=GRADES):
    return pd.Series(pd.Categorical(words, order, ordered=True))


@pytest.mark.parametrize(
    ("y", "predicted", "classes"),
    [
        (WORDS, PREDICTED, GRADES),
        (np.array(WORDS, dtype=object), np.array(PREDICTED), GRADES),
        (ordered(WORDS), PREDICTED, None),
        (WORDS, ordered(PREDICTED), None),
        (pl.Series(WORDS, dtype=pl.Enum(GRADES)), ordered(PREDICTED), None),
        (ordered(WORDS), ordered(PREDICTED), GRADES),
    ],
)
def test_class_names_count_by_their_position(y, predicted, classes):
    result = evaluate(y, predicted, [1, 1, 2, 2], OF_CLASSES, classes=classes)
    assert result == evaluate([0, 2, 1, 2], [1, 2, 0, 2], [1, 1, 2, 2], OF_CLASSES)


def test_scores_of_named_grades():
    scores = [0.1, 0.4, 0.3, 0.2]
    expected = evaluate([0, 2, 1, 2], scores, None, SPECS)
    assert evaluate(WORDS, scores, None, SPECS, classes=GRADES) == expected
    assert evaluate(ordered(WORDS), scores, None, SPECS) == expected


def test_numbers_are_positions_where_classes_are_given():
    assert evaluate([1, 10, 5], [10, 10, 1], None, "MAE")["MAE"] == pytest.approx(13 / 3)
    assert evaluate([1, 10, 5], [10, 10, 1], None, "MAE", classes=[1, 5, 10])["MAE"] == 1.0


NO_ORDER = r"must have an order, .*classes=\[\.\.\.\].* categorical"


@pytest.mark.parametrize(
    ("y", "scores", "measures", "classes", "message"),
    [
        (
            WORDS,
            PREDICTED,
            "MAE",
            None,
            r"scores must have an order, .*classes=\[\.\.\.\].* categorical",
        ),
        (
            WORDS,
            [1, 2, 3, 4],
            "AP",
            None,
            r"y must have an order, .*classes=\[\.\.\.\].* categorical",
        ),
        ([0, 1, 2, 2], PREDICTED, "MAE", None, "scores must have an order, got text"),
        (
            WORDS,
            PREDICTED,
            ["MAE", "AP"],
            GRADES,
            "'AP' ranks by scores, got class names",
        ),
        (
            WORDS,
            ["bad"] * 4,
            "MAE",
            GRADES,
            "scores must hold the given classes, got 'bad'",
        ),
        (["bad"] * 4, WORDS, "MAE", GRADES, "y must hold the given classes, got 'bad' at row 0"),
        (WORDS, [0, 1, 2, 2], "MAE", GRADES, "scores must hold the given classes, got 0 at row 0"),
        (ordered(WORDS), ordered(PREDICTED, GRADES[::-1]), "MAE", None, "categorical scores"),
    ],
)
def test_class_names_without_an_order_or_a_reader(y, scores, measures, classes, message):
    with pytest.raises(ValueError, match=message):
        evaluate(y, scores, None, measures, classes=classes)


# Swapped arguments -------------------------------------------------------------------------------


def test_labels_and_scores_that_look_swapped_are_told_of():
    y, scores, qid = [0, 2, 2, 0], [0.1, 1.7, 0.3, 0.2], [0, 0, 1, 1]
    with pytest.warns(UserWarning, match="as if they were swapped"):
        evaluate(scores, y, qid, "AP")
    with pytest.warns(UserWarning, match="labels first"), pytest.raises(ValueError, match="nDCG"):
        evaluate([-0.5, *scores], [2, *y], [0, *qid])


@pytest.mark.parametrize(
    ("y", "scores"),
    [
        ([0, 2, 1, 0], [0.1, 1.7, 0.3, 0.2]),
        ([0, 2, 1, 0], [1, 0, 0, 3]),
        ([0.1, 1.7, 0.3, 0.2], [0.5, 1.0, 2.0, 3.0]),
        ([0.1, 1.7, 0.3, 0.2], [1, 1, 1, 1]),
    ],
)
def test_other_labels_and_scores_are_not(y, scores):
    evaluate(y, scores, [0, 0, 1, 1], "AP")


def test_measures_of_agreement_take_real_labels_and_any_scores():
    evaluate([0.1, 1.7, 0.3, 0.2], [0, 2, 1, 0], [0, 0, 1, 1], "KendallTau")


def test_the_text_says_why_no_query_counts():
    text = str(evaluate([0.4, 0.8], [1, 2], 0, ["AP", "AP(rel=0.5)"]))
    assert (
        "(no query counts, since no label is at least rel=1: set AP(rel=...))"
        in text.splitlines()[1]
    )
    assert "no label" not in text.splitlines()[2]


LABELS = {
    "fractional": [0.0, 0.5, 0.5, 0.2, 0.5, 0.0],
    "zero": [0.0] * 6,
    "negative": [-1.0, -2.0, -1.0, -3.0, -1.0, -2.0],
    "equal": [1.0] * 6,
    "equal within queries": [2.0, 2.0, 2.0, 1.0, 1.0, 1.0],
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", [*MEASURES, "P@2", "nDCG@2"])
def test_no_measure_is_nan_without_a_word(name, labels):
    words = {"judged": np.ones(6, dtype=bool)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = evaluate(
                LABELS[labels], [0.3, 0.2, 0.1, 0.15, 0.2, 0.3], [1, 1, 1, 2, 2, 2], name, **words
            )
        except ValueError as error:
            assert name.partition("@")[0] in str(error)
            return
    told = [w for w in caught if w.category is UndefinedMeasureWarning]
    assert not np.isnan(value[name]) or len(told) == 1
    has_rel = hasattr(value.measures[name], "rel")
    if has_rel and labels in ("fractional", "negative"):
        assert str(told[0].message).startswith(f"{name}: ")
        assert f"no label is at least rel=1 (the largest is {max(LABELS[labels]):g})" in str(
            told[0].message
        )
    if has_rel and labels == "fractional":
        assert f"set {value.measures[name].name}(rel=0.5)" in str(told[0].message)
        fixed = f"{value.measures[name].name}(rel=.5)"
        assert (
            evaluate(LABELS[labels], [0.3, 0.2, 0.1, 0.15, 0.2, 0.3], None, fixed, **words)[fixed]
            > 0
        )
    if labels in ("equal", "equal within queries") and has_rel:
        assert len(told) == 1 and "every order of the rows" in str(told[0].message)
