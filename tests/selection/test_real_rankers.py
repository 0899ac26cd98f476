"""The registry's rankers in a comparison: choices, costs, published numbers, any number of jobs."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import LinearRegressionRanker, PairwiseELM, PointwiseELM, RidgeRanker
from rankwise.datasets import load_dataset
from rankwise.metrics import parse
from rankwise.selection import compare, letor_folds, tune


@pytest.fixture(scope="module")
def folds():
    return letor_folds(load_dataset("lambdarank", fold=1).train, 3)


def boosters():
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    from rankwise import LightGBMRanker, XGBoostRanker

    return {
        "lightgbm": LightGBMRanker(n_estimators=5, early_stopping_rounds=2),
        "xgboost": XGBoostRanker(n_estimators=5, early_stopping_rounds=2),
    }


def test_numbers_do_not_depend_on_the_number_of_jobs(folds):
    rankers = {
        "linear": LinearRegressionRanker(),
        "ridge": RidgeRanker(alpha="val"),
        "pointwise": PointwiseELM(n_nodes=100, C="val"),
        "pairwise": PairwiseELM(n_nodes=100, C="val"),
        "cv": PairwiseELM(kernel="linear", C="cv"),
        **boosters(),
    }
    one, two = (compare(rankers, folds[:2], n_jobs=n_jobs) for n_jobs in (1, 2))
    assert {cell.status for cell in one.cells} == {"done"}
    for cell, twin in zip(one.cells, two.cells, strict=True):
        assert cell.chosen == twin.chosen
        np.testing.assert_array_equal(cell.scores, twin.scores)
    stopped = [cell.chosen for cell in one.cells if cell.ranker in boosters()]
    assert all(set(chosen) <= {"n_estimators"} for chosen in stopped)
    assert any(stopped)  # some stopped early, and say where


def test_paths_are_chosen_on_the_validation_part_by_the_selection_measure(folds):
    fold = folds[0]
    measure = parse("AP", "letor3")
    tuned = tune(RidgeRanker(alpha="val"), fold.train, fold.vali, measure)
    by_hand = []
    for setting in tuned.search:
        model = RidgeRanker(alpha=setting["params"]["alpha"])
        model.fit(fold.train.X, fold.train.y, qid=fold.train.qid)
        by_hand.append(measure.mean(fold.vali.y, model.predict(fold.vali.X), fold.vali.groups))
    np.testing.assert_allclose([s["score"] for s in tuned.search], by_hand, atol=1e-3)
    assert tuned.chosen["alpha"] == tuned.search[int(np.argmax(by_hand))]["params"]["alpha"]


def test_linear_regression_is_the_published_one(data_root):
    if not (data_root / "letor3-ohsumed-qln").is_dir():
        pytest.skip("no OHSUMED in RANKWISE_DATA")
    board = compare("linear_regression", load_dataset("ohsumed"), measures=["AP", "nDCG@10"],
                    preset="letor3")  # fmt: skip
    (row,) = board.rows()
    assert [round(mean, 4) for mean in row["folds"]] == [0.2979, 0.4302, 0.4398, 0.4978, 0.4442]
    assert round(row["measures"]["nDCG@10"]["mean"], 4) == 0.4110


def test_versions_of_wrapped_libraries_are_recorded(folds):
    lightgbm = pytest.importorskip("lightgbm")
    from rankwise import LightGBMRanker

    data = folds[:1]
    board = compare({"lgb": LightGBMRanker(n_estimators=1)}, data, measures=["AP"], isolate=False)
    versions = board.settings.versions
    assert versions["lightgbm"] == lightgbm.__version__
    assert {"rankwise", "python", "platform", "numpy", "scikit-learn"} < versions.keys()
    assert not any("source of" in name for name in versions)
    without = compare(["ridge"], data, measures=["AP"], isolate=False).settings.versions
    # The adapters read frames by narwhals, whose version can change their numbers, too.
    assert versions.keys() - without.keys() == {"lightgbm", "narwhals"}
