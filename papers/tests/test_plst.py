"""The PLST experiment: curves are those of the estimators, every cell runs, tables of anything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankwise import ModelTree
from rankwise.datasets import MultiLabelData
from rankwise.experiments import Verdict
from rankwise.labels import PLST, BinaryRelevance, CompressedSensing, PartialBinaryRelevance
from rankwise_papers.tai2012 import linear, parts, piecewise, plan, tables, tuned
from rankwise_papers.tai2012.experiment import LabelSpaces

EXPERIMENT = LabelSpaces()
CELLS = {cell.name: cell for cell in EXPERIMENT.cells(False)}


@pytest.fixture
def data(rng, monkeypatch):
    """Six labels in place of the set's."""
    X = rng.normal(size=(90, 5))
    Y = (X @ rng.normal(size=(5, 6)) + rng.normal(size=(90, 6)) > 0.7).astype(int)
    made = MultiLabelData(X, Y, name="small")
    for module in (linear, piecewise, tuned):
        monkeypatch.setattr(module, "rows_of", lambda source: made)
    monkeypatch.setattr(tuned, "N_FREQUENCIES", 20)
    return made


def run(name, **params):
    cell = CELLS[name]
    return EXPERIMENT.run(replace(cell, params={**cell.params, **params}))


def loss(model, data, test):
    return float(np.mean(model.predict(data.X[test]) != data.Y[test]))


def test_ridge_cells_are_the_estimators(data):
    found = run("emotions/ridge", n_splits=3, n_axes=2, grid=[1, 2, 4, 6])
    for seed in range(3):
        train, test = parts.split(90, seed)
        assert (len(train), len(test)) == (81, 9)
        X, Y = data.X[train], data.Y[train]
        full = BinaryRelevance(0.01).fit(X, Y)
        assert found["BR"][seed] == pytest.approx(loss(full, data, test), abs=1e-12)
        assert found["PBR curve"][seed][-1] == found["BR"][seed]
        for place, size in enumerate([1, 2, 4, 6]):
            model = PLST(size, alpha=0.01).fit(X, Y)
            assert found["PLST curve"][seed][place] == pytest.approx(loss(model, data, test))
            codes = model.encode_labels(data.Y[test])
            ideal = parts.hamming(model.decode_scores(codes), data.Y[test] > 0)
            assert found["ideal PLST"][seed][place] == pytest.approx(ideal)
        assert found["PLST"][seed] == found["PLST curve"][seed][1]
        assert found["ideal PLST"][seed][-1] == found["ideal PBR"][seed][-1] == 0


def test_subsets_are_split_as_the_whole_set(data):
    params = {"n_rows": 30, "n_splits": 3, "n_axes": 2, "n_draws": 2}
    found = run("emotions/subset/119", **params)
    assert found["sizes"] == [27, 3]
    for seed in range(3):
        train, test = parts.split(90, seed, 30)
        assert not set(train) & set(test)
        whole, _ = parts.split(90, seed)
        assert set(train) <= set(whole)
        X, Y = data.X[train], data.Y[train]
        assert found["BR"][seed] == pytest.approx(loss(BinaryRelevance(0.01).fit(X, Y), data, test))
        plst = PLST(2, alpha=0.01).fit(X, Y)
        assert found["PLST"][seed] == pytest.approx(loss(plst, data, test))
        for draw in range(2):
            model = CompressedSensing(2, 3, random_state=draw, alpha=0.01).fit(X, Y)
            assert found["CS"][draw][seed] == pytest.approx(loss(model, data, test))
    for part, of_all in zip(parts.split(90, 0, 90), parts.split(90, 0), strict=True):
        np.testing.assert_array_equal(part, of_all)


def test_a_fitted_size_is_no_evidence(data):
    name = f"emotions/subset/{tables.FITTED_SIZE}"
    results = {name: run(name, n_rows=30, n_splits=3, n_draws=2)}
    made = {table.name: table for table in EXPERIMENT.tables(results, False)}
    values = made["subsets-emotions"].values
    beside = [of for of in values if of.paper is not None]
    assert [of.column for of in beside] == ["full BR", "PLST", "CS, mean of draws"]
    assert {of.verdict for of in beside} == {Verdict.NOT_EVIDENCE}
    assert [of.paper for of in beside] == [0.30069, 0.26417, 0.32889]
    assert all(of.row.endswith("fitted size") for of in beside)
    columns = {of.column: of.ours for of in values}
    spread = np.std(results[name]["BR"], ddof=1)
    assert columns["± of 20 splits, BR"] == pytest.approx(spread / np.sqrt(20))
    assert sum(of.verdict is Verdict.NOT_RUN for of in values) == 7  # the other sizes


def test_partial_losses_are_those_of_partial_binary_relevance(data):
    train, test = parts.split(90, 0)
    model = PartialBinaryRelevance(4, random_state=1).fit(data.X[train], data.Y[train])
    full = BinaryRelevance().fit(data.X[train], data.Y[train]).predict(data.X[test])
    wrong, absent = (full != data.Y[test]).sum(axis=0), data.Y[test].sum(axis=0)
    order = np.concatenate([model.drawn_, np.setdiff1d(np.arange(6), model.drawn_)])
    losses = parts.partial_losses(wrong, absent, order, len(test), [0, 4])
    assert losses == pytest.approx([data.Y[test].mean(), loss(model, data, test)])


def test_tree_cells_are_the_estimators(data):
    found = run("emotions/tree/0", grid=[1, 3, 6])
    train, test = parts.split(90, 0)
    for place, size in enumerate([1, 3, 6]):
        model = PLST(size, estimator=ModelTree()).fit(data.X[train], data.Y[train])
        assert found["PLST"][place] == pytest.approx(loss(model, data, test))
    full = BinaryRelevance(estimator=ModelTree()).fit(data.X[train], data.Y[train])
    assert found["BR"] == found["PBR"][-1] == pytest.approx(loss(full, data, test))


def test_compressed_trees_of_every_M_are_the_estimators(data):
    """The trees of the most projections are those of fewer."""
    grid = [1, 2, 4, 6]
    found = run("emotions/tree-cs/1", grid=grid)
    train, test = parts.split(90, 1)
    for size, of in zip(grid, found["CS"], strict=True):
        model = CompressedSensing(size, 3, random_state=0, estimator=ModelTree())
        assert of == pytest.approx(loss(model.fit(data.X[train], data.Y[train]), data, test))
    assert len(set(found["CS"])) > 1


def test_curves_have_every_dimension():
    for name in ("emotions", "yeast", "corel5k"):
        n_labels = plan.SETS[name].grid[-1]
        for kind, most in (("tree/0", min(64, n_labels)), ("ridge", n_labels)):
            assert CELLS[f"{name}/{kind}"].params["grid"] == list(range(1, most + 1))
        of = plan.SETS[name].full
        assert 0 < of.tree_cs[0] <= min(5, of.cs[1])
    assert CELLS["corel5k/ours/0"].params["grid"] == list(plan.SETS["corel5k"].grid)


def test_the_tuned_method_sees_training_rows_only(data):
    found = run("emotions/ours/1", grid=[1, 2, 4, 6])
    _, test = parts.split(90, 1)
    data.Y[test] = 1 - data.Y[test]
    again = run("emotions/ours/1", grid=[1, 2, 4, 6])
    assert {**again, "loss": 0} == {**found, "loss": 0}
    assert again["loss"] == pytest.approx(1 - found["loss"])


def test_every_kind_of_cell_makes_tables_and_figures(data):
    small = {"n_axes": 1, "grid": [1, 3, 6]}
    results = {}
    for name in (
        "emotions/statistics", "emotions/ridge", "emotions/cs/0", "emotions/cs/1",
        "emotions/cs-curve/6", "emotions/tree/0", "emotions/tree-cs/0", "emotions/times",
        "emotions/ours/0",
    ):  # fmt: skip
        known = {key: value for key, value in small.items() if key in CELLS[name].params}
        if "n_splits" in CELLS[name].params:
            known["n_splits"] = 2
        results[name] = run(name, **known)
    made = {table.name: table for table in EXPERIMENT.tables(results, True)}
    assert [table.title[:8] for table in made.values()][:2] == ["Table 1:", "Table 2:"]
    of = {value.column: value for value in made["hamming-loss"].values if value.row == "emotions"}
    assert of["full BR"].paper == 0.30069
    assert of["CS"].verdict is Verdict.NOT_EVIDENCE
    assert of["ours, tuned"].ours == results["emotions/ours/0"]["loss"]
    assert all(value.ours is None for value in made["hamming-loss"].values if value.row == "yeast")
    curves = {(v.row, v.column): v.ours for v in made["model-tree-curves"].values}
    last = "emotions, M = 6"
    assert curves[last, "PBR, model tree"] == results["emotions/tree/0"]["BR"]
    assert curves[last, "PBR, ridge"] == results["emotions/ridge"]["BR"][0]
    assert curves[last, "CS, model tree"] == results["emotions/tree-cs/0"]["CS"][-1]
    assert curves[last, "CS, ridge"] == results["emotions/cs-curve/6"][0]
    least = min(results["emotions/tree/0"]["PLST"])
    assert f"emotions: {least:.5f} at M = " in made["model-tree-curves"].caption
    figures = {figure.name: figure for figure in EXPERIMENT.figures(results, True)}
    assert set(figures) == {"ridge-emotions", "tree-emotions"}
    assert "CS, model tree" in {of.label for of in figures["tree-emotions"].series}
    assert {"PLST", "CS", "full BR"} <= {of.label for of in figures["ridge-emotions"].series}
    statistics = results["emotions/statistics"]
    assert statistics["log10_sparsity"] == pytest.approx(
        np.log10(len(np.unique(data.Y, axis=0)) / 2**6)
    )


def test_tables_of_nothing_name_every_published_value():
    made = {table.name: table for table in EXPERIMENT.tables({}, False)}
    assert {value.verdict for value in made["hamming-loss"].values} == {Verdict.NOT_RUN}
    assert sum(value.paper is not None for value in made["hamming-loss"].values) == 15
    assert sum(value.paper is not None for value in made["seconds"].values) == 25
    assert EXPERIMENT.figures({}, False) == []


def test_grids_hold_the_papers_dimensions():
    rows = {row["dataset"]: row for row in EXPERIMENT.published("published.csv")}
    for name, known in plan.SETS.items():
        row = tables.paper_row(rows, name)
        assert known.n_axes == int(row["plst_dims"])
        assert known.n_axes in known.grid
        assert known.sparsity == int(row["nonzero"])
        assert list(known.grid) == sorted(known.grid)
    assert not any(name.startswith(("delicious", "corel5k")) for name in quick_names())


def quick_names():
    return [cell.name for cell in EXPERIMENT.cells(True)]


@pytest.mark.slow
@pytest.mark.usefixtures("blas_of_one_thread")
def test_targets(data_root):
    for name in ("yeast", "corel5k", "delicious"):
        cell = CELLS[f"{name}/ridge"]
        cell = replace(cell, params={**cell.params, "grid": [plan.SETS[name].n_axes]})
        made = EXPERIMENT.tables({cell.name: EXPERIMENT.run(cell)}, False)
        title = plan.SETS[name].title
        values = [of for of in made[1].values if of.row == title]
        verdicts = {of.column: of.verdict for of in values}
        assert verdicts["full BR"] is verdicts["PLST"] is Verdict.MET
