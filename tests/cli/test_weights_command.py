"""``rankwise weights``: a table of signals in, a verdict and a formula out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from rankwise.decisions import compare_weights

FORMULA = '0.6*similarity + 0.2*"days old" + 0.2*importance'


@pytest.fixture(scope="module")
def signals(tmp_path_factory):
    """A file of 40 sessions whose users want recent documents; times need float64."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    wanted = (X @ [0.2, 0.8, 0.0] + 0.1 * rng.normal(size=400)).reshape(40, 10)
    frame = pd.DataFrame(X, columns=["similarity", "days old", "importance"])
    frame["days old"] += 2**25  # float32 would round to whole days
    frame["session"] = np.arange(400) // 10
    frame["used"] = (wanted > np.quantile(wanted, 0.7, axis=1, keepdims=True)).ravel().astype(int)
    frame["shown"] = np.tile(np.arange(1, 11), 40)
    path = tmp_path_factory.mktemp("weights") / "signals.csv"
    frame.to_csv(path, index=False)
    return path


def columns(*more):
    return ("--label", "used", "--qid", "session", *more)


def test_verdict_and_formula(rankwise, signals):
    run = rankwise("weights", signals, "--current", FORMULA, *columns("--json"))
    assert run.code == 0, run.err
    expected = compare_weights(str(signals), FORMULA, label="used", qid="session")
    assert run.json["notes"][0].endswith("--position NAME")
    assert run.json | {"notes": expected.notes} == json.loads(expected.to_json())
    assert run.json["verdict"] == "take"

    run = rankwise("weights", signals, "--current", FORMULA, *columns("--fail-if", "keep"))
    assert run.code == 0
    assert run.out.startswith("take: nDCG@10 ")
    assert "--position NAME" in run.out
    assert run.out.splitlines()[-1] == expected.export()

    run = rankwise("weights", signals, "--current", FORMULA, *columns("--format", "sql"))
    assert run.out.strip() == expected.export("sql")
    assert "take: nDCG@10" in run.err


def test_kept_weights_exit_by_request_only(rankwise, signals):
    mine = '0.2*similarity + 0.8*"days old"'
    run = rankwise("weights", signals, "--current", mine, *columns("--any-sign"))
    assert (run.code, run.out.splitlines()[-1]) == (0, mine)
    assert run.out.startswith("keep yours: ")
    run = rankwise("weights", signals, "--current", mine, *columns("--fail-if", "keep"))
    assert run.code == 3


def test_positions(rankwise, signals):
    chances = ",".join(str(1 / k) for k in range(1, 11))
    options = columns("--position", "shown", "--propensities", chances, "--json")
    run = rankwise("weights", signals, "--current", FORMULA, *options)
    assert run.code == 0, run.err
    assert run.json["measure"] == "DCG(gain='linear')@10"
    assert not any("looks like feedback" in note for note in run.json["notes"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--current", "1*similarty"), "Did you mean 'similarity'"),
        (("--current", "similarity"), "--current must be weights of signals, got similarity with"),
        (("--current", FORMULA, "--format", "mysql"), "--format must be one of 'formula'"),
        (("--current", FORMULA, "--margin", "-1"), "--margin must be a number >= 0"),
        (("--current", FORMULA, "--propensities", "a"), "--propensities must be numbers"),
        (("--current", FORMULA, "--position", "rank"), "'rank' is not"),
    ],
)
def test_wrong_options(rankwise, signals, options, problem):
    run = rankwise("weights", signals, *columns(*options))
    assert run.code in (1, 2)
    assert problem in run.err


@pytest.mark.parametrize("options", [("--label", "used"), ()])
def test_queries_are_needed(rankwise, signals, options):
    run = rankwise("weights", signals, "--current", FORMULA, *options)
    assert run.code in (1, 2)
    assert "--qid NAME." in run.err and "--one-query" not in run.err


def test_bad_values_name_their_line(rankwise, signals, tmp_path):
    frame = pd.read_csv(signals)
    frame.loc[3, "importance"] = np.nan
    frame.to_csv(tmp_path / "holes.csv", index=False)
    run = rankwise("weights", tmp_path / "holes.csv", "--current", FORMULA, *columns())
    assert run.code == 1
    assert "holes.csv, line 5: Input X contains NaN, column 2 ('importance')" in run.err
