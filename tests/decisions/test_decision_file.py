"""Rules as files and as code: the same decisions again, and clear errors for hostile files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankwise.decisions import AnswerRule, CutRule, load_decision
from tests.decisions.test_answer_rule import draw_lists


def fit(**settings):
    return AnswerRule(at_most=0.3, **settings).fit(*draw_lists(200))


RULES = {
    "model": fit(),
    "top": fit(policy="top_score", depth=3),
    "never": AnswerRule(at_most=0.01).fit(*draw_lists(30)),
}
CASES = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


@CASES
def test_a_rule_comes_back_as_it_was(rule, tmp_path):
    rule.to_json(tmp_path / "rule.json")
    again = load_decision(tmp_path / "rule.json")
    assert np.isinf(rule.threshold_) == (rule is RULES["never"])
    assert str(again) == str(rule) and again.to_json() == rule.to_json()
    scores, _, qid = draw_lists(300, seed=5)
    found, wanted = again.decide(scores, qid), rule.decide(scores, qid)
    np.testing.assert_array_equal(found.answer, wanted.answer)
    np.testing.assert_array_equal(found.n_shown, wanted.n_shown)
    assert again.threshold_ == rule.threshold_ and again.policy_ == rule.policy_


@CASES
def test_plain_python_decides_alike(rule):
    names: dict = {}
    source = rule.to_python()
    assert "import" not in source and len(source.splitlines()) <= 16
    exec(source, names)
    scores, _, qid = draw_lists(300, seed=6)
    found = [names["answer"](row.tolist()) for row in scores.reshape(300, -1)]
    np.testing.assert_array_equal(found, rule.decide(scores, qid).answer)
    assert names["answer"]([]) is False
    for wrong in (float("nan"), float("inf"), -1e200) if rule is not RULES["never"] else ():
        with pytest.raises(ValueError, match="scores must be finite"):
            names["answer"]([1.0, wrong])


def test_code_that_decides_otherwise_is_an_error(monkeypatch):
    source = RULES["model"].to_python().replace(">=", "<")
    monkeypatch.setattr(AnswerRule, "_source", lambda self: source)
    with pytest.raises(RuntimeError, match="the code gives"):
        RULES["model"].to_python()


@pytest.mark.parametrize(
    ("rule", "scale", "columns"),
    [
        (AnswerRule(at_most=0.3), 1e-152, None),
        (CutRule("recall", 0.5, policy="probability"), 1e-152, None),
        (AnswerRule(at_most=0.3), 1.0, {"x" * 201: dict.fromkeys(range(200), 1.0)}),
    ],
)
def test_what_cannot_be_read_again_is_not_written(rule, scale, columns, tmp_path):
    scores, y, qid = draw_lists(200)
    more = {} if columns is None else {"query_columns": columns}
    with pytest.raises(ValueError, match="the rule cannot be stored: coefficients must be"):
        rule.fit(scores * scale, y, qid, **more).to_json(tmp_path / "rule.json")
    assert not (tmp_path / "rule.json").exists()


def change(**fields):
    return lambda record: record | fields


def change_report(**fields):
    return lambda record: record | {"report": record["report"] | fields}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda record: [1], 'lacks "format"'),
        (change(format="rankwise-model"), 'lacks "format"'),
        (change(version=2), "version 2 of the format, but this rankwise reads version 1"),
        (change(version=True), "version True"),
        (change(version=1.0), r"version 1\.0"),
        (change(kind="burn"), "kind must be one of answer, cut"),
        (change(kind=["cut"]), "kind must be one of"),
        (change(thresold=1), "thresold is not a field"),
        (lambda record: {k: v for k, v in record.items() if k != "rel"}, "rel is missing"),
        (change(rel="1"), "rel must be a number"),
        (change(rel=True), "rel must be a number"),
        (change(depth=0), "depth must be a whole number"),
        (change(depth=1.5), "depth must be a whole number"),
        (change(intercept=float("nan")), "intercept must be a number"),
        (change(intercept=float("inf")), "intercept must be a number"),
        (change(intercept=10**400), "intercept must be a number"),
        (change(coefficients={"top": 1e300}), "coefficients must be a number"),
        (change(coefficients={"idf": 1.0}), "coefficients must begin with top"),
        (change(coefficients=[1.0]), "coefficients must be an object of numbers"),
        (change(report=None), "must be an object"),
        (change_report(policy="top_score"), 'top_score needs the coefficients {"top": 1'),
        (change_report(at_most=0), "at_most must lie between 0 and 1"),
        (change_report(at_most=7), r"report\.at_most must be a number from 0 to 1"),
        (change_report(promise="all"), r"report\.promise must be one of"),
        (change_report(n_wrong=-1), r"report\.n_wrong must be a whole number"),
        (change_report(notes=["x" * 300]), r"report\.notes must be a short text"),
        (change_report(extra=1), r"report\.extra is not a field"),
    ],
)
def test_damaged_files(damage, message, tmp_path):
    path = tmp_path / "rule.json"
    path.write_text(json.dumps(damage(json.loads(RULES["model"].to_json()))))
    with pytest.raises(ValueError, match=message) as error:
        load_decision(path)
    assert "rule.json" in str(error.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"{", b"[" * 100_000, b'{"a": 1, "a": 2}', b" " * 1_000_001, b"9" * 10_000],
)
def test_files_that_are_no_rules(content, tmp_path):
    path = tmp_path / "rule.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"rule\.json is not a decision rule"):
        load_decision(path)


def test_numbers_that_overflow_in_json(tmp_path):
    path = tmp_path / "rule.json"
    text = RULES["model"].to_json().replace('"rel": 1.0', '"rel": 1e999')
    path.write_text(text)
    with pytest.raises(ValueError, match="rel must be a number"):
        load_decision(path)
