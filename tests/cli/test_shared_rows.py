"""Validation and test rows that are training rows: `fit`, `compare` and `lint` notice them."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RankSVM, RidgeRanker, compare
from rankwise.datasets import Fold, FoldedData, RankingData, write_letor
from rankwise.selection import tune

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
    assert (
        f"--vali-data {week}: 15 of 15 rows are training" in run.err
        and "drop --vali-data" in run.err
    )
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
    notes = [note for note in run.json["notes"] if "are training rows" in note]
    assert len(notes) == bool(count)
    assert all(note.startswith(f"validation part: {count} of ") for note in notes)


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
    assert run.code == 1 and f"{parts[option]}: 10 of 10 rows are training rows" in run.err, run.err


@pytest.fixture(scope="module")
def parts():
    """Training rows, other rows, and other rows with a few of the training rows."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60).astype(float)
    data = RankingData(X, y, qid=np.repeat([f"q{i}" for i in range(12)], 5))
    return [data.queries(rows) for rows in (range(8), range(8, 12), range(6, 11), range(2, 6))]


@pytest.mark.parametrize("part", ["vali", "test"])
@pytest.mark.parametrize("several", [False, True])
def test_compare_looks_at_every_fold(parts, part, several):
    train, apart, some, same = parts

    def text(other):
        fold = Fold(train, **({"vali": apart, "test": apart} | {part: other}), name="a")
        whole = Fold(train, apart, apart, name="b")
        folds = FoldedData("made", ("b", "a"), [whole, fold].__getitem__) if several else fold
        return " ".join(str(compare({"ridge": RidgeRanker()}, folds, isolate=False)).split())

    where = "validation part" if part == "vali" else "test part of a"
    assert "training rows (same" not in text(apart)
    assert f"note: ridge: {where}: 10 of 25 rows are training rows (same" in text(some)
    assert f"{where}: 20 of 20 rows are training rows (same query," in text(same)


def test_tune_looks_at_the_validation_part(parts):
    train, apart, some, same = parts
    for words in ({}, {"space": {"C": [0.1, 1.0]}}):
        assert not tune(RankSVM(), train, apart, "AP", **words).notes
        for other, count in ((some, "10 of 25"), (same, "20 of 20")):
            (note,) = tune(RankSVM(), train, other, "AP", **words).notes
            assert note.startswith(f"validation part: {count} rows are training rows")


def test_folders_of_folds(rankwise, parts, tmp_path):
    train, apart, _, same = parts
    for fold, test in (("Fold1", apart), ("Fold2", same)):
        (tmp_path / fold).mkdir()
        for name, part in (("train", train), ("vali", apart), ("test", test)):
            write_letor(part, tmp_path / fold / f"{name}.txt")
    run = rankwise("compare", tmp_path, "--rankers", "ridge()", "--wide")
    assert run.code == 0 and "test part of fold2: 20 of 20 rows are training rows" in run.out
