"""RankELM's cells and tables on made-up .Gov files, and its published values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.datasets.catalog.gov import write_gov

from rankwise import RankSVM
from rankwise._registry import REGISTRY
from rankwise.datasets import Fold, RankingData
from rankwise.experiments import Verdict, reproduce
from rankwise.features import QueryScaler
from rankwise_papers.zong2013 import (
    figures,
    path_tables,
    plan,
    rank_svm_paths,
    rank_svm_tables,
)
from rankwise_papers.zong2013.experiment import RankELM
from rankwise_papers.zong2013.methods import PAPER
from rankwise_papers.zong2013.tables import tables

EXPERIMENT = RankELM()
COLUMNS = {method.name: method for method in PAPER}


def test_the_published_means_are_those_of_the_published_folds():
    rows = EXPERIMENT.published("table1_map.csv")
    for data in ("ohsumed", "td2003", "td2004"):
        of = [row for row in rows if row["dataset"] == data]
        assert [row["fold"] for row in of] == ["1", "2", "3", "4", "5", "mean"]
        for method in PAPER:
            values = [row[method.published] for row in of]
            if data == "td2004" and method.name.endswith("kernel"):
                assert set(values) == {""}  # a dash in the paper
            else:
                numbers = np.array(values, dtype=float)
                assert abs(numbers[:5].mean() - numbers[5]) <= 1.01e-4


def test_published_tables_are_complete():
    assert [row["k"] for row in EXPERIMENT.published("table2_ndcg.csv")] == [
        str(k) for k in range(1, 11)
    ]
    precision = EXPERIMENT.published("table3_precision.csv")
    assert [row["dataset"] for row in precision] == ["td2003"] * 10 + ["td2004"] * 10
    for n_queries, fits in ((75, True), (72, False)):
        errors = []
        for row in precision:
            unit = int(row["k"]) * {"td2003": 50, "td2004": n_queries}[row["dataset"]]
            counts = [unit * float(row[m.published]) for m in PAPER if row[m.published]]
            errors.append(np.abs(np.array(counts) - np.rint(counts)).max() / unit)
        # P@k is a count of documents by k n_queries: TD2004 has 75 queries, not 72.
        assert (max(errors) <= 1.01e-4) == fits


def test_a_quick_run_is_part_of_the_full_one():
    full = {cell.name: cell for cell in EXPERIMENT.cells(quick=False)}
    quick = {cell.name: cell for cell in EXPERIMENT.cells(quick=True)}
    assert {cell.data for cell in quick.values()} == {"ohsumed"}
    assert all(full[name] == cell for name, cell in quick.items())
    assert len(quick) < len(full) / 4


def test_rank_svm_appears_with_its_registry_entry(monkeypatch):
    method = COLUMNS["rank-svm"]
    monkeypatch.delitem(REGISTRY, "rank_svm", raising=False)
    assert not any("rank-svm" in cell.name for cell in EXPERIMENT.cells(quick=True))
    (ap, *_) = tables(EXPERIMENT, {}, quick=True)
    notes = {value.note for value in ap.values if value.column == method.column}
    assert notes == {"The estimator is not in the registry of this version."}
    monkeypatch.setitem(REGISTRY, "rank_svm", REGISTRY["ridge"])
    cells = [cell for cell in EXPERIMENT.cells(quick=True) if "rank-svm" in cell.name]
    assert [cell.params["fold"] for cell in cells] == [1, 2, 3, 4, 5]
    assert cells[0].params["settings"] == REGISTRY["ridge"].params


@pytest.fixture
def two_seeds(monkeypatch):
    """Fewer draws."""
    monkeypatch.setattr(plan, "SEEDS", range(2))


def test_td2003_runs_when_its_files_are_there(tmp_path, monkeypatch, two_seeds):
    write_gov(tmp_path, 2003, monkeypatch)
    found = reproduce("rankelm-ohsumed", store=tmp_path / "store")
    assert set(found.missing) == {"ohsumed", "ohsumed-min", "td2004", "mq2008"}
    assert "2004_td_dataset" in found.missing["td2004"]
    done = found.with_status("done")
    assert {cell.name.partition("/")[0] for cell in done} == {"td2003"}
    assert not found.with_status("failed")
    by_name = {table.name: table for table in found.tables}
    ap = {(v.row, v.column): v for v in by_name["ap-td2003"].values}
    for method in plan.methods_of("td2003", quick=False):
        folds = [ap[f"fold {fold}", method.column].ours for fold in plan.FOLDS]
        assert np.mean(folds) == pytest.approx(ap["mean", method.column].ours)
        assert 0.5 < np.mean(folds) <= 1.0  # the two features that make the grades are found
        assert (ap["mean", method.column].error is not None) == method.is_drawn
    top = {(v.row, v.column): v for v in by_name["p-td2003"].values}
    assert top["P@1", "Regression"].ours > top["P@10", "Regression"].ours > 0.15
    assert top["P@10", "Regression"].paper == 0.178
    absent = {value.verdict for value in by_name["ap-td2004"].values}
    assert absent == {Verdict.NOT_RUN}
    assert found.figures == []


def made_up_path(aps, vali):
    """A path cell with these APs at 2^-30, 2^-29, ... and nDCG = AP + k / 100."""
    return {
        "vali": vali,
        "test": [{"AP": ap} | {f"nDCG@{k}": ap + k / 100 for k in plan.CUTOFFS} for ap in aps],
    }


def test_the_note_says_where_the_published_value_lies():
    method = COLUMNS["pointwise-kernel"]
    n = len(plan.EXPONENTS)
    aps, vali = np.full(n, 0.1), np.linspace(0.2, 0.1, n)
    aps[[3, 6, 8]] = 0.45, 0.46, 0.47
    results = {plan.path_name(method, 2): made_up_path(aps.tolist(), vali.tolist())}

    def note(published):
        row = {"fold": "2", method.published: str(published)}
        return path_tables.fold_note(method, row, results)

    assert note(0.46).startswith("The published value is ours at C = 2^-24; AP on the validation")
    assert f"is {vali[6]:.4f} there and {vali[0]:.4f} at 2^-30, which is chosen." in note(0.46)
    assert "C = 2^-27 (between two points of its grid)" in note(0.45)
    assert note(0.9) == ""
    assert path_tables.fold_note(method, {"fold": "1", method.published: "0.46"}, results) == ""
    assert path_tables.fold_note(COLUMNS["ridge"], {"fold": "2"}, results) == ""


def test_the_path_table_takes_the_hit_nearest_in_ndcg():
    n, results = len(plan.EXPONENTS), {}
    aps = np.full(n, 0.1)
    aps[[4, 9]] = 0.5
    for method in plan.PATHS:
        for fold in plan.FOLDS:
            cell = made_up_path(aps.tolist(), [0.0] * n)
            cell["test"][9] = {
                name: of + 0.2 * (name != "AP") for name, of in cell["test"][9].items()
            }
            results[plan.path_name(method, fold)] = cell
    columns = [method.published for method in plan.PATHS]
    maps = [{"fold": str(fold)} | dict.fromkeys(columns, "0.5") for fold in plan.FOLDS]
    ndcg = [{"k": str(k)} | dict.fromkeys(columns, str(0.7 + k / 100)) for k in plan.CUTOFFS]
    table = path_tables.path_table(maps, ndcg, results)
    assert "C = 2^-21, 2^-21, 2^-21, 2^-21, 2^-21" in table.caption
    assert "10 of 10 published values of nDCG agree" in table.caption
    assert {value.verdict for value in table.values} == {Verdict.NOT_EVIDENCE}
    assert len(table.values) == 2 * (5 + 10)
    assert path_tables.path_table(maps, ndcg, {}).values == []


def made_up_svm():
    """RankSVM's cells of all folds: AP on the test part rises with C."""
    results = {}
    for fold in plan.FOLDS:
        for path in (plan.SQUARED, plan.HINGE, *plan.CHANGED):
            n = len(path.C)
            results[plan.hinge_name(path, fold)] = {
                "vali": [0.1] * 2 + [0.2] + [0.1] * (n - 3),
                "test": (np.arange(n) + float(fold)).tolist(),
                "objective": (np.arange(n) / 100).tolist(),
            }
        steps = np.arange(8.0).reshape(len(plan.STOPPED_C), len(plan.PASSES))
        results[plan.early_stop_name(fold)] = {
            "test": (steps + fold).tolist(),
            "excess": (steps / 10).tolist(),
        }
    return results


def test_rank_svms_tables_show_every_c_the_chosen_one_and_the_mean_of_complete_folds():
    results = made_up_svm()

    def found():
        made = rank_svm_tables.rank_svm_tables(results, ["0.3", "0.4", "0.5", "0.6", "0.7", "0.5"])
        return [{(v.row, v.column): v.ours for v in table.values} for table in made], made

    (ap, objective, why), made = found()
    assert len(ap) == len(objective) == 2 * 9 * 6
    assert ap["hinge, C = 1e-05", "fold 2"] == 3.0
    assert ap["hinge, C = 100", "mean"] == 11.0
    assert objective["squared hinge, C = 100", "fold 5"] == 0.08
    assert why["squared hinge, features as they are", "fold 4"] == 6.0  # C number 2
    assert why["hinge, worst C for the test part", "mean"] == 3.0
    assert why["hinge, best C for the test part", "mean"] == 11.0
    last = "hinge, C = 1, stopped after 20 passes"
    assert (why[last, "mean"], why[last, "objective over its minimum"]) == (10.0, 0.7)
    assert "0.3, 0.4, 0.5, 0.6, 0.7, mean 0.5" in made[0].caption
    del results[plan.hinge_name(plan.HINGE, 3)], results[plan.early_stop_name(1)]
    (ap, _, why), _ = found()
    assert ap["hinge, C = 100", "mean"] is None
    assert why[last, "mean"] is None
    assert why["squared hinge", "mean"] == 5.0


@pytest.fixture
def small_fold(rng):
    def part(n_queries):
        qid = np.repeat(np.arange(n_queries), 9)
        X = rng.normal(size=(len(qid), 3)) * [1.0, 10.0, 0.1]
        y = np.clip(np.round(X[:, 0] + rng.normal(size=len(qid))), 0, 2)
        return RankingData(X, y, qid=qid)

    return Fold(part(12), part(6), part(6), "fold1")


@pytest.mark.parametrize("path", [plan.HINGE, plan.CHANGED[0], plan.CHANGED[2]])
def test_the_objective_of_a_path_is_the_rankers(path, small_fold):
    params = {
        "loss": path.loss, "query_weight": path.query_weight, "scaling": path.scaling,
        "C": [0.1, 10.0],
    }  # fmt: skip
    found = rank_svm_paths.hinge(small_fold, params, "letor3")
    train = small_fold.train
    X = QueryScaler().fit(train.X).transform(train.X) if path.scaling == "global" else train.X
    upper, _ = rank_svm_paths.listed_pairs(train)
    assert len(upper) == sum(
        train.y[i] > train.y[j]
        for i in range(len(X))
        for j in range(len(X))
        if train.qid[i] == train.qid[j]
    )
    ranker = RankSVM(C=10.0, loss=path.loss, query_weight=path.query_weight).fit(
        X, train.y, qid=train.qid
    )
    n_pairs = len(upper) / (81 if path.query_weight == "query" else 1)
    assert found["objective"][1] == pytest.approx(ranker.objective_ / (10.0 * n_pairs), rel=1e-3)
    assert len(found["vali"]) == len(found["test"]) == 2


def test_many_passes_come_to_the_minimum(small_fold):
    params = {"fold": 1, "C": [1.0], "passes": [1, 20_000]}
    ((one, many),) = rank_svm_paths.stop_early(small_fold, params, "letor3")["excess"]
    assert one > 0.02
    assert abs(many) < 5e-3


def test_figure_2_shows_means_and_spread_over_draws():
    rng = np.random.default_rng(0)
    values = {
        (n, seed): rng.random(len(plan.EXPONENTS[::2])).tolist()
        for n in plan.NODES
        for seed in plan.NODE_SEEDS
    }
    results = {plan.nodes_name(*key): value for key, value in values.items()}
    by_c, by_nodes = figures.figures(results, quick=False)
    line = next(line for line in by_c.series if line.label == "200 nodes")
    of = np.array([values[200, seed] for seed in plan.NODE_SEEDS])
    np.testing.assert_allclose(line.ours, of.mean(axis=0))
    np.testing.assert_allclose(line.error, of.std(axis=0, ddof=1))
    assert line.x[10] == 2.0**-10
    at = next(line for line in by_nodes.series if line.label == "C = 2^-10")
    assert at.ours[list(plan.NODES).index(200)] == line.ours[10]
    assert figures.figures({}, quick=False) == ()
