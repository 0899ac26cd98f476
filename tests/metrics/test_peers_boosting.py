"""The presets lightgbm, xgboost and catboost against the programs themselves."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.metrics import evaluate
from tests.metrics import _peers as peers
from tests.metrics._cases import ragged

# Programs that rank tied rows in the order of the rows.
pytestmark = pytest.mark.filterwarnings("ignore::rankwise.metrics.TiedScoresWarning")

KS = (1, 2, 3, 5, 10, 40)
LEVELS = (None, 6, 1)  # distinct scores, ties, all tied


def ours(y, f, qid, spec, preset):
    return evaluate(y, f, qid, [spec], preset=preset)[spec]


def case(rng, levels, grades=5):
    return ragged(rng, n_queries=50, most=25, levels=levels, grades=grades, shuffle=False)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("levels", LEVELS)
def test_lightgbm(rng, levels, k):
    y, f, qid = case(rng, levels)
    for metric, spec in [("ndcg", f"nDCG@{k}"), ("map", f"AP@{k}")]:
        theirs = peers.lightgbm(y, f, qid, metric, k)
        assert ours(y, f, qid, spec, "lightgbm") == pytest.approx(theirs, rel=1e-12)


def test_lightgbm_gain_table(rng):
    y, f, qid = case(rng, 6)
    theirs = peers.lightgbm(y, f, qid, "ndcg", 5, label_gain=[0, 1, 1, 5, 20])
    spec = "nDCG(gain=(0,1,1,5,20))@5"
    assert ours(y, f, qid, spec, "lightgbm") == pytest.approx(theirs, rel=1e-12)


def test_lightgbm_tells_scores_apart_that_float32_does_not():
    y, qid = np.array([0.0, 1.0]), np.zeros(2, dtype=int)
    f = np.array([1.0, 1.0 + 1e-12])
    assert peers.lightgbm(y, f, qid, "ndcg", 1) == ours(y, f, qid, "nDCG@1", "lightgbm") == 1.0


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("levels", LEVELS)
def test_xgboost_ndcg(rng, levels, k):
    y, f, qid = case(rng, levels)
    for name in (f"ndcg@{k}", f"ndcg@{k}-"):
        theirs = peers.xgboost(y, f, qid, name)
        assert ours(y, f, qid, name, "xgboost") == pytest.approx(theirs, rel=1e-12)
    theirs = peers.xgboost(y, f, qid, f"ndcg@{k}", ndcg_exp_gain=False)
    linear = f"nDCG(gain='linear')@{k}"
    assert ours(y, f, qid, linear, "xgboost") == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("levels", LEVELS)
def test_xgboost_binary_measures(rng, levels, k):
    y, f, qid = case(rng, levels, grades=2)
    for name in (f"map@{k}", f"map@{k}-", f"pre@{k}"):
        theirs = peers.xgboost(y, f, qid, name)
        assert ours(y, f, qid, name, "xgboost") == pytest.approx(theirs, rel=1e-12)


def test_xgboost_without_cutoff(rng):
    y, f, qid = case(rng, 6, grades=2)
    for name in ("ndcg", "ndcg-", "map", "map-", "pre"):
        theirs = peers.xgboost(y, f, qid, name)
        assert ours(y, f, qid, name, "xgboost") == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("levels", LEVELS)
def test_catboost_graded(rng, levels, k):
    y, f, qid = case(rng, levels)
    for name, spec in [
        (f"NDCG:top={k}", f"nDCG@{k}"),
        (f"NDCG:top={k};type=Exp", f"nDCG(gain='exp2')@{k}"),
        (f"DCG:top={k}", f"DCG@{k}"),
        (f"DCG:top={k};type=Exp", f"DCG(gain='exp2')@{k}"),
        (f"MAP:top={k}", f"AP@{k}"),
        (f"PrecisionAt:top={k}", f"P@{k}"),
        (f"RecallAt:top={k}", f"R@{k}"),
        (f"MRR:top={k}", f"RR@{k}"),
    ]:
        theirs = peers.catboost(y, f, qid, name)
        assert ours(y, f, qid, spec, "catboost") == pytest.approx(theirs, rel=1e-12), name


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("levels", LEVELS)
def test_catboost_real_valued_targets(rng, levels, k):
    y, f, qid = case(rng, levels)
    y = rng.integers(0, 9, len(y)) / 8.0  # on and around CatBoost's border of 0.5
    for name, spec in [
        (f"NDCG:top={k}", f"nDCG@{k}"),
        (f"NDCG:top={k};type=Exp", f"nDCG(gain='exp2')@{k}"),
        (f"MAP:top={k}", f"AP@{k}"),
        (f"PrecisionAt:top={k}", f"P@{k}"),
        (f"RecallAt:top={k}", f"R@{k}"),
        (f"MRR:top={k}", f"RR@{k}"),
        (f"ERR:top={k}", f"ERR@{k}"),
    ]:
        theirs = peers.catboost(y, f, qid, name)
        assert ours(y, f, qid, spec, "catboost") == pytest.approx(theirs, rel=1e-12), name


def test_catboost_without_cutoff(rng):
    y, f, qid = case(rng, 6)
    for name, spec in [("NDCG", "nDCG"), ("MAP", "AP"), ("MRR", "RR"), ("DCG", "DCG")]:
        theirs = peers.catboost(y, f, qid, name)
        assert ours(y, f, qid, spec, "catboost") == pytest.approx(theirs, rel=1e-12), name
