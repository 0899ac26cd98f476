"""``lint --against`` and ``warm-up``: what a model needs around it when it serves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PowerTransformer

from rankwise import LambdaMART, RidgeRanker, load, save
from rankwise.datasets import RowSummary, read_letor, write_letor
from rankwise.persistence import describe
from rankwise.selection import find_drift

from .conftest import judged_data


@pytest.fixture
def model(rankwise, tmp_path):
    path = tmp_path / "train.txt"
    write_letor(judged_data(0, n_queries=60), path)
    out = tmp_path / "m.rw"
    run = rankwise("fit", path, "--ranker", "ridge", "--out", out)
    assert run.code == 0, run.err
    return out


def test_rows_of_the_same_kind_pass(rankwise, model, tmp_path):
    path = tmp_path / "new.txt"
    write_letor(judged_data(1, n_queries=60, first_query=100), path)
    run = rankwise("lint", path, "--against", model, "--json")
    assert run.code == 0, run.err
    data = read_letor(path)
    before = RowSummary.from_dict(describe(model)["rows"])
    expected = find_drift(before, data.X, data.qid, estimator=load(model))
    assert run.json["ok"] is True
    assert [c["name"] for c in run.json["columns"]] == [c.name for c in expected.columns]
    assert "0 of 5 columns have moved" in rankwise("lint", path, "--against", model).out


def test_rows_that_moved_exit_with_1(rankwise, model, tmp_path):
    data = judged_data(1, n_queries=60)
    data.X[:, 0] *= 0.6
    path = tmp_path / "new.csv"
    names = [f"f{i}" for i in range(4)]
    lines = [",".join(["qid", *names])]
    lines += [",".join(map(str, [q, *row])) for q, row in zip(data.qid, data.X, strict=True)]
    path.write_text("\n".join(lines))
    run = rankwise("lint", path, "--against", model)
    assert run.code == 1, run.err
    assert "scores of the model" in run.out
    assert "valid feature names" not in run.err
    assert "summary of 480 rows, 60 queries" in rankwise("info", model).out
    empty = tmp_path / "empty.csv"
    empty.write_text("qid,f0,f1,f2,f3\n")
    assert "has no rows to compare" in rankwise("lint", empty, "--against", model).err
    assert "2 of 5 columns have moved" in run.out


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_rows_without_queries_are_no_queries_of_one_row(rankwise, model, tmp_path, suffix):
    data = judged_data(1, n_queries=60)
    path = tmp_path / f"new{suffix}"
    if suffix == ".csv":
        lines = ["f0,f1,f2,f3", *(",".join(map(str, row)) for row in data.X)]
    else:
        lines = [" ".join(["0", *(f"{j}:{x}" for j, x in enumerate(row, 1))]) for row in data.X]
    path.write_text("\n".join(lines) + "\n")
    run = rankwise("lint", path, "--against", model)
    assert "note: the rows name no queries, and are tested as independent ones" in run.out
    assert "Pass --qid" in run.out
    assert "fewer rows" not in run.out
    assert "mean score at rank" not in run.out


def test_what_cannot_be_compared(rankwise, model, tmp_path):
    plain = save(load(model), tmp_path / "plain.rw")
    path = tmp_path / "train.txt"
    run = rankwise("lint", path, "--against", plain)
    assert run.code == 1
    assert "has no summary of its training rows" in run.err
    assert rankwise("lint", path, "--against", tmp_path / "no.rw").code == 2
    assert rankwise("lint", path, "--against", model, "--cv", "3").code == 2


def test_warm_up_fits_rankers_and_scores_with_models(rankwise, model):
    run = rankwise("warm-up", "ridge", "lambdamart", model, "--json")
    assert run.code == 0, run.err
    assert list(run.json["seconds"]) == ["ridge", "lambdamart", str(model)]
    assert "ridge" in rankwise("warm-up", "ridge").out
    assert rankwise("warm-up", "no_ranker").code == 2
    assert "is not a model file" in rankwise("warm-up", "nothere.rw").err


def test_warm_up_of_a_model_that_knows_its_columns(rankwise, tmp_path):
    data = judged_data(0)
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    model = LambdaMART(5).fit(frame, data.y, qid=data.qid)
    path = save(model, tmp_path / "m.rw")
    assert rankwise("warm-up", path).code == 0


@pytest.mark.parametrize(
    ("encoder", "other", "code"),
    [
        (OneHotEncoder(), "passthrough", 0),
        (OrdinalEncoder(), "passthrough", 0),
        (OneHotEncoder(), PowerTransformer(method="box-cox"), 2),  # takes no zeros
    ],
    ids=["one-hot", "ordinal", "unknown"],
)
def test_warm_up_of_a_pipeline_that_encodes_text(rankwise, tmp_path, encoder, other, code):
    data = judged_data(0)
    frame = pd.DataFrame(np.abs(data.X) + 1, columns=list("abcd"))
    frame["meal"] = np.where(data.X[:, 0] > 0, "lunch", "dinner")
    frame["unused"] = "text"
    columns = make_column_transformer((encoder, ["meal"]), (other, ["a", "b"]))
    pipeline = make_pipeline(columns, RidgeRanker()).fit(frame, data.y, ridgeranker__qid=data.qid)
    path = save(pipeline, tmp_path / "m.rw")
    run = rankwise("warm-up", path)
    assert run.code == code, run.err
    assert "warm_up(" not in run.err
    if code:
        assert f"rows for {path} cannot be made up (" in run.err
        assert f"rankwise predict {path} DATA" in run.err
