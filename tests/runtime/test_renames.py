"""Old names and words: errors that give the new ones, and results and files that keep loading."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import typer

from rankwise import ELMRank, LambdaRank, MPRank, RankSVM, StackingRanker
from rankwise.cli.main import app
from rankwise.clicks import ClickLog, off_policy
from rankwise.features import QueryScaler
from rankwise.fusion import (
    LearnedFusion,
    ProbabilisticFusion,
    fuse,
    fusion_table,
    normalize,
    pool_runs,
)
from rankwise.metrics.significance import compare_to_best, paired_test
from rankwise.preferences import Comparisons, PairwisePreferences
from rankwise.rankers import FRank
from rankwise.runtime.renames import PARAMETERS, SPELLINGS, VALUES, find_new_name
from rankwise.selection import Leaderboard, Settings, compare, next_judgements
from rankwise.text import TextIndex, read_judgements
from tests.cli.conftest import rankwise  # noqa: F401

RUNS = {"a": {"q": {"x": 2.0, "y": 1.5, "z": 1.0}}, "b": {"q": {"x": 5.0, "z": 1.0}}}
QRELS = read_judgements({"q": {"x": 1, "z": 0}})
X, Y, QID = np.arange(12.0).reshape(6, 2) % 5, [0, 1, 2, 0, 1, 2], [1, 1, 1, 2, 2, 2]


def search(model):
    return TextIndex().add({"d": "green tea"}).search({"q": "tea"}, model=model)


def prefer(ties):
    return PairwisePreferences(ties).fit(Comparisons.from_pairs([["a", "b"]] * 2, [1, 0]))


def off(method):
    log = ClickLog(["q"], ["x"], [1], [1])
    return off_policy(log, {"q": {"x": 1.0}}, "CTR", method)


OLD_WORDS = {
    "benjamini-hochberg": lambda word: compare_to_best({"a": [1.0]}, correction=word),
    "bm25-atire": search,
    "bm25-lucene": search,
    "bm25-okapi": search,
    "bm25-robertson": search,
    "item-position": off,
    "jelinek-mercer": search,
    "max-t": lambda word: Settings(correction=word),
    "normalised": lambda word: FRank(query_weight=word).fit(X, Y, qid=QID),
    "randomisation": lambda word: paired_test([1.0], [2.0], word),
    "rao-kupper": prefer,
    "tf-idf": search,
}


@pytest.mark.parametrize("old", OLD_WORDS)
def test_an_old_option_word_gives_the_new_one(old):
    with pytest.raises(ValueError, match=f"'{old}' is now '{VALUES[old]}'"):
        OLD_WORDS[old](old)


SCALED = {
    "normalize": lambda word: normalize(pool_runs(RUNS), word),
    "fuse": lambda word: fuse(RUNS, "sum", scaling=word).scores,
    "fusion_table": lambda word: fusion_table(RUNS, features=[word]).X,
    "QueryScaler": lambda word: QueryScaler(word).fit_transform(X, qid=QID),
    "StackingRanker": lambda word: StackingRanker(
        ["linear_regression"], scaling=word, cv=2, random_state=0
    ).fit(X, Y, qid=QID).predict(X),
    "ProbabilisticFusion": lambda word: ProbabilisticFusion("seg", scaling=word)
    .fit(RUNS, QRELS).fuse(RUNS).scores,
    "LearnedFusion": lambda word: LearnedFusion(features=word)
    .fit(RUNS, QRELS).fuse(RUNS).scores,
}  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", SCALED)
def test_all_spellings_are_accepted(name, spelling):
    found = SCALED[name](spelling)
    np.testing.assert_array_equal(found, SCALED[name](SPELLINGS[spelling]))


def test_ranx_calls_the_rank_constant_k():
    np.testing.assert_array_equal(
        fuse(RUNS, "rrf", k=5).scores, fuse(RUNS, "rrf", rank_constant=5).scores
    )
    with pytest.raises(TypeError, match="no parameter 'k'"):
        fuse(RUNS, "rrf", k=5, rank_constant=5)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: next_judgements({}, {}, n=3), "n is now k"),
        (lambda: LambdaRank(cutoff=3), "cutoff is now k"),
        (lambda: LambdaRank().set_params(cutoff=3), "cutoff is now k"),
        (lambda: fuse(RUNS, normalization="sum"), "normalization is now scaling"),
        (lambda: QueryScaler(method="rank"), "method is now scaling"),
        (lambda: QueryScaler().method, "attribute 'method'. method is now scaling[.]"),
        (lambda: compare(["ridge"], None, metric="AP"), "metric is now measures[.]"),
        (lambda: MPRank().C, "C is now lam = 1/C[.]"),
        (lambda: ELMRank(4, random_state=0).fit(X, Y, qid=QID).C_, "C_ is now alpha_ = 1/C_[.]"),
        (lambda: MPRank().coef_, "'MPRank' object has no attribute 'coef_'$"),
        (lambda: RankSVM(kernel="rbf").fit(X, Y, qid=QID).coef_, "attribute 'coef_'"),
    ],
)
def test_an_old_parameter_gives_the_new_one(call, said):
    with pytest.raises((AttributeError, TypeError, ValueError), match=said):
        call()


def test_settings_of_an_old_board_load():
    state = {
        "format": 1, "measures": ["AP"], "rankers": {}, "folds": [], "cells": [],
        "settings": {"data": "made", "confidence": 0.9, "correction": "max-t"},
    }  # fmt: skip
    settings = Leaderboard.from_dict(state).settings
    assert (settings.confidence_level, settings.correction) == (0.9, "max_t")
    assert "confidence" not in asdict(settings)
    with pytest.raises(ValueError, match=r"correction must be one of 'auto', .* got None"):
        Settings(correction=None)


def commands():
    """All commands, with the options that each takes."""
    found, left = {}, {"": typer.main.get_command(app)}
    while left:
        name, command = left.popitem()
        if hasattr(command, "commands"):
            left |= {f"{name} {sub}".strip(): c for sub, c in command.commands.items()}
        else:
            options = [option for p in command.params for option in p.opts]
            found[name] = {option.lstrip("-").replace("-", "_"): option for option in options}
    return found


OLD_OPTIONS = [
    (name, old, options[new])
    for name, options in sorted(commands().items())
    for old in sorted(PARAMETERS)
    if old not in options and (new := find_new_name(old, options))
]


@pytest.mark.parametrize(("command", "old", "option"), OLD_OPTIONS)
def test_an_old_option_of_the_command_line_gives_the_new_one(rankwise, command, old, option):  # noqa: F811
    given = f"--{old.replace('_', '-')}"
    run = rankwise(*command.split(), given, "1")
    assert (run.code, run.err) == (2, f"error: {given} is now {option}.\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("board", "--correction", "max-t"),
        ("board", "--test", "randomisation"),
        ("prefer", "--ties", "rao-kupper"),
        ("search", ".", "tea", "--model", "tf-idf"),
    ],
)
def test_an_old_word_on_the_command_line_gives_the_new_one(rankwise, tmp_path, arguments):  # noqa: F811
    (tmp_path / "scores.csv").write_text("system,unit,score\na,x,1\nb,x,2\n")
    TextIndex().add({"d": "green tea"}).save(tmp_path / "index")
    command, *options = (str(tmp_path / "index") if a == "." else a for a in arguments)
    files = () if command == "search" else (tmp_path / "scores.csv",)
    run = rankwise(command, *files, *options)
    assert run.code == 2
    assert f"'{options[-1]}' is now '{VALUES[options[-1]]}'" in run.err


def test_every_old_option_word_has_a_call():
    assert VALUES.keys() - OLD_WORDS.keys() == {"grid"}  # of gamma: tests/rankers/kernel
