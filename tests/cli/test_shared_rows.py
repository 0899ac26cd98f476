"""Validation and test rows that are training rows: `fit`, `compare` and `lint` notice them."""

from __future__ import annotations

import numpy as np
import pytest

N_QUERIES, N_ROWS = 8, 5


def write(path, queries, *, shift=0.0, numbered_anew=False, text=False, doc_ids=True):
    """Rows of some queries, always the same for the same query and ``shift``."""
    names = ["qid", "label", "price", "stars", *["brand"] * text, *["doc_id"] * doc_ids]
    lines = [",".join(names)]
    for number, query in enumerate(queries):
        rng = np.random.default_rng(query)
        for row in range(N_ROWS):
            label = int(rng.integers(3))
            values = (rng.normal(size=2) + label + shift).round(3).tolist()
            cells = [number if numbered_anew else query, label, *values]
            cells += [f"b{(query + row) % 3}"] * text + [f"d{row}"] * doc_ids
            lines.append(",".join(map(str, cells)))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    return lambda name, queries, **words: write(tmp_path / name, queries, **words)


@pytest.mark.parametrize("words", [{}, {"text": True}, {"doc_ids": False}], ids=str)
def test_fit_refuses_validation_rows_that_are_training_rows(rankwise, files, tmp_path, words):
    every = files("all.csv", range(N_QUERIES), **words)
    week = files("week.csv", range(2, 5), **words)
    ranker = "lambdamart" if "text" in words else "ridge"
    out = tmp_path / "model.rw"
    run = rankwise("fit", every, "--vali-data", week, "--ranker", ranker, "--out", out)
    assert run.code == 1, run.err
    assert "15 of 15 rows of --vali-data" in run.err and "drop --vali-data" in run.err
    assert not out.exists()
    found = rankwise("lint", every, "--vali-data", week, "--json")
    assert found.code == 1, found.err
    (finding,) = (row for row in found.json["rows"] if "rows that are rows" in row["what"])
    assert (finding["level"], finding["count"], finding["total"]) == ("error", 15, 15)


@pytest.mark.parametrize(
    ("queries", "words", "count"),
    [
        ((2, 20, 21), {}, 5),  # one of three queries
        ((20, 21), {}, 0),
        ((2, 3), {"shift": 1.0}, 0),  # other features
        ((3, 4, 5), {"numbered_anew": True}, 0),  # other ids
    ],
)
def test_fewer_shared_rows_are_a_note(rankwise, files, tmp_path, queries, words, count):
    every, week = files("all.csv", range(N_QUERIES)), files("week.csv", queries, **words)
    arguments = ("--ranker", "ridge", "--out", tmp_path / "model.rw", "--json")
    run = rankwise("fit", every, "--vali-data", week, *arguments)
    assert run.code == 0, run.err
    notes = [note for note in run.json["notes"] if "--vali-data" in note]
    assert len(notes) == bool(count)
    assert all(note.startswith(f"{count} of ") for note in notes)


@pytest.mark.parametrize("option", ["--vali-data", "--test-data"])
def test_compare_refuses_them_too(rankwise, files, option):
    every = files("all.csv", range(N_QUERIES))
    parts = {"--vali-data": files("vali.csv", (20, 21)), "--test-data": files("test.csv", (22, 23))}
    words = [word for pair in parts.items() for word in pair]
    run = rankwise("compare", every, *words, "--rankers", "ridge", "--json")
    assert run.code == 0, run.err
    parts[option] = files("week.csv", (3, 4))
    words = [word for pair in parts.items() for word in pair]
    run = rankwise("compare", every, *words, "--rankers", "ridge")
    assert run.code == 1 and f"10 of 10 rows of {option}" in run.err, run.err
