"""Linear formulas: read by their grammar alone, and written so that other systems compute them."""

from __future__ import annotations

import json
import math
import re
import shutil
import sqlite3
import subprocess

import pytest

from rankwise.decisions import format_weights, parse_weights
from rankwise.runtime.messages import ArgumentError

# Weights with names that each target must escape, and values of the signals.
WEIGHTS = {
    "similarity": 0.41234567,
    "days old": -0.2,
    'size "XL"': 0.00001,
    "it's": 12.0,
    "back\\slash": 0.3,
    "été": 1.5,
    "unused": 0.0,
}
SIGNALS = dict(zip(WEIGHTS, (0.9, 3.0, 250.0, 0.1, 0.7, 2.0, 5.0), strict=True))
SCORE = sum(weight * SIGNALS[name] for name, weight in WEIGHTS.items())


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("0.4*similarity + 0.3*recency", {"similarity": 0.4, "recency": 0.3}),
        ("  .5 * a-2*b ", {"a": 0.5, "b": -2.0}),
        ("-1e-3*a+2.*b_1.c", {"a": -0.001, "b_1.c": 2.0}),
        ('0.4*"days old" + 1*`a+b`', {"days old": 0.4, "a+b": 1.0}),
        ('1*"say ""hi""" + 0*`tick``s`', {'say "hi"': 1.0, "tick`s": 0.0}),
        ("1*été − 1*b", {"été": 1.0, "b": -1.0}),
    ],
)
def test_grammar(formula, expected):
    assert parse_weights(formula) == expected
    assert list(parse_weights(formula)) == list(expected)


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("0.4*a + b", "b without a weight. Write 1*b"),
        ("0.4*a + 0.3", "0.3 without a signal. Write number*name"),
        ("0.4 a", r"0.4 a. Write 0.4\*a"),
        ("0.4a", r"0.4 a. Write 0.4\*a"),
        ("a*0.4", "a without a weight"),
        ("0.4*a 0.3*b", "got '0.3*b'"),
        ("0.4*a*2", r"got '\*2'"),
        ("0.4*max(a, b)", "got '(a, b)'"),
        ("0.4*a + 0.1*a", "'a' twice. Add its weights up"),
        ("0.4*a ** 2", "got '"),
        ("__import__('os').getcwd()", "without a weight"),
        ("", "no weight other than 0"),
        ("0*a", "no weight other than 0"),
        ("1e999*a", "inf for 'a'"),
        ('0.4*"a', "0.4 without a signal"),
        ("0.4*days-old", 'old without a weight. Write "days-old", with quotes, if that is a name.'),
        ("1*b + 0.4*click-rate-7 ", 'rate without a weight. Write "click-rate-7", with quotes'),
        ("0.4*top-10", '10 without a signal. Write "top-10", with quotes'),
        ("0.4*a - b", "b without a weight. Write 1*b"),
        ("0,4*a", "0 without a signal. Write decimals with a point"),
        (None, "got None. Write number*name"),
    ],
)
def test_anything_else_is_an_error(formula, problem):
    escaped = problem if "\\" in problem else re.escape(problem)
    with pytest.raises(ArgumentError, match=escaped):
        parse_weights(formula)


def test_formula_and_json_read_back():
    used = {name: float(f"{weight:.6g}") for name, weight in WEIGHTS.items() if weight}
    assert parse_weights(format_weights(WEIGHTS)) == used
    assert json.loads(format_weights(WEIGHTS, "json")) == WEIGHTS
    assert format_weights({"a": -1.0, "b c": 0.5}) == '-1*a + 0.5*"b c"'


def test_sql_is_computed_by_sqlite():
    connection = sqlite3.connect(":memory:")
    columns = ", ".join('"{}" REAL'.format(name.replace('"', '""')) for name in WEIGHTS)
    connection.execute(f"CREATE TABLE rows ({columns})")
    connection.execute(
        f"INSERT INTO rows VALUES ({', '.join('?' * len(SIGNALS))})", list(SIGNALS.values())
    )
    (found,) = connection.execute(f"SELECT {format_weights(WEIGHTS, 'sql')} FROM rows").fetchone()
    assert found == pytest.approx(SCORE, rel=1e-5)


def test_javascript_is_computed():
    text = format_weights(WEIGHTS, "javascript")
    assert text.startswith("(signals) => 0.412346 * signals[")
    # Names are JSON texts, so that Python reads the body, too.
    body = text.removeprefix("(signals) => ")
    assert eval(body, {"signals": SIGNALS}) == pytest.approx(SCORE, rel=1e-5)
    if (node := shutil.which("node")) is not None:
        script = f"console.log(({text})({json.dumps(SIGNALS)}))"
        output = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True)
        assert float(output.stdout) == pytest.approx(SCORE, rel=1e-5)


def test_elasticsearch_sums_field_values():
    positive = {name: abs(weight) for name, weight in WEIGHTS.items()}
    query = json.loads(format_weights(positive, "elasticsearch"))["query"]["function_score"]
    assert (query["score_mode"], query["boost_mode"]) == ("sum", "replace")
    found = sum(
        part["weight"] * SIGNALS[part["field_value_factor"]["field"]] for part in query["functions"]
    )
    assert found == pytest.approx(sum(w * SIGNALS[name] for name, w in positive.items()), rel=1e-5)
    with pytest.raises(ArgumentError, match=r"negative weights, got -0\.2 for 'days old'"):
        format_weights(WEIGHTS, "elasticsearch")


def test_solr_sums_products():
    text = format_weights(WEIGHTS, "solr")
    functions = {
        "sum": lambda *parts: sum(parts),
        "product": lambda a, b: a * b,
        "field": lambda name: SIGNALS[name],
    }
    # Quoted names are escaped as in Python.
    assert eval(text, functions) == pytest.approx(SCORE, rel=1e-5)


def test_unknown_format():
    with pytest.raises(ArgumentError, match=r"form must be one of 'formula', .*'sql'"):
        format_weights({"a": 1.0}, "mysql")  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["formula", "json", "sql", "javascript", "elasticsearch", "solr"])
@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ({}, "no weight other than 0"),
        ({"a": 0.0}, "no weight other than 0"),
        ({"a": math.nan}, "nan for 'a'. Give every signal a finite weight"),
        ({"a": "x"}, "'x' for 'a'"),
        (None, "got None. Map the name of each signal to its weight"),
    ],
)
def test_weights_that_no_system_takes(weights, problem, form):
    with pytest.raises(ArgumentError, match=f"^weights must be weights of signals, .*{problem}"):
        format_weights(weights, form)
