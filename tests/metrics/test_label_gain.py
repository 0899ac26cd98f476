"""``label_gain``, LightGBM's word for a table of gains, and gains that span too much."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from rankwise import LambdaMART, RankingData, compare, evaluate, load
from rankwise.metrics import WideGainsWarning, make_scorer, parse
from rankwise.metrics.measures.ndcg import DCG, NDCG, MeanNDCG
from rankwise.rankers import evaluate_stream
from rankwise.selection import evaluate_systems
from rankwise.streams import stream

GAINS = [0, 1, 3.5, 7]


def rows(high=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=300) + 1), 0, 3)
    return X, y / 3 * high, np.repeat(np.arange(15), 20)


@pytest.mark.parametrize("cls", [NDCG, DCG, MeanNDCG])
@pytest.mark.parametrize("label_gain", [GAINS, tuple(GAINS), np.array(GAINS)], ids=type)
def test_it_is_the_table_of_gains(cls, label_gain):
    made = cls(label_gain=label_gain)
    assert made == cls(gain=(0, 1, 3.5, 7)) == parse(f"{cls.name}(label_gain={GAINS})")
    assert parse(str(made)) == made == replace(made, ties="mean")
    assert str(made).startswith(f"{cls.name}(gain=(0,1,3.5,7),")
    X, y, qid = rows()
    assert (
        evaluate(y, X[:, 0], qid, made)[str(made)]
        == evaluate(y, X[:, 0], qid, str(made))[str(made)]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parse("nDCG(label_gain=[0,1],gain=linear)"), "gain and label_gain are the same"),
        (lambda: NDCG(label_gain=[0, 1], gain="linear"), "gain and label_gain are the same"),
        (lambda: parse("ERR(label_gain=[0,1])"), "has no parameter 'label_gain'"),
        (lambda: parse("AP(label_gain=[0,1])"), "has no parameter 'label_gain'"),
        (lambda: parse("nDCG(label_gain=[1,0])"), "non-decreasing"),
        *((partial(NDCG, label_gain=bad), "label_gain must list") for bad in ([], [[1]], "ab", 3)),
        (lambda: NDCG(label_gain=[0, np.nan]), "non-decreasing"),
    ],
)
def test_wrong_tables(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("objective", ["lambdarank", "yetirank", "xendcg"])
def test_lambdamart(objective, tmp_path):
    X, y, qid = rows()
    words = {"objective": objective, "random_state": 0}
    plain = LambdaMART(5, **words).fit(X, y, qid=qid)
    same = LambdaMART(5, label_gain=[0, 1, 3, 7], **words).fit(X, y, qid=qid)
    np.testing.assert_array_equal(same.predict(X), plain.predict(X))
    linear = LambdaMART(5, label_gain=np.arange(4), **words).fit(X, y, qid=qid)
    by_spec = LambdaMART(5, measure="nDCG(label_gain=[0,1,2,3])@10", **words).fit(X, y, qid=qid)
    np.testing.assert_array_equal(linear.predict(X), by_spec.predict(X))
    assert (linear.predict(X) != plain.predict(X)).any()
    assert linear.score_name_ == str(parse("nDCG(label_gain=[0,1,2,3])@10"))
    assert linear.score(X, y, qid=qid) == by_spec.score(X, y, qid=qid)
    linear.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").label_gain, np.arange(4))


def test_lambdamart_stops_by_these_gains():
    X, y, qid = rows()
    words = {"X_val": X[::-1], "y_val": y, "qid_val": qid}
    gains = [0, 0, 0, 100]
    both = LambdaMART(5, label_gain=gains).fit(X, y, qid=qid, **words)
    named = LambdaMART(5, label_gain=gains, validation_measure=f"DCG(label_gain={gains})@5").fit(
        X, y, qid=qid, **words
    )
    dcg = LambdaMART(5, label_gain=gains, validation_measure="DCG@5").fit(X, y, qid=qid, **words)
    np.testing.assert_array_equal(dcg.validation_scores_, named.validation_scores_)
    expected = evaluate(y, both.predict(X[::-1]), qid, both.score_name_)[both.score_name_]
    assert both.validation_scores_[-1] == pytest.approx(expected)


def test_lambdamart_refuses_gains_of_other_measures():
    X, y, qid = rows()
    with pytest.raises(ValueError, match="label_gain sets the gains of nDCG and DCG"):
        LambdaMART(measure="AP", label_gain=GAINS).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="whole grades from 0 to 1"):
        LambdaMART(label_gain=[0, 1]).fit(X, y, qid=qid)


# Gains 2^y - 1 -----------------------------------------------------------------------------------

NOTE = r"gains 2\^y - 1 are 1 to .*the highest grades decide alone: set label_gain"


@pytest.mark.parametrize("high", [18, 21])
def test_wide_gains_are_noted(high):
    """Six orders of magnitude lie between the gains of grades 1 and 20."""
    X, y, qid = rows()
    y = np.where(y == 3, high, y)
    data = RankingData(X, y, qid=qid)
    fitted = LambdaMART(1, measure="AP").fit(X, y, qid=qid)
    calls = {
        "evaluate": lambda m: evaluate(y, X[:, 0], qid, m),
        "stream": lambda m: evaluate_stream(fitted, stream([(X, y, qid)]), m),
        "scorer": lambda m: make_scorer(m)(fitted, X, y, qid=qid),
        "LambdaMART": lambda m: LambdaMART(1, measure=m).fit(X, y, qid=qid),
    }
    boards = {
        "compare": lambda m: compare(["ridge"], data, measures=m, cv=3, isolate=False),
        "systems": lambda m: evaluate_systems(data, {"a": X[:, 0]}, measures=m),
    }
    fine = [f"nDCG(label_gain={list(range(high + 1))})@5", "nDCG(gain=linear)@5", "AP"]
    for call in calls.values():
        for measure in [*fine, *(["nDCG@5"] if high < 20 else [])]:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                call(measure)
        if high > 20:
            with pytest.warns(WideGainsWarning, match=NOTE) as caught:
                call("nDCG@5")
            assert len(caught) == 1
    for call in boards.values():
        assert ("highest grades" in str(call(["nDCG@5", *fine]))) == (high > 20)
        assert "highest grades" not in str(call(fine))
