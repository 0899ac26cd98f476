"""Old names and words: errors that give the new ones, and results and files that keep loading."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict

import numpy as np
import pytest
import typer
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rankwise import (
    ELMRank,
    LambdaMART,
    LambdaRank,
    MPRank,
    OrdinalSVM,
    PolyOrdinalSVM,
    RankingForest,
    RankRLS,
    ReciprocalRankBlend,
    RidgeRanker,
    StackingRanker,
    WidrowHoff,
    evaluate,
    leaderboard,
)
from rankwise.cli.main import app
from rankwise.clicks import ClickLog, ClickRanker, off_policy
from rankwise.features import Nystroem, QueryScaler
from rankwise.fusion import (
    LearnedFusion,
    ProbabilisticFusion,
    fuse,
    fusion_table,
    normalize,
    pool_runs,
)
from rankwise.labels import CompressedSensing
from rankwise.metrics.measures.label_measures import PropensityPrecision
from rankwise.metrics.significance import compare_to_best, paired_test
from rankwise.preferences import Comparisons, PairwisePreferences
from rankwise.rankers import FRank, LightGBMRanker
from rankwise.runtime.renames import (
    ATTRIBUTES,
    PARAMETERS,
    RECIPROCALS,
    SPELLINGS,
    STORED,
    VALUES,
    find_new_name,
)
from rankwise.selection import Leaderboard, Settings, compare, next_judgements
from rankwise.streams import stream
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
        (lambda: compare(["ridge"], None, metric="AP"), "metric is now measures[.]"),
    ],
)
def test_an_old_parameter_gives_the_new_one(call, said):
    with pytest.raises((TypeError, ValueError), match=said):
        call()


BOARD = leaderboard({"a": [0.1, 0.2], "b": [0.3, 0.1]})
# Class -> an object that is not fitted, or a result.
OWNERS = {
    "Blend": ReciprocalRankBlend(),
    "ClickLog": ClickLog(["q"], ["x"], [1], [1]),
    "ClickRanker": ClickRanker(),
    "Comparisons": Comparisons.from_pairs([["a", "b"]], [1]),
    "CompressedSensing": CompressedSensing(),
    "ELMRank": ELMRank(),
    "FoldResult": BOARD.cells[0],
    "LambdaRank": LambdaRank(),
    "Leaderboard": BOARD,
    "LearnedFusion": LearnedFusion(),
    "MPRank": MPRank(),
    "Nystroem": Nystroem(),
    "PolyOrdinalSVM": PolyOrdinalSVM(),
    "ProbabilisticFusion": ProbabilisticFusion(),
    "PropensityPrecision": PropensityPrecision(normalized=False),
    "QueryScaler": QueryScaler(),
    "ReciprocalRankBlend": ReciprocalRankBlend(),
    "Result": evaluate([1, 0], [0.2, 0.1]),
    "RowStream": stream([(X, Y, QID)]),
    "Settings": Settings(),
    "TextIndex": TextIndex(),
    "ValidatedParameters": LambdaMART(),
    "WidrowHoff": WidrowHoff(),
}
OLD_ATTRIBUTES = [
    (name, old)
    for table in (ATTRIBUTES, STORED, RECIPROCALS)
    for name, renames in table.items()
    if name in OWNERS
    for old in renames
]


@pytest.mark.parametrize(("name", "old"), OLD_ATTRIBUTES)
def test_an_old_attribute_gives_the_new_one(name, old):
    assert not hasattr(OWNERS[name], old)
    with pytest.raises(AttributeError, match=rf"{old} is (now \w+|internal now)"):
        getattr(OWNERS[name], old)


def test_new_attributes_exist():
    renamed = [
        (name, new)
        for table in (ATTRIBUTES, STORED, RECIPROCALS)
        for name, renames in table.items()
        for new in renames.values()
        if name in OWNERS and new and new.isidentifier() and not new.endswith("_")
    ]
    assert [f"{name}.{new}" for name, new in renamed if not hasattr(OWNERS[name], new)] == []
    missing = (STORED.keys() | ATTRIBUTES.keys() | RECIPROCALS.keys()) - OWNERS.keys()
    assert missing == {"BoltzRank", "ListMLE", "ListNet", "Plan", "RankNet"}


@pytest.mark.parametrize(
    ("owner", "old", "said"),
    [
        (ELMRank(), "C_", "ELMRank: C_ is now alpha_ = 1/C_"),
        (MPRank(), "C_", "MPRank: C_ is now lam_ = 1/C_"),
        (MPRank(), "C", "MPRank: C is now lam = 1/C"),
        (LambdaRank(), "alpha", "LambdaRank: alpha is now lam"),
        (ClickRanker(), "ranker_", "ClickRanker: ranker_ is now estimator_"),
        (LightGBMRanker(), "networks", "LightGBMRanker: networks is internal now"),
        (RankingForest(), "score_trees", "RankingForest: score_trees is internal now"),
        # Never names of these classes.
        (RankingForest(), "estimator", "'RankingForest' object has no attribute 'estimator'"),
        (RidgeRanker(), "C_", "'RidgeRanker' object has no attribute 'C_'"),
        (PolyOrdinalSVM(), "scale_", "'PolyOrdinalSVM' object has no attribute 'scale_'"),
        (LambdaMART(), "text", "'LambdaMART' object has no attribute 'text'"),
        # Methods that some parameters switch off keep the reason.
        (OrdinalSVM(), "predict_proba", "This 'OrdinalSVM' has no attribute 'predict_proba'"),
    ],
)
def test_errors_for_attributes_are_exact(owner, old, said):
    with pytest.raises(AttributeError) as error:
        getattr(owner, old)
    assert said in str(error.value) and (error.value.name, error.value.obj) == (old, owner)


def test_switched_off_methods_say_why():
    with pytest.raises(AttributeError) as error:
        OrdinalSVM().predict_proba  # noqa: B018
    assert "needs probability=True" in str(error.value.__cause__)
    assert not hasattr(RankRLS(kernel="rbf"), "partial_fit") and hasattr(RankRLS(), "partial_fit")


@pytest.mark.parametrize("model", [RidgeRanker(), ELMRank(5, random_state=0), QueryScaler()])
def test_scikit_learn_and_copies_ignore_the_old_names(model):
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(model))
    fitted = clone(model).fit(X, Y, qid=QID)
    check_is_fitted(fitted)
    for twin in (copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert vars(twin).keys() == vars(fitted).keys()
    empty = type(model).__new__(type(model))  # as unpickling finds it
    assert not hasattr(empty, "alpha") and not hasattr(empty, "networks")


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
