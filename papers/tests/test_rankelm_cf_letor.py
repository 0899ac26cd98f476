"""RankELM on CF-LETOR: folds are measured on their test part, tables are means of them."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import LinearRegressionRanker, evaluate
from rankwise.datasets import Fold, RankingData
from rankwise_papers.rankelm_cf_letor import experiment
from rankwise_papers.rankelm_cf_letor.tables import FOLDS, make
from rankwise_papers.zong2013.methods import PAPER


def judged(rng, n_queries):
    qid = np.repeat(np.arange(n_queries), 12)
    X = rng.normal(size=(len(qid), 4)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(qid))), 0, 8)
    return RankingData(X, y, qid=qid, feature_names=["a", "b", "c", "d"])


@pytest.fixture
def folds(rng, monkeypatch):
    made = [Fold(judged(rng, 12), judged(rng, 5), judged(rng, 6)) for _ in FOLDS]
    monkeypatch.setattr(experiment, "_folds", lambda: made)
    return made


def test_tables_are_means_over_folds_and_draws(folds):
    of = experiment.RankELMOnCFLetor()
    names = "regression", "ridge", "pairwise-kernel"
    cells = [cell for cell in of.cells(quick=True) if cell.name.endswith(names)]
    results = {cell.name: of.run(cell) for cell in cells}
    tables = {table.name: table for table in make(results, quick=True)}
    wanted = []
    for fold in folds:
        ranker = LinearRegressionRanker().fit(fold.train.X, fold.train.y, qid=fold.train.qid)
        scores = ranker.predict(fold.test.X)
        wanted.append(evaluate(fold.test.y, scores, fold.test.qid, ["AP"], preset="letor3")["AP"])
    ours = {(value.row, value.column): value.ours for value in tables["ap"].values}
    assert [ours[f"fold {fold}", "Regression"] for fold in FOLDS] == pytest.approx(wanted)
    assert ours["mean", "Regression"] == pytest.approx(np.mean(wanted))
    assert ours["mean", "RankSVM"] is None
    leads = {value.row: value.ours for value in tables["tests"].values if value.column == "lead"}
    # Folds have six test queries each, so the mean over queries is the mean of the folds.
    assert leads["Regression"] == pytest.approx(
        ours["mean", "Regression"] - ours["mean", "Regularized"]
    )
    assert set(leads) == {"Regression", "Pairwise RELM_K"}


def test_every_column_runs_on_every_fold():
    names = {cell.name for cell in experiment.RankELMOnCFLetor().cells(quick=False)}
    for method in PAPER:
        for fold in FOLDS:
            n = sum(name.startswith(f"fold{fold}/{method.name}") for name in names)
            assert n == (10 if method.is_drawn else 1)
