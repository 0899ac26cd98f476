"""Weights in fits that once had none: equal to repetition, and refused where they cannot be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import rankwise
from rankwise import McRank, RidgeRanker, StackingRanker
from rankwise._registry import REGISTRY
from rankwise.features.query_scaling import QueryScaler, scale_rows
from rankwise.groups import QueryGroups
from tests.common.estimators import small

MEMBERS = {"estimators": [("a", RidgeRanker()), ("b", RidgeRanker(alpha=30.0))]}
CASES = [
    ("ada_rank", {}),
    ("ada_rank", {"measure": "ERR", "n_features_to_select": 2}),
    ("coordinate_ascent", {}),
    ("coordinate_ascent", {"measure": "KendallTau"}),
    ("boltz_rank", {"n_pair_nodes": 2}),
    ("rank_net", {}),
    ("list_net", {"scaling": False}),
    ("list_mle", {"optimizer": "sgd"}),
    ("lambda_rank", {"k": 3}),
    ("lambda_rank", {"discount": "letor", "gain": "linear"}),
    ("mc_rank", {}),
    ("mc_rank", {"form": "ordinal", "max_classes": 2}),
    ("mc_rank", {"estimator": LogisticRegression(tol=1e-12, max_iter=2000)}),
    ("score_blend", MEMBERS),
    ("borda_blend", MEMBERS),
    ("reciprocal_rank_blend", MEMBERS),
    ("calibrated_ranker", {}),
    ("stacking_ranker", MEMBERS),
    ("stacking_ranker", {**MEMBERS, "scaling": "rank", "degree": 1}),
    ("stacking_ranker", {**MEMBERS, "scaling": "minmax", "refit": False}),
    ("stacking_ranker", {**MEMBERS, "scaling": None, "share": 0.6}),
    ("stacking_ranker", {**MEMBERS, "final_estimator": "mean", "n_best": 2}),
]
IDS = [f"{key}-{number}" for number, (key, _) in enumerate(CASES)]
WHOLE_ONLY = ["ada_rank", "coordinate_ascent", "boltz_rank"]
ONLINE = ["prank", "widrow_hoff", "voted_prank", "aggregate_prank"]


@pytest.fixture
def judged(rng):
    X = np.round(rng.normal(size=(60, 4)), 1)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=60)), 0, 2).astype(int)
    return X, y, np.arange(60) % 7


def fitted(case, X, y, qid, **given):
    key, params = case
    return small(key, **params).fit(X, y, qid=qid, **given)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_whole_weights_repeat_rows(case, judged, rng):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = fitted(case, X, y, qid, sample_weight=weight)
    repeated = fitted(case, X[rows], y[rows], qid[rows])
    # Rows are repeated or merged before the fit; other estimators add weighted rows up.
    exact = [*WHOLE_ONLY, "rank_net", "list_net", "list_mle", "lambda_rank"]
    is_exact = case[0] in exact or (case[0] == "mc_rank" and "estimator" not in case[1])
    close = {"rtol": 0, "atol": 0} if is_exact else {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), **close)
    if hasattr(weighted, "models_"):  # scaled within queries
        got, expected = (model.predict(X, qid=qid) for model in (weighted, repeated))
        np.testing.assert_allclose(got, expected, **close)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_weights_of_one_change_no_bit(case, judged):
    X, y, qid = judged
    weighted = fitted(case, X, y, qid, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(weighted.predict(X), fitted(case, X, y, qid).predict(X))


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_fractions_are_taken_or_refused(case, judged, tmp_path):
    X, y, qid = judged
    weight = 0.5 + np.arange(len(y)) % 4
    if case[0] in WHOLE_ONLY:
        said = f"sample_weight must hold whole numbers for {type(small(case[0])).__name__}, got 0.5"
        with pytest.raises(ValueError, match=said):
            fitted(case, X, y, qid, sample_weight=weight)
        return
    model = fitted(case, X, y, qid, sample_weight=weight)
    plain = fitted(case, X, y, qid)
    assert np.abs(model.predict(X) - plain.predict(X)).max() > 1e-6
    again = rankwise.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_page_lists_every_estimator():
    page = (Path(__file__).parents[2] / "docs" / "row_weights.rst").read_text("utf-8")
    table = page.partition("Weights of rows\n")[2].partition("Classifiers by costs")[0]
    listed = {}
    for row in table.split("   * - ")[2:]:
        names, weights, _ = row.split("     - ")
        listed |= dict.fromkeys(re.findall(r"``(\w+)``", names), weights.strip())
    keys = [key for key in REGISTRY if REGISTRY[key].kind in ("ranker", "ordinal")]
    names = {REGISTRY[key].path.rpartition(":")[2]: key for key in keys}
    assert listed.keys() == names.keys()
    assert {names[name] for name in listed if listed[name] == "none"} == set(ONLINE)
    assert {names[name] for name in listed if listed[name] == "whole"} == set(WHOLE_ONLY)


@pytest.mark.parametrize("key", ONLINE)
def test_rows_in_turn_have_no_weight(key, judged):
    X, y, qid = judged
    with pytest.raises(TypeError, match="takes no argument 'sample_weight'"):
        small(key).fit(X, y, qid=qid, sample_weight=np.ones(len(y)))


def test_members_that_take_no_weights_are_named(judged):
    X, y, qid = judged
    weight = 1.0 + np.arange(len(y)) % 2
    stack = StackingRanker([("near", KNeighborsRegressor(3)), RidgeRanker()])
    with pytest.raises(TypeError, match="estimators: 'near' must accept sample_weight, but KNeig"):
        stack.fit(X, y, qid=qid, sample_weight=weight)
    stack.fit(X, y, qid=qid, sample_weight=np.ones(len(y)))
    stack = StackingRanker(["ridge"], KNeighborsRegressor(3))
    with pytest.raises(TypeError, match="final_estimator must accept sample_weight, but KNeighb"):
        stack.fit(X, y, qid=qid, sample_weight=weight)
    with pytest.raises(TypeError, match="estimator must accept sample_weight, but KNeighborsClass"):
        McRank(KNeighborsClassifier()).fit(X, y, qid=qid, sample_weight=weight)


def test_weights_that_cannot_be_ranks_are_refused(judged):
    X, y, qid = judged
    for factor in (1e-3, 1e9):
        with pytest.raises(ValueError, match="sample_weight must give some query a sum above 1"):
            small("lambda_rank").fit(X, y, qid=qid, sample_weight=np.full(len(y), factor))


@pytest.mark.parametrize("method", ["standard", "minmax", "rank"])
def test_scaling_counts_weights_as_rows(method, rng):
    rows, qid = np.round(rng.normal(size=(30, 2)), 1), np.arange(30) % 3
    weight = rng.integers(1, 4, 30)
    copies = np.repeat(np.arange(30), weight)
    groups = QueryGroups.from_qid(qid, 30)
    got = scale_rows(method, rows, groups, weight.astype(float))
    expected = QueryScaler(method).fit_transform(rows[copies], qid=qid[copies])
    np.testing.assert_allclose(got[copies], expected, rtol=1e-12, atol=1e-14)
