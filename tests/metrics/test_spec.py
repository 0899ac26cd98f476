"""Spec strings: what they mean, that they print back, and what is said of wrong ones."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import RankingData, compare, evaluate
from rankwise.metrics import PRESETS, Measure, evaluate_labels, parse
from rankwise.metrics._table import ALIASES, MEASURES
from rankwise.metrics.spec import measure_class
from rankwise.selection import evaluate_systems

NUMBERS = st.floats(0.01, 0.99) | st.integers(1, 30)
EMPTY = st.sampled_from([0, 1, "skip", "nan"])
TABLES = st.lists(st.floats(0, 99) | st.integers(0, 99), min_size=1, max_size=6).map(
    lambda gains: tuple(sorted(gains))
)
CHOICES = {
    "gain": st.sampled_from(["exp2", "linear"]),
    "discount": st.sampled_from(["log2", "letor"]),
    "empty": EMPTY,
    "ties": st.sampled_from(["stable", "docid", "worst", "best"]),
    "short": st.sampled_from(["pad", "zero"]),
    "norm": st.sampled_from(["all", "cutoff"]),
    "rel": st.integers(-3, 9) | st.floats(-9, 9),
    "p": st.floats(0.01, 0.99),
    "max_grade": NUMBERS,
    "judged_only": st.booleans(),
    "cutoff": st.none() | st.integers(1, 10**6),
}
TOP = ["nDCG", "DCG", "MeanNDCG", "AP", "P", "R", "Rprec", "Success", "RR", "Bpref", "infAP",
       "Judged", "Unjudged", "ERR", "RBP", "RBPResidual"]  # fmt: skip


@st.composite
def measures(draw):
    cls = measure_class(draw(st.sampled_from(TOP)))
    params = {field.name: draw(CHOICES[field.name]) for field in fields(cls) if draw(st.booleans())}
    if cls.name in ("nDCG", "DCG", "MeanNDCG") and draw(st.booleans()):
        params["gain"] = draw(TABLES)
        params["ties"] = draw(st.sampled_from(["mean", "best"]))
    return cls(**params)


@given(measures())
def test_the_canonical_string_parses_back(measure):
    text = str(measure)
    assert parse(text) == measure
    assert str(parse(text)) == text
    assert " " not in text
    for preset in PRESETS:  # nothing is left open for a preset to fill
        assert parse(text, preset) == measure
    assert hash(parse(text)) == hash(measure)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_prints_every_parameter_and_parses_back(name):
    measure = parse(name)
    assert isinstance(measure, Measure)
    assert measure.name == name
    assert parse(str(measure)) == measure
    for field in fields(measure):
        is_printed = field.name != "cutoff" and not field.metadata.get("only_if_set")
        assert not is_printed or f"{field.name}=" in str(measure)
    assert type(parse(name.lower())) is type(parse(name.upper())) is type(measure)


def test_canonical_string_of_the_default():
    assert str(parse("nDCG@10")) == (
        "nDCG(gain='exp2',discount='log2',empty='skip',ties='mean',short='pad')@10"
    )
    assert str(parse("nDCG(gain=(0,1,2.5),empty=0)")) == (
        "nDCG(gain=(0,1,2.5),discount='log2',empty=0,ties='mean',short='pad')"
    )


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_name_a_measure(alias):
    assert parse(alias).name == ALIASES[alias]


@pytest.mark.parametrize(
    ("spec", "same"),
    [
        ("ndcg@10", "nDCG@10"),
        ("map", "AP"),
        ("MAP@5", "AP@5"),
        ("mrr", "RR"),
        ("  nDCG ( gain = 'linear' , empty = 0 ) @ 10 ", "nDCG(gain='linear',empty=0)@10"),
        ("nDCG(gain=linear,empty=skip)@3", "nDCG(gain='linear',empty='skip')@3"),
        ('nDCG(gain="exp2")', "nDCG"),
        ("nDCG(dcg='exp-log2')@10", "nDCG(gain='exp2')@10"),
        ("nDCG(dcg='log2')@10", "nDCG(gain='linear')@10"),
        ("nDCG(gain=[0,1,3])@2", "nDCG(gain=(0,1,3))@2"),
        ("ndcg@10-", "nDCG(empty=0)@10"),
        ("map-", "AP(empty=0)"),
        ("AP()", "AP"),
        ("P(rel=2,)@5", "P(rel=2)@5"),
        ("P(rel=-1)@5", "P(rel=-1)@5"),
    ],
)
def test_other_ways_to_write_it(spec, same):
    assert parse(spec) == parse(same)


def test_a_measure_is_taken_as_it_is():
    measure = parse("AP(rel=2)")
    assert parse(measure, "letor3") is measure


def test_what_is_written_wins_over_the_preset():
    assert parse("nDCG(empty='skip')@10", "letor3") == parse(
        "nDCG(discount='letor',empty='skip',ties='stable',short='zero')@10"
    )
    assert parse("ndcg@10-", "xgboost") == parse("nDCG(empty=0,ties='stable')@10")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nDGC@10", ["nDGC", "Did you mean 'nDCG'"]),
        ("zzz", ["unknown measure 'zzz'", "Known", "nDCG"]),
        ("", ["a measure must be Name(key=value,...)@k"]),
        ("nDCG@", ["must be Name(key=value"]),
        ("nDCG@-1", ["must be Name(key=value"]),
        ("nDCG@1.5", ["must be Name(key=value"]),
        ("nDCG@10 AP", ["must be Name(key=value"]),
        ("nDCG(gain='exp2'", ["must be Name(key=value"]),
        ("nDCG@0", ["cut-off", ">= 1", "0"]),
        ("nDCG('exp2')", ["cannot read the parameters", "key=value"]),
        ("nDCG(gain=exp2+1)", ["cannot read the parameters"]),
        ("nDCG(gain={1,2})", ["cannot read the parameters"]),
        ("nDCG(gain=f(1))", ["cannot read the parameters"]),
        ("nDCG(**{})", ["cannot read the parameters"]),
        ("nDCG(empty=0,empty=1)", ["cannot read the parameters", "repeated"]),
        ("nDCG(cutoff=3)", ["no parameter 'cutoff'"]),
        ("nDCG(rel=2)", ["no parameter 'rel'", "discount"]),
        ("nDCG(gain='cubic')", ["gain", "exp2", "'cubic'"]),
        ("nDCG(gain=(0,3,1))", ["non-decreasing"]),
        ("nDCG(gain=(-1,0))", ["non-decreasing numbers >= 0"]),
        ("nDCG(gain=())", ["gain"]),
        ("nDCG(gain=('a',))", ["gain"]),
        ("nDCG(gain=((1,2),(3,4)))", ["gain"]),
        ("nDCG(discount='log')", ["discount"]),
        ("nDCG(empty=2)", ["empty", "2"]),
        ("nDCG(empty=True)", ["empty", "True"]),
        ("nDCG(ties='random')", ["ties"]),
        ("nDCG(short='cut')", ["short"]),
        ("nDCG(ties='block')", ["ties", "'block'"]),
        ("AP(ties='block')@3", ["block", "@k"]),
        ("AP(norm='k')", ["norm"]),
        ("AP(rel='high')", ["rel", "'high'"]),
        ("ERR(ties='block')", ["ties"]),
        ("ERR(max_grade=-1)", ["max_grade"]),
        ("RBP(p=1)", ["p must", "between 0 and 1"]),
        ("MeanNDCG@3", ["takes no cut-off"]),
        ("Rprec@3", ["takes no cut-off"]),
    ],
)
def test_wrong_strings_say_what_is_wrong(spec, words):
    with pytest.raises(ValueError) as error:
        parse(spec)
    for word in words:
        assert word in str(error.value)


def test_wrong_presets_and_types():
    with pytest.raises(ValueError, match=r"unknown preset 'letor5'.*letor4"):
        parse("AP", "letor5")
    with pytest.raises(TypeError, match=r"a Measure or a function f\(y, scores\), got 3"):
        parse(3)


@pytest.mark.parametrize("measures", [10, None, 0.5])
def test_what_is_no_list_of_measures(measures):
    rows = ([1, 0], [2, 1])
    for call in (
        lambda: evaluate(*rows, None, measures),
        lambda: evaluate({"q": {"a": 1}}, {"q": {"a": 0.5}}, measures=measures),
        lambda: evaluate_labels([[1, 0]], [[2, 1]], measures),
        lambda: evaluate_systems({"q": {"a": 1}}, {"a": {"q": {"a": 1.0}}}, measures=measures),
        lambda: compare(["ridge"], RankingData(np.eye(2), rows[0], qid=rows[1]), measures=measures),
    ):
        with pytest.raises(TypeError, match=f"measures must be a measure or a list .* {measures}"):
            call()


def test_presets_name_known_measures_and_values():
    for preset, table in PRESETS.items():
        assert set(table) == {*TOP, *({"Kappa"} if preset == "sklearn" else ())}
        for name, params in table.items():
            assert parse(name, preset) == measure_class(name)(**params)


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("recip_rank", "RR"),
        ("P_10", "P@10"),
        ("P.10", "P@10"),
        ("recall_100", "R@100"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("map", "AP"),
        ("map_cut_10", "AP@10"),
        ("Rprec", "Rprec"),
        ("success_1", "Success@1"),
        ("bpref", "Bpref"),
        ("infAP", "infAP"),
        ("infap", "infAP"),
        ("set_P", "P"),
        ("set_recall", "R"),
        (" RECIP_RANK ", "RR"),
    ],
)
def test_names_of_trec_eval(name, spec):
    assert parse(name, "trec_eval") == parse(spec, "trec_eval")


@pytest.mark.parametrize("name", ["recip_rank", "P_10", "recall_100", "ndcg_cut_10", "set_P"])
def test_names_of_trec_eval_need_its_preset(name):
    for preset in (None, "letor3"):
        with pytest.raises(ValueError, match=f"unknown measure '{name}'. It is trec_eval's name"):
            parse(name, preset)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("num_rel_ret", "'num_rel_ret' of trec_eval is not computed; 'set_P' and 'set_recall'"),
        ("num_q", "not computed; the number of queries stands beside every mean"),
        ("gm_map", "not computed; 'map' has the values"),
        ("iprec_at_recall_0.10", "not computed; 'map' and 'P_10' are near"),
        ("11pt_avg", "not computed; 'map' is near"),
        ("ndcg_cut", "needs a cut-off, as in 'ndcg_cut_10'"),
        ("ndcg_10", "Write 'ndcg_cut_10'"),
        ("map_5", "Write 'map_cut_5'"),
        ("recip_rnk", "Did you mean 'recip_rank'"),
        ("P_0", "the cut-off must be an integer >= 1"),
    ],
)
def test_names_of_trec_eval_that_are_not_computed_name_the_nearest(name, message):
    with pytest.raises(ValueError, match=message):
        parse(name, "trec_eval")


def test_every_name_of_trec_eval_is_computed_or_refused_by_name():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    for name in pytrec_eval.supported_measures:
        for text in (name, f"{name}_5"):
            try:
                parse(text, "trec_eval")
            except ValueError as error:
                if text == name:
                    assert "is not computed" in str(error) or "needs a cut-off" in str(error)
