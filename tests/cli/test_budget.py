"""``rankwise budget``: runs or a table in, a table by depth and advice out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankwise.datasets import read_qrels, read_run
from rankwise.decisions import rerank_budget


@pytest.fixture
def folder(tmp_path):
    """A table with scores of a first stage and a reranker, and the same as runs and judgements."""
    rng = np.random.default_rng(0)
    n, size = 30, 12
    qid, ids = np.repeat(np.arange(n), size), np.tile(np.arange(size), n)
    y = (rng.random(n * size) < 0.25).astype(int)
    first, new = y + rng.normal(size=n * size), y + rng.normal(0, 0.3, n * size)
    new[rng.random(n * size) < 0.1] = np.nan
    columns = {"qid": qid, "doc_id": ids, "label": y, "bm25": first, "ce": new, "age": first**2}
    table = pd.DataFrame(columns)
    table.to_csv(tmp_path / "judged.csv", index=False)
    for name in ("bm25", "ce"):
        known = table[table[name].notna()]
        lines = [
            f"{q} Q0 d{d} 0 {s} {name}\n"
            for q, d, s in zip(known.qid, known.doc_id, known[name], strict=True)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    rows = zip(qid, ids, y, strict=True)
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 d{d} {g}\n" for q, d, g in rows))
    return tmp_path


def test_runs(rankwise, folder):
    paths = [folder / name for name in ("bm25.run", "ce.run", "qrels.txt")]
    options = ("--price", "0.01", "--seconds", "0.5", "--depths", "5,12", "--margin", "0.2")
    run = rankwise("budget", *paths, *options, "--json")
    assert run.code == 0, run.err
    start, scored = read_run(paths[0]), read_run(paths[1])
    found = rerank_budget(
        start, scored, read_qrels(paths[2]), depths=[5, 12], margin=0.2, price=0.01, seconds=0.5
    )
    assert run.json == found.to_dict() | {"labels": None}
    run = rankwise("budget", *paths, *options)
    assert found.advice[0] in " ".join(run.out.split()) and "cost" in run.out


def test_columns_of_a_table(rankwise, folder):
    words = ("budget", "column:bm25", "column:ce", folder / "judged.csv", "--measure", "AP")
    run = rankwise(*words, "--labels", "--json")
    assert run.code == 0, run.err
    table = pd.read_csv(folder / "judged.csv")
    found = rerank_budget("column:bm25", "column:ce", table, measure="AP")
    assert run.json["mean"] == pytest.approx(found.mean.tolist())
    assert run.json["labels"]["queries"] == [5, 10, 20, 24]
    assert "labelled by the model are worth" in rankwise(*words, "--labels").out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--depths", "5,x"), "--depths"),
        (("--depths", "2.5"), "--depths must be a whole number >= 1, got 2.5"),
        (("--margin", "-1"), "--margin must be a number >= 0"),
        (("--depths", "inf"), "--depths must be a whole number >= 1, got inf"),
        (("--measure", "AP,RR"), "a measure must be Name"),
        (("--labels",), "must be judged rows with features"),
    ],
)
def test_wrong_options(rankwise, folder, options, problem):
    paths = [folder / name for name in ("bm25.run", "ce.run", "qrels.txt")]
    run = rankwise("budget", *paths, *options)
    assert run.code in (1, 2) and problem in run.err


def test_a_column_that_is_missing(rankwise, folder):
    run = rankwise("budget", "column:bm25", "column:reranker", folder / "judged.csv")
    assert run.code in (1, 2) and "'reranker'" in run.err
