"""Ordinal estimators on the command line: scores to rank by, classes for measures of ranks."""

from __future__ import annotations

import numpy as np
import pytest

import rankwise as rw
from rankwise import persistence
from rankwise._registry import RANKING, REGISTRY, Entry
from rankwise.datasets import read_letor
from tests.ordinal_column import OrdinalColumn


@pytest.fixture(autouse=True)
def ordinal_column(monkeypatch):
    """The registry with one ordinal estimator more."""
    entry = Entry("tests.ordinal_column:OrdinalColumn", "ordinal", "A column of X")
    for table in (REGISTRY, RANKING):
        monkeypatch.setitem(table, "ordinal_column", entry)
    trusted = (*persistence.TRUSTED_TYPES, "tests.ordinal_column.OrdinalColumn")
    monkeypatch.setattr(persistence, "TRUSTED_TYPES", trusted)


@pytest.fixture
def model(rankwise, letor_file, tmp_path):
    """A fitted ordinal model's file."""
    run = rankwise("fit", letor_file, "--ranker", "ordinal_column", "--out", tmp_path / "m")
    assert run.code == 0, run.err
    return tmp_path / "m"


def test_a_model_predicts_scores_or_classes(rankwise, letor_file, model, tmp_path):
    data = read_letor(letor_file)
    fitted = OrdinalColumn().fit(data.X, data.y, qid=data.qid)
    scores = rankwise("predict", model, letor_file)
    np.testing.assert_array_equal([float(x) for x in scores.out.split()], fitted.rank_score(data.X))
    out = tmp_path / "classes.txt"
    assert rankwise("predict", model, letor_file, "--classes", "--out", out).code == 0
    np.testing.assert_array_equal(np.loadtxt(out), fitted.predict(data.X))
    as_json = rankwise("predict", model, letor_file, "--classes", "--json").json
    assert as_json["format"] == "classes"
    assert as_json["classes"] == fitted.predict(data.X).tolist()
    loaded = rw.load(model)
    np.testing.assert_array_equal(loaded.predict(data.X), fitted.predict(data.X))


def test_the_measures_of_ranks_take_the_classes_from_a_file(rankwise, letor_file, model, tmp_path):
    out = tmp_path / "classes.txt"
    rankwise("predict", model, letor_file, "--classes", "--out", out)
    data = read_letor(letor_file)
    fitted = OrdinalColumn().fit(data.X, data.y)
    found = rankwise("evaluate", out, letor_file, "--measures", "MAE,Kappa", "--json").json
    wanted = rw.evaluate(data.y, fitted.predict(data.X), data.qid, ["MAE", "Kappa"])
    for name, value in wanted.items():
        assert found["measures"][name]["mean"] == pytest.approx(value)


def test_classes_of_a_model_without_any(rankwise, letor_file, model, tmp_path):
    assert rankwise("fit", letor_file, "--ranker", "ridge", "--out", tmp_path / "r").code == 0
    run = rankwise("predict", tmp_path / "r", letor_file, "--classes")
    assert run.code == 2
    assert "needs a model that predicts classes" in run.err
    run = rankwise("predict", model, letor_file, "--classes", "--format", "trec", "--out", "x.run")
    assert run.code == 2
    assert "a TREC run holds scores, but --classes writes none" in run.err


def test_the_list_names_kinds(rankwise):
    rows = rankwise("list", "rankers", "--json").json["rankers"]
    listed = {row["name"]: row["kind"] for row in rows}
    assert (listed["ordinal_column"], listed["ridge"]) == ("ordinal", "ranker")
    assert "ordinal_column" in rankwise("list", "rankers").out


def test_compare_and_cv_measure_scores_and_classes(rankwise, letor_file, tmp_path):
    measures = ("--measures", "nDCG@5,MAE,Kappa(weights=quadratic)")
    report = tmp_path / "report.html"
    run = rankwise(
        "compare", letor_file, "--rankers", "ordinal_column,ridge", "--cv", "3", *measures,
        "--report", report, "--json",
    )  # fmt: skip
    assert run.code == 0, run.err
    rows = {row["ranker"]: row for row in run.json["rows"]}
    assert all("skewed" in note for note in rows["ordinal_column"]["notes"])
    assert "MAE, Kappa of its scores" in rows["ridge"]["notes"][0]
    assert all(cell["ranks"] for cell in run.json["cells"] if cell["ranker"] == "ordinal_column")
    cv = rankwise("cv", letor_file, "--ranker", "ordinal_column", "--cv", "3", *measures)
    assert cv.code == 0, cv.err
    assert "Kappa(weights=quadratic)" in cv.out
