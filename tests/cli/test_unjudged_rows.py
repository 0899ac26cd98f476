"""``--unjudged``: rows without a judgement in ``evaluate`` and ``compare``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankwise.datasets import write_letor
from rankwise.selection import compare, evaluate_systems

from .conftest import judged_data


@pytest.fixture
def data():
    whole = judged_data(0)
    return replace(whole, judged=np.random.default_rng(1).random(len(whole)) < 0.7)


@pytest.fixture
def letor(tmp_path, data):
    path = tmp_path / "rows.txt"
    marked = replace(data, y=np.where(data.judged, data.y, -1.0), judged=None)
    write_letor(marked, path)
    return path


@pytest.fixture
def table(tmp_path, data):
    path = tmp_path / "rows.csv"
    lines = [
        ",".join([str(q), "" if np.isnan(y) else str(int(y)), *map(repr, x)])
        for q, y, x in zip(data.qid.tolist(), data.y.tolist(), data.X.tolist(), strict=True)
    ]
    path.write_text("\n".join(["qid,label,a,b,c,d", *lines]))
    return path


def test_one_system_shows_the_share(rankwise, letor, table, data):
    wanted = evaluate_systems(data, {"x": data.X[:, 0]}, measures="nDCG@5").unjudged("x")
    assert 0.1 < wanted < 0.5
    for file, column, label in ((letor, "1", "-1"), (table, "a", "missing")):
        words = ("evaluate", f"column:{column}", file, "--unjudged", label, "--measures", "nDCG@5")
        run = rankwise(*words, "--json")
        assert run.code == 0, run.err
        assert run.json["measures"]["nDCG@5"]["unjudged"] == pytest.approx(wanted)
        assert f"{wanted:.1%}" in rankwise(*words).out


def test_comparisons_say_what_could_change(rankwise, letor, table, data):
    board = compare(["ridge", "linear_regression"], data, cv=3, measures="P@3")
    for file, label in ((letor, "-1"), (table, "missing")):
        run = rankwise(
            "compare", file, "--unjudged", label, "--rankers", "ridge,linear_regression",
            "--measures", "P@3", "--cv", "3",
        )  # fmt: skip
        assert run.code == 0, run.err
        for line in str(board).splitlines():
            if "judged" in line:
                assert line in run.out
        assert "Unjudged documents count as not relevant: P@3" in run.out
        assert "Rankers were fitted on judged rows only:" in run.out


def test_parts_in_files_are_marked(rankwise, letor, tmp_path):
    narrow = tmp_path / "narrow.txt"
    rows = "1 qid:{0} 1:0.5\n-1 qid:{0} 1:0.7\n0 qid:{0} 1:0.1\n"
    narrow.write_text(rows.format(90) + rows.format(91))
    run = rankwise("compare", letor, "--test-data", narrow, "--unjudged", "-1",
                   "--rankers", "ridge,column:1", "--measures", "P@2", "--json")  # fmt: skip
    assert run.code == 0, run.err
    assert run.json["folds"][0]["n_unjudged"] > 0
    assert run.json["rows"][0]["unjudged"] == 0.5


def test_wrong_uses_are_named(rankwise, letor, table):
    for words, said in (
        ((letor, "--unjudged", "missing"), "every line of rows has a label. Name that of"),
        ((letor, "--unjudged", "none"), "--unjudged must be 'missing' or a label such as -1, got"),
        (("lambdarank", "--unjudged", "-1"), "'lambdarank' is not a file. --unjudged marks rows"),
        ((table,), "label must be finite, column 'label' has nan"),
    ):
        run = rankwise("compare", *words, "--rankers", "ridge")
        assert run.code == 2 or "finite" in said, run.err
        assert said in run.err
