"""All methods of the challenge's report: settings by validation, the ensemble, the closed set."""

from __future__ import annotations

import csv
import importlib.machinery

import numpy as np
import pytest
from tests.datasets.catalog.yahoo import QUERIES, write_yahoo

from rankwise import LinearRegressionRanker, ORBoost, RankSVM, RidgeRanker, StackingRanker
from rankwise.datasets import Fold, RankingData
from rankwise.experiments import Cell, Verdict, reproduce
from rankwise.metrics import evaluate
from rankwise.metrics.significance import holm, paired_test
from rankwise.prediction import scores_of
from rankwise_papers.challenge_methods import ensemble, fits, plan
from rankwise_papers.challenge_methods.chosen_tables import Methods
from rankwise_papers.challenge_methods.experiment import ChallengeMethods
from rankwise_papers.lin2010_challenge import parts as challenge
from rankwise_papers.lin2010_challenge.parts import measure_parts, parts, sampled

EXPERIMENT = ChallengeMethods()
SLICES = "mslr-slices"
MODELS = ("ORSVM", "RankLR", "BoltzRank, 6 features")


@pytest.fixture(params=[True, False], ids=["torch", "no torch"])
def torch(request, monkeypatch):
    """Whether torch is there."""
    spec = importlib.machinery.ModuleSpec("torch", None) if request.param else None
    monkeypatch.setattr(plan, "find_spec", lambda name: spec)
    return request.param


@pytest.fixture
def fold(rng):
    """A small fold of a hidden linear order."""

    def judged(first, n_queries):
        qid = np.repeat(np.arange(first, first + n_queries), 8)
        X = rng.normal(size=(len(qid), 3))
        raw = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=len(qid))
        return RankingData(X, np.clip(raw.round(), 0, 2), qid=qid)

    return Fold(judged(0, 30), judged(50, 8), judged(100, 9))


def test_published_values_are_those_of_the_specification(data_root):
    ours = EXPERIMENT.published("published.csv")
    assert len(ours) == 7 + 5 + 12
    table = data_root.parent / "spec" / "tables" / "challenge_methods.csv"
    if not table.is_file():
        pytest.skip("the specification's tables are not beside the data")
    shown = {row["source_table"] for row in ours}
    with table.open(encoding="utf-8") as file:
        assert [row for row in csv.DictReader(file) if row["source_table"] in shown] == ours


def test_without_torch_the_rest_runs(torch):
    full, quick = (
        {cell.name: cell for cell in plan.cells(quick=is_quick)} for is_quick in (False, True)
    )
    assert all(full[name] == cell for name, cell in quick.items())
    assert {cell.data for cell in full.values()} == set(EXPERIMENT.data())
    assert {cell.data for cell in quick.values()} == {SLICES}
    networks = [name for name in full if "/boltz/" in name]
    assert len(networks) == (19 * 6 if torch else 0)
    assert {name.split("/")[1] for name in full if name.startswith("mq2008")} == {
        f"fold{number}" for number in range(1, 6)
    }
    ensembles = {name.partition("/")[2].partition("/")[2] for name in full if "ensemble" in name}
    assert ensembles == {"ensemble18", "ensemble18/out-of-fold"} | (
        {"ensemble20"} if torch else set()
    )
    assert not any("out-of-fold" in name for name in quick)
    assert not any("mq2008" in name and "overall" in name for name in full)
    assert full["ohsumed/fold2/rank_svm/query/none"].data == "ohsumed-min"


def test_the_ensemble_has_20_models():
    made = ensemble.models("ERR", with_boltz=True)
    kinds = [name.partition(",")[0].partition(" weight")[0] for name in made]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    assert list(counts.values()) == [12, 1, 3, 1, 1, 2]
    assert counts[ensemble.BOLTZ] == plan.N_BOLTZ
    assert len(made) == plan.N_MODELS
    assert len(ensemble.models("ERR", with_boltz=False)) == plan.N_MODELS - plan.N_BOLTZ


@pytest.mark.parametrize("out_of_fold", [False, True], ids=["80/20", "out of fold"])
def test_the_ensemble_is_what_stacking_ranker_makes_of_its_models(fold, out_of_fold):
    members = {
        "linear": LinearRegressionRanker(),
        "ridge": RidgeRanker(alpha=100.0),
        "BoltzRank": RankSVM(C=0.01),
    }
    found = ensemble.stacked("mq2008", fold, members, out_of_fold=out_of_fold)
    recipe = {} if out_of_fold else {"share": 0.8, "refit": False}
    err = "ERR(max_grade=2,empty=0,ties=stable)"
    for degree, of in ((2, found), (1, found["variants"]["RankLR, degree 1"])):
        stack = StackingRanker(list(members.items()), degree=degree, measure=err, **recipe).fit(
            fold.train.X, fold.train.y, qid=fold.train.qid
        )
        scores = {
            name: stack.predict(part.X, qid=part.qid)
            for name, part in (("vali", fold.vali), ("test", fold.test))
        }
        wanted = measure_parts("mq2008", fold, scores)
        assert {name: of[name] for name in wanted} == wanted
    assert found["n_held_out"] == (30 if out_of_fold else 6)
    for name, model in stack.models_[0].items():
        wanted = evaluate(fold.test.y, scores_of(model, fold.test.X), fold.test.qid, [err])
        assert found["models"][name]["test"]["ERR"] == pytest.approx(wanted[err])
    assert set(found["variants"]) == {
        "RankLR, degree 1", "RankLR, degree 2, without BoltzRank", "mean of scaled scores",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["orboost-lr/rank", "orboost-lr-perceptron/none"])
def test_forms_and_bases_of_orboost_are_cells(fold, monkeypatch, name):
    monkeypatch.setattr(fits.ordinal, "parts", lambda data, number: fold)
    monkeypatch.setattr(fits, "parts", lambda data, number: fold)
    method = name.partition("/")[0]
    data, params = plan.methods("mq2008", quick=False)[method][name]
    found = fits.compute(Cell("x", {**params, "fold": 1, "rounds": [2, 5]}, data))
    for of, rounds in zip(found, (2, 5), strict=True):
        estimator = ORBoost(
            form="lr", n_estimators=rounds, estimator=params["estimator"], base_iter=100,
            max_bins=255, row_weight="rank" if name.endswith("rank") else None, random_state=0,
        )  # fmt: skip
        estimator.fit(fold.train.X, fold.train.y, qid=fold.train.qid)
        err = "ERR(max_grade=2,empty=0,ties=stable)"
        wanted = evaluate(fold.test.y, estimator.rank_score(fold.test.X), fold.test.qid, [err])
        assert of["test"]["ERR"] == pytest.approx(wanted[err], abs=1e-9)
    assert {params["estimator"] for _, params in plan.methods("x", False)["orboost"].values()} == {
        "stump"
    }


def test_every_query_of_the_lambdarank_set_is_tested_once():
    folds = [parts.__wrapped__("lambdarank", number) for number in range(1, 6)]
    tested = np.concatenate([np.unique(of.test.qid) for of in folds])
    assert len(tested) == len(set(tested)) == 251
    for of, following in zip(folds, folds[1:] + folds[:1], strict=True):
        ids = [set(part.qid) for part in (of.train, of.vali, of.test)]
        assert sum(map(len, ids)) == 251
        assert {len(ids[1]), len(ids[2])} <= {50, 51}
        assert not (ids[0] & ids[1] or ids[0] & ids[2] or ids[1] & ids[2])
        assert ids[2] == set(following.vali.qid)


@pytest.mark.parametrize("key", ["rank_svm", "rank_lr"])
@pytest.mark.parametrize("norm", ["overall", "query"])
def test_pair_methods_take_C_by_validation(fold, monkeypatch, key, norm):
    monkeypatch.setattr(fits, "parts", lambda data, number: fold)
    params = {"kind": "pairs", "fold": 1, "key": key, "norm": norm, "pair_weight": "power"}
    (found,) = fits.compute(Cell("x", params, "mq2008"))
    of = fits.by_query(fold) if norm == "query" else fold
    err = "ERR(max_grade=2,empty=0,ties=stable)"
    estimator = fits.REGISTRY[key].load()(C=found["C"], pair_weight="power")
    estimator.fit(of.train.X, of.train.y, qid=of.train.qid)
    wanted = evaluate(of.test.y, estimator.predict(of.test.X), of.test.qid, [err])[err]
    assert found["test"]["ERR"] == pytest.approx(wanted, abs=0.03)
    estimator.set_params(C="val", measure=err)
    estimator.fit(
        of.train.X, of.train.y, qid=of.train.qid,
        X_val=of.vali.X, y_val=of.vali.y, qid_val=of.vali.qid,
    )  # fmt: skip
    best = max(estimator.cv_results_["mean_test_score"])
    assert found["vali"]["ERR"] == pytest.approx(best, abs=1e-9)


def test_features_overall_and_by_query(fold, monkeypatch):
    monkeypatch.setattr(challenge, "load_dataset", lambda data: [fold] * 5)
    by_rank = challenge.parts.__wrapped__("ohsumed-min", 1)
    train = fold.train.X
    wanted = [(train < x).sum(axis=0) / (len(train) - 1) for x in train]
    np.testing.assert_allclose(by_rank.train.X, wanted, atol=1e-9)
    assert challenge.parts.__wrapped__("ohsumed", 1) is fold
    scaled = fits.by_query(by_rank)
    for query in np.unique(fold.test.qid):
        rows = fold.test.qid == query
        X = by_rank.test.X[rows]
        spread = X.max(axis=0) - X.min(axis=0)
        np.testing.assert_allclose(scaled.test.X[rows], (X - X.min(axis=0)) / spread)


def test_the_sample_of_the_closed_set_is_of_its_training_part(fold):
    drawn = sampled(fold, 10)
    assert [drawn.train.n_queries, drawn.vali.n_queries] == [10, 10]
    assert drawn.test is fold.vali
    ids = [set(part.qid) for part in (drawn.train, drawn.vali)]
    assert not ids[0] & ids[1]
    assert ids[0] | ids[1] < set(fold.train.qid)
    assert [sampled(fold, 400).train.n_queries, sampled(fold, 400).vali.n_queries] == [24, 6]


def setting(rng, vali, n_queries=18):
    """What a cell says of one setting."""
    queries = (vali + 0.1 * rng.normal(size=n_queries)).tolist()
    of = {part: {"ERR": vali, "nDCG": 2 * vali} for part in ("train", "vali")}
    test = {"ERR": float(np.mean(queries)), "nDCG": 0.5}
    own = {"C": 1.0, "seconds": 30.0, "epochs": 4, "epochs_run": 10}
    return {**of, "test": test, "queries": queries, **own}


def made_up(rng):
    """Results of all cells but those of the closed set, better from cell to cell of a fold."""
    results, level = {}, {}
    for cell in plan.cells(quick=False):
        if cell.data == "yahoo-ltrc-1":
            continue
        fold = cell.name.split("/")[1]
        level[fold] = level.get(fold, 0.1) + 0.001
        value = setting(rng, level[fold])
        if "ensemble" in cell.name:
            parts = {name: setting(rng, 0.3 + 0.1 * k) for k, name in enumerate(MODELS)}
            hows = ("RankLR, degree 1", "mean of scaled scores")
            value |= {
                "models": parts, "variants": {how: setting(rng, 0.2) for how in hows},
                "C": {ensemble.MAIN: 0.01}, "n_held_out": 4,
            }  # fmt: skip
        results[cell.name] = [value]
    return results


def test_tables_say_what_is_ahead_and_why_something_is_missing(torch, rng):
    results = made_up(rng)
    tables = {table.name: table for table in EXPERIMENT.tables(results, quick=False)}
    values = {name: {(v.row, v.column): v for v in t.values} for name, t in tables.items()}
    assert "ensemble-yahoo-ltrc-1" not in tables
    assert not any("Yahoo! sample" in column for _, column in values["online"])
    boltz = values["online"]["BoltzRank", "OHSUMED ERR"]
    whole = values["online"]["Ensemble", "OHSUMED ERR"]
    assert (boltz.ours is not None) == (whole.ours is not None) == torch
    assert [("needs torch" in of.note) != torch for of in (boltz, whole)] == [True, True]
    for row in ("Ensemble of 18, without BoltzRank", "Ensemble of 18, top trained out of fold"):
        assert values["online"][row, "MQ2008 ERR"].ours is not None
    for row in ("ORBoost-LR", "ORBoost-LR, perceptrons"):
        assert values["online"][row, "lambdarank ERR"].ours is not None
    recipes = values["recipes"]
    for how in (ensemble.MAIN, "mean of scaled scores"):
        lead = recipes[f"{how}: out of fold minus 80/20", "MQ2008 ERR"].ours
        each = [
            recipes[f"{how}, {recipe}", "MQ2008 ERR"].ours for recipe in ("80/20", "out of fold")
        ]
        assert lead == pytest.approx(each[1] - each[0])  # folds of equal size here
    assert values["online"]["Ensemble", "Yahoo! ERR"].paper == 0.4565
    overall = values["rank-svm-settings-test"]["overall normalization", "MQ2008 ERR"]
    assert overall.ours is None
    assert "by query only" in overall.note
    table8 = values["rank-svm-settings-validation"]
    assert table8["overall normalization", "Yahoo! nDCG@10"].paper == 0.699
    assert table8["RankLR, overall normalization", "OHSUMED validation ERR"].ours is not None
    published = [v for v in tables["order"].values if v.paper is not None]
    assert {v.verdict for v in published} <= {Verdict.NOT_EVIDENCE, Verdict.NOT_RUN}
    paper = {v.row: round(v.paper, 4) for v in published}
    assert paper["ORSVM minus RankSVM"] == 0.0099
    assert paper["Ensemble minus ORSVM"] == 0.0038
    assert paper["RankSVM, query-level minus overall"] == 0.0134
    assert paper["RankSVM, query-level, weights minus none"] == 0.0138
    assert paper["BoltzRank, 6 features minus all (N1=6, N1=15)"] == 0.0055
    if torch:
        epochs = values["boltz-rank-iterations"]
        row = "6 AdaRank features, N1=6 N2=6"
        assert epochs[row, "MQ2008 seconds"].ours == pytest.approx(3.0)
        assert epochs[row, "MQ2008 iterations kept"].ours == 4
        assert epochs[row, "Yahoo! seconds"].paper == 300
        ERR = values["boltz-rank-features"]
        assert ERR[row, "Yahoo! training ERR"].paper == 0.4429


def test_the_ensembles_lead_is_paired_over_queries(rng, torch):
    results = made_up(rng)
    tables = {table.name: table for table in EXPERIMENT.tables(results, quick=False)}
    values = {(v.row, v.column): v for v in tables["ensemble-ohsumed"].values}
    cells = [results[f"ohsumed/fold{n}/{plan.ensemble_name(torch)}"][0] for n in range(1, 6)]
    own = np.concatenate([cell["queries"] for cell in cells])
    p = []
    for model in MODELS:
        other = np.concatenate([cell["models"][model]["queries"] for cell in cells])
        lead = values[model, "the ensemble's lead"]
        assert lead.ours == pytest.approx(np.mean(own - other))
        assert lead.error == pytest.approx(np.std(own - other, ddof=1) / np.sqrt(len(own)))
        p.append(paired_test(own, other).p_value)
    corrected = [values[model, "p (Holm)"].ours for model in MODELS]
    np.testing.assert_allclose(corrected, holm(p))
    # The last model is the best on every validation part.
    best = values["best model by validation", "ERR"].ours
    assert best == values[MODELS[-1], "ERR"].ours
    assert ("mean of scaled scores", "p (Holm)") not in values


def test_a_method_is_its_best_setting_by_validation(rng):
    results = {}
    for number in (1, 2, 3):
        for k, name in enumerate(plan.methods(SLICES, quick=False)["rank_svm"]):
            results[f"{SLICES}/fold{number}/{name}"] = [setting(rng, 0.1 * ((k + number) % 4))]
    of = Methods(results, SLICES, quick=False)
    assert [one["vali"]["ERR"] for one in of.at("rank_svm")] == pytest.approx([0.3] * 3)
    last = plan.pair_setting("rank_svm", "query", "power")
    assert [one["vali"]["ERR"] for one in of.at(last)] == pytest.approx([0.0, 0.1, 0.2])
    assert of.at("rank_lr") is None
    del results[f"{SLICES}/fold2/{last}"]
    assert of.at("rank_svm") is None


def test_no_results_leave_tables_that_say_so(torch):
    for table in EXPERIMENT.tables({}, quick=False):
        assert {value.verdict for value in table.values} == {Verdict.NOT_RUN}
        assert all(value.note or value.not_evidence for value in table.values)


def test_the_closed_set_runs_when_its_files_are_there(tmp_path, monkeypatch):
    """On a made miniature: every cell of it but BoltzRank's, and columns in the tables."""
    monkeypatch.setattr(plan, "find_spec", lambda name: None)
    monkeypatch.setattr(plan, "GRIDS", {"err": [1.0, 10.0], "absolute": [0.01, 0.1]})
    monkeypatch.setattr(plan, "FOLDS", {"mq2008": 1, "yahoo-ltrc-1": 1})
    monkeypatch.setattr(plan, "OVERALL", {"yahoo-ltrc-1": "yahoo-ltrc-1"})
    monkeypatch.setattr(plan, "ROUNDS", (2, 5))
    monkeypatch.setattr(plan, "PERCEPTRON_ROUNDS", (1, 2))
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    write_yahoo(tmp_path, monkeypatch)
    parts.cache_clear()
    found = reproduce("challenge-methods", store=tmp_path / "store")
    parts.cache_clear()
    assert set(found.missing) == {"mq2008"}
    assert [f"{o.name}: {o.message}" for o in found.with_status("failed")] == []
    done = {outcome.name: outcome.value for outcome in found.with_status("done")}
    assert {name.partition("/")[0] for name in done} == {"yahoo-ltrc-1"}
    assert len(done) == len([c for c in plan.cells(False) if c.data == "yahoo-ltrc-1"]) == 25
    for value in done.values():
        assert len(value[0]["queries"]) == QUERIES["valid"]
    online = {(v.row, v.column): v for v in found.tables[0].values}
    # The features that make the grades are found.
    assert online["RankSVM", "Yahoo! sample ERR"].ours > 0.5
    assert online["Ensemble of 18, without BoltzRank", "Yahoo! sample ERR"].ours > 0.5
