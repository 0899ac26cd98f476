"""``random_state``: one default for each kind of callable; int, RandomState and Generator."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from benchmarks._public_names import public
from scipy.special import expit

from rankwise import (
    LinearRegressionRanker,
    QueryGroups,
    RankingData,
    RidgeRanker,
    compare,
    leaderboard,
)
from rankwise._registry import REGISTRY
from rankwise.clicks import interleave, interleaving_test, simulate_clicks
from rankwise.datasets import (
    make_ordinal_square,
    ratings_from_triplets,
    ratings_task,
    summarize_rows,
)
from rankwise.decisions import AnswerRule, CutRule, compare_weights, label_budget
from rankwise.explain import (
    explain_pair,
    explain_ranking,
    explain_scores,
    feature_effect,
    permutation_importances,
)
from rankwise.export import to_python, verify
from rankwise.fusion import LearnedFusion, learning_curve
from rankwise.labels import random_costs
from rankwise.metrics import parse, relevance_calibration
from rankwise.metrics import significance as tests
from rankwise.preferences import Comparisons, PairwisePreferences, rank_simultaneously
from rankwise.runtime.constraints import check_random_state, draw_seed, make_generator
from rankwise.selection import (
    DocumentKFold,
    QueryKFold,
    Settings,
    evaluate_systems,
    find_drift,
    letor_folds,
    query_folds,
    tune,
)
from rankwise.text import TextIndex, TextRanker, read_judgements
from tests.clicks.test_interleaving import experiment
from tests.common.estimators import load_class, small

# Without a seed the first two keep the order; a fixed coin of ``interleave`` favours a system.
NONE = {"QueryGroups.split", "JudgedFusion.fuse_held_out", "interleave"}
SEEDS = {
    "int": lambda: 7,
    "NumPy int": lambda: np.int64(7),
    "RandomState": lambda: np.random.RandomState(7),
    "Generator": lambda: np.random.default_rng(7),
}


def seeded():
    """Public callables of rankwise with a ``random_state``, by qualified name."""
    found = {}
    for _, item in public():
        call = getattr(item, "__func__", item)
        try:
            parameters = inspect.signature(call).parameters
        except (TypeError, ValueError):
            continue
        if "random_state" in parameters and not call.__module__.startswith("rankwise_papers"):
            found[call.__qualname__] = call
    return dict(sorted(found.items()))


SEEDED = seeded()
# The report of a rule must be repeatable, as the result of a function: the default is 0.
RULES = {"AnswerRule", "CutRule"}
ESTIMATORS = {name for name, call in SEEDED.items() if hasattr(call, "fit")} - RULES


@pytest.mark.parametrize("name", SEEDED)
def test_estimators_draw_anew_and_functions_can_be_repeated(name):
    default = inspect.signature(SEEDED[name]).parameters["random_state"].default
    assert default == (None if name in ESTIMATORS | NONE else 0)


RNG = np.random.default_rng(0)
X, QID, Y = RNG.normal(size=(24, 2)), np.repeat(np.arange(6), 4), np.tile([0, 1, 2, 0], 6)
DATA = RankingData(X, Y, qid=QID)
COLUMNS = {"a": RNG.random(9), "b": RNG.random(9)}
QUERIES = [f"q{q}" for q in range(4)]
RUNS = {
    name: {query: {f"d{d}": score for d, score in enumerate(RNG.random(4))} for query in QUERIES}
    for name in "ab"
}
QRELS = read_judgements({query: {"d0": 1, "d1": 0} for query in QUERIES})
RANKER = LinearRegressionRanker().fit(X, Y, qid=QID)
GAMES = Comparisons.from_pairs([["a", "b"], ["b", "c"], ["c", "a"]] * 4, [1, 0, 1, 1] * 3)
GAMES = PairwisePreferences().fit(GAMES)
LOG = experiment(RNG, 40)
RATINGS = ratings_from_triplets(
    np.repeat(np.arange(12), 8), np.arange(96) % 11, 1 + np.arange(96) % 5, scale=(1, 5)
)


def cross_rank(seed):
    index = TextIndex().add({f"d{i}": text for i, text in enumerate(["tea", "green tea", "ale"])})
    queries = dict.fromkeys(QUERIES, "green tea")
    ranker = TextRanker(index, RidgeRanker(), unjudged="sample", random_state=seed)
    return ranker.cross_rank(queries, QRELS, cv=2, random_state=0).scores


def fit_rule(kind):
    y = (np.arange(600) % 5 == 0) & (np.arange(600) % 50 < 40)
    scores, qid = y + np.random.default_rng(0).normal(size=600), np.arange(600) // 5
    return lambda seed: kind(random_state=seed).fit(scores, y, qid).to_json()


def check(seed, folder):
    to_python(RANKER, folder / "model.py")
    return verify(RANKER, folder / "model.py", X, random_state=seed)


LARGE = np.random.default_rng(1).normal(size=(200, 2))
SIGNALS = RankingData(
    LARGE, (LARGE[:, 0] > 0) + 0.0, qid=np.arange(200) // 5, feature_names=["a", "b"]
)
CALLS = {
    "AnswerRule": fit_rule(AnswerRule),
    "CutRule": fit_rule(CutRule),
    "compare_weights": lambda s: compare_weights(
        SIGNALS, "1*a + 1*b", n_resamples=9, random_state=s
    ).to_json(),
    "DocumentKFold": lambda s: [
        *DocumentKFold([f"d{i}" for i in range(24)], 2, shuffle=True, random_state=s).split(
            X, Y, qid=QID
        )
    ],
    "relevance_calibration": lambda s: relevance_calibration(
        LARGE[:, 0] > 0, expit(LARGE[:, 1]), qid=np.arange(200) // 5, random_state=s
    ).to_json(),
    "label_budget": lambda s: label_budget(
        LARGE[:, 1], LARGE[:, 0] + LARGE[:, 1], SIGNALS, sizes=[5], random_state=s
    ).to_json(),
    "StrengthModel.leaderboard": lambda s: GAMES.leaderboard(random_state=s),
    "StrengthModel.rank_intervals": lambda s: GAMES.rank_intervals(random_state=s),
    "rank_simultaneously": lambda s: rank_simultaneously(np.arange(3.0), np.eye(3), random_state=s),
    "QueryGroups.split": lambda s: QueryGroups.from_qid(QID, 24).split(2, random_state=s),
    "QueryKFold": lambda s: [*QueryKFold(2, shuffle=True, random_state=s).split(X, qid=QID)],
    "letor_folds": lambda s: letor_folds(DATA, 3, shuffle=True, random_state=s)[0].test.qid,
    "query_folds": lambda s: query_folds(DATA, 2, random_state=s)[0].test.qid,
    "compare": lambda s: compare(
        ["linear_regression"], DATA, cv=2, measures=["AP"], random_state=s
    ).settings.random_state,
    "tune": lambda s: tune(RidgeRanker(), DATA, None, parse("AP"), random_state=s).estimator,
    "leaderboard": lambda s: leaderboard(COLUMNS, random_state=s).rows(),
    "evaluate_systems": lambda s: evaluate_systems(QRELS, RUNS, random_state=s).rows(),
    "Settings": lambda s: Settings(random_state=s).random_state,
    "explain_scores": lambda s: explain_scores(RANKER, X, X, random_state=s).values,
    "explain_pair": lambda s: explain_pair(RANKER, X[0], X[1], random_state=s).values,
    "explain_ranking": lambda s: explain_ranking(RANKER, X, QID, random_state=s).values,
    "feature_effect": lambda s: feature_effect(
        RANKER, X, QID, 0, max_queries=3, random_state=s
    ).values,
    "permutation_importances": lambda s: permutation_importances(
        RANKER, X, Y, QID, random_state=s
    ).repeats,
    "JudgedFusion.fuse_held_out": lambda s: LearnedFusion().fuse_held_out(
        RUNS, QRELS, folds=2, random_state=s
    ).scores,
    "learning_curve": lambda s: learning_curve(
        LearnedFusion(), RUNS, QRELS, n_judged=[2], n_draws=2, random_state=s
    ).learned,
    "random_costs": lambda s: random_costs(Y, random_state=s),
    "make_ordinal_square": lambda s: make_ordinal_square(9, random_state=s),
    "summarize_rows": lambda s: summarize_rows(X, QID, random_state=s),
    "find_drift": lambda s: find_drift(summarize_rows(X, QID), X, QID, random_state=s),
    "ratings_task": lambda s: ratings_task(RATINGS, random_state=s).test.X,
    "interleave": lambda s: interleave(*RUNS.values(), random_state=s),
    "interleaving_test": lambda s: interleaving_test(LOG, n_resamples=99, random_state=s),
    "simulate_clicks": lambda s: simulate_clicks(DATA, X[:, 1], n_sessions=9, random_state=s),
    "TextRanker.cross_rank": cross_rank,
    "bootstrap_interval": lambda s: tests.bootstrap_interval(COLUMNS["a"], random_state=s),
    "bootstrap_intervals": lambda s: tests.bootstrap_intervals(X, random_state=s),
    "compare_to_baseline": lambda s: tests.compare_to_baseline(COLUMNS, "a", random_state=s),
    "compare_to_best": lambda s: tests.compare_to_best(COLUMNS, random_state=s),
    "detectable_difference": lambda s: tests.detectable_difference(COLUMNS, random_state=s),
    "queries_needed": lambda s: tests.queries_needed(COLUMNS, 0.1, random_state=s),
    "paired_test": lambda s: tests.paired_test(
        X[:, 0], X[:, 1], "randomization", n_resamples=99, random_state=s
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SEEDS)
@pytest.mark.parametrize("name", CALLS)
def test_functions_take_every_kind_of_seed(name, kind):
    first, second = (CALLS[name](SEEDS[kind]()) for _ in range(2))
    assert repr(first) == repr(second)


@pytest.mark.parametrize("kind", SEEDS)
def test_verify_takes_every_kind_of_seed(kind, tmp_path):
    assert check(SEEDS[kind](), tmp_path)


def test_every_function_has_a_call():
    assert SEEDED.keys() - ESTIMATORS - CALLS.keys() == {"verify"}
    assert CALLS.keys() <= SEEDED.keys()


def values(model):
    for method in ("rank_score", "decision_function", "predict", "transform"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    raise AssertionError(model)


WITH_SEED = [key for key in REGISTRY if REGISTRY[key].kind != "transformer" and key != "auto"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", WITH_SEED)
def test_estimators_take_every_kind_of_seed(key):
    if "random_state" not in inspect.signature(load_class(key)).parameters:
        return
    y = np.column_stack([Y > 0, Y > 1]).astype(int) if REGISTRY[key].kind == "multi-label" else Y
    takes_qid = "qid" in inspect.signature(load_class(key).fit).parameters
    for kind in ("RandomState", "Generator"):
        fits = [
            small(key, random_state=SEEDS[kind]()).fit(X, y, **({"qid": QID} if takes_qid else {}))
            for _ in range(2)
        ]
        np.testing.assert_array_equal(*map(values, fits))


@pytest.mark.parametrize("wrong", ["7", 1.5, True, -1, [1]])
@pytest.mark.parametrize("read", [check_random_state, make_generator, draw_seed])
def test_other_seeds_are_refused(read, wrong):
    with pytest.raises(ValueError, match="random_state must be a whole number >= 0, a RandomState"):
        read(wrong)


def test_a_seed_gives_the_draws_of_numpy():
    assert check_random_state(7).randint(99) == np.random.RandomState(7).randint(99)
    assert make_generator(7).integers(99) == np.random.default_rng(7).integers(99)
    assert draw_seed(7) == draw_seed(np.int64(7)) == 7
