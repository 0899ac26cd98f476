"""The stacking experiment: the same stack as the estimator's, choices by validation, tests."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import LinearRegressionRanker, RidgeRanker, StackingRanker
from rankwise.datasets import Fold, RankingData
from rankwise.experiments import Cell
from rankwise.metrics import evaluate
from rankwise_papers.stacking import fits, plan
from rankwise_papers.stacking.experiment import Stacking

EXPERIMENT = Stacking()


def judged(rng, n_queries):
    qid = np.repeat(np.arange(n_queries), 8)
    X = rng.normal(size=(len(qid), 3))
    y = np.clip(np.round(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=len(qid))), 0, 2)
    return RankingData(X, y, qid=qid)


@pytest.fixture
def fold(rng, monkeypatch):
    """A small fold in place of the published ones."""
    made = Fold(judged(rng, 20), judged(rng, 8), judged(rng, 9), "fold1")
    monkeypatch.setattr(fits, "the_fold", lambda data, number: made)
    fits._base_scores.cache_clear()
    yield made
    fits._base_scores.cache_clear()


SETTINGS = {
    "linear_regression": {"params": {}, "space": {}},
    "ridge": {"params": {}, "space": {"alpha": [0.1, 1000.0]}},
}


@pytest.mark.parametrize(
    "settings",
    [
        {"final": None, "degree": 2, "n_best": None},
        {"final": None, "degree": 1, "n_best": 1},
        {"final": "mean", "degree": 1, "n_best": None},
    ],
)
def test_the_stack_is_the_estimators(settings, fold):
    scores = {key: fits.base_scores("any", 1, key, of) for key, of in SETTINGS.items()}
    found = fits.stack(fold, fits.held_out_table(fold, scores), settings)
    alpha = scores["ridge"].chosen["alpha"]
    ranker = StackingRanker(
        [LinearRegressionRanker(), RidgeRanker(alpha=alpha)],
        measure=plan.SELECT,
        final_estimator=settings["final"],
        degree=settings["degree"],
        n_best=settings["n_best"],
    ).fit(
        fold.train.X, fold.train.y, qid=fold.train.qid,
        X_val=fold.vali.X, y_val=fold.vali.y, qid_val=fold.vali.qid,
    )  # fmt: skip
    assert found["C"] == getattr(ranker.final_estimator_, "C_", None)
    assert found["members"] == list(ranker.models_[0])
    for part, got in (("vali", found["vali"]), ("test", np.mean(found["test"]["nDCG@10"]))):
        of = getattr(fold, part)
        expected = evaluate(of.y, ranker.predict(of.X, qid=of.qid), of.qid, [plan.SELECT])
        assert got == pytest.approx(expected[plan.SELECT], abs=1e-6)


def test_held_out_values_are_of_tops_that_have_not_seen_the_query(fold, monkeypatch):
    """No query is both in what a top is fitted to and in what it scores; all are scored."""
    scores = {key: fits.base_scores("any", 1, key, of) for key, of in SETTINGS.items()}
    held = fits.held_out_table(fold, scores)
    seen = []

    class Memory(fits.Top):
        def predict(self, table, qid):
            assert not set(qid) & set(seen[-1])
            return super().predict(table, qid)

    def fit_top(held, settings):
        seen.append(held.qid)
        return Memory(list(held.models[0]), None, 1)

    monkeypatch.setattr(fits, "fit_top", fit_top)
    found = fits.held_value(held, {"final": "mean", "degree": 1, "n_best": None})
    assert len(seen) == plan.N_FOLDS
    standard = fits.QueryScaler("standard").fit_transform(held.scores, qid=held.qid)
    expected = evaluate(held.y, standard.mean(axis=1), held.qid, [plan.SELECT])[plan.SELECT]
    assert found == pytest.approx(expected)


def test_blends_are_the_estimators(fold):
    scores = {key: fits.base_scores("any", 1, key, of) for key, of in SETTINGS.items()}
    members = [LinearRegressionRanker(), RidgeRanker(alpha=scores["ridge"].chosen["alpha"])]
    for key in plan.BLENDS:
        blend = fits.REGISTRY[key].load()(members)
        blend.fit(fold.train.X, fold.train.y, qid=fold.train.qid)
        expected = blend.predict(fold.test.X, qid=fold.test.qid)
        np.testing.assert_allclose(fits.blend(fold, scores, key)[1], expected, atol=1e-9)


def test_cells_of_both_kinds_compute(fold):
    cell = Cell("any/fold1/ridge", {"fold": 1, "key": "ridge", **SETTINGS["ridge"]}, "any")
    base = EXPERIMENT.run(cell)
    assert len(base["test"]["AP"]) == 9
    params = {"fold": 1, "members": SETTINGS, "stacks": plan.STACKS}
    top = EXPERIMENT.run(Cell("any/fold1/stack2", params, "any"))
    assert list(top["stacks"]) == list(plan.STACKS)
    assert top["held"].keys() == SETTINGS.keys()
    assert top["stacks"]["mean, best 3"]["C"] is None
    assert len(top["blends"]["borda_blend"]["test"]["nDCG@10"]) == 9


def test_every_cell_says_how_its_ranker_is_tuned():
    cells = EXPERIMENT.cells(quick=False)
    assert len(cells) == 10 * (len(plan.BASES) + 1)
    quick = {cell.name: cell for cell in EXPERIMENT.cells(quick=True)}
    full = {cell.name: cell for cell in cells}
    assert all(full[name] == cell for name, cell in quick.items() if "stack" not in name)
    lightgbm = full["mq2008/fold2/lightgbm"].params
    assert len(lightgbm["space"]["num_leaves"]) > 1
    assert full["ohsumed/fold1/pairwise_elm"].params["params"]["n_draws"] == 3


def made_up(rng):
    """Results in which every stack but one is a ranker of its own."""

    def outcome(vali, mean):
        values = (mean + 0.1 * rng.normal(size=20)).tolist()
        return {"vali": vali, "test": dict.fromkeys(plan.MEASURES, values)}

    results = {}
    for data, fold in plan.folds(quick=False):
        for key in plan.BASES:
            results[plan.cell_name(data, fold, key)] = outcome(0.5, 0.4)
        stacks = {
            name: {
                **outcome(0.05 * k, 0.05 * k),
                "held": 0.05 * k,
                "members": ["rank_svm"],
                "C": 1.0,
            }
            for k, name in enumerate(plan.STACKS)
        }
        blends = {name: outcome(0.5, 0.4) for name in plan.BLENDS}
        top = {"stacks": stacks, "blends": blends, "held": dict.fromkeys(plan.BASES, 0.3)}
        results[plan.cell_name(data, fold, f"stack{len(plan.BASES)}")] = top
    return results


def test_the_chosen_stack_is_that_of_the_largest_value(rng):
    results = made_up(rng)
    found = {table.name: table for table in EXPERIMENT.tables(results, quick=False)}
    values = {(v.row, v.column): v for v in found["measures-ohsumed"].values}
    last = list(plan.STACKS)[-1]
    for measure in plan.MEASURES:
        of = values[plan.CHOSEN, measure].ours
        assert of == values[f"stack, {last}", measure].ours
        assert of == pytest.approx(0.05 * (len(plan.STACKS) - 1), abs=0.05)
    lead = values["RankSVM", "the stack's lead"]
    assert lead.ours == pytest.approx(
        values[plan.CHOSEN, "nDCG@10"].ours - values["RankSVM", "nDCG@10"].ours
    )
    assert 0 < lead.error < 0.1
    assert values["RankSVM", "p"].ours < values["RankSVM", "p (Holm)"].ours
    assert values[f"stack, {last}", "the stack's lead"].ours == 0.0
    assert values[f"stack, {last}", "p"].ours == 1.0
    notes = [v.note for v in found["choices-ohsumed"].values if v.note]
    assert notes == [f"Chosen on fold {n}: of RankSVM; C = 1." for n in range(1, 6)]
    held = {(v.row, v.column): v.ours for v in found["choices-ohsumed"].values}
    assert held["RankSVM", "fold 2"] == 0.3
    assert held[f"stack, {last}", "fold 2"] == 0.05 * (len(plan.STACKS) - 1)


def test_tables_of_what_is_there(rng):
    results = made_up(rng)
    del results[f"ohsumed/fold2/stack{len(plan.BASES)}"], results["ohsumed/fold3/xgboost"]
    found = {table.name: table for table in EXPERIMENT.tables(results, quick=False)}
    values = {(v.row, v.column): v for v in found["measures-ohsumed"].values}
    assert values[plan.CHOSEN, "nDCG@10"].ours is None
    assert values["XGBoost, 12 settings", "nDCG@10"].ours is None
    assert values["RankSVM", "nDCG@10"].ours == pytest.approx(0.4, abs=0.05)
    assert values["RankSVM", "nDCG@10"].note == ""
