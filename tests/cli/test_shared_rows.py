"""Validation and test rows that are training rows: `fit`, `compare` and `lint` notice them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise import RidgeRanker, compare
from rankwise.datasets import Fold, FoldedData, RankingData, lint, write_letor
from rankwise.datasets.linting import find_copies
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
    for words in ({}, {"space": {"alpha": [0.1, 1.0]}}):
        assert not tune(RidgeRanker(), train, apart, "AP", **words).notes
        for other, count in ((some, "10 of 25"), (same, "20 of 20")):
            (note,) = tune(RidgeRanker(), train, other, "AP", **words).notes
            assert note.startswith(f"validation part: {count} rows are training rows")


def test_folders_of_folds(rankwise, parts, tmp_path):
    train, apart, _, same = parts
    for fold, test in (("Fold1", apart), ("Fold2", same)):
        (tmp_path / fold).mkdir()
        for name, part in (("train", train), ("vali", apart), ("test", test)):
            write_letor(part, tmp_path / fold / f"{name}.txt")
    run = rankwise("compare", tmp_path, "--rankers", "ridge()", "--wide")
    assert run.code == 0 and "test part of fold2: 20 of 20 rows are training rows" in run.out


def _copies():
    """Two tables by the way in which their equal rows differ, and the number of shared rows."""
    rng = np.random.default_rng(1)
    X, y, qid = rng.normal(size=(60, 3)), rng.integers(0, 3, 60).astype(float), np.arange(60) // 5
    whole, gaps, codes = X.round(), X.copy(), X.copy()
    gaps[::3, 1] = np.nan
    flipped = np.where(np.isnan(gaps), -np.nan, gaps)
    zeros, mixed, anew = np.zeros_like(X), X * (np.arange(60) % 5 > 1)[:, None], X + 1
    anew[mixed == 0] = 0
    codes[:, 2] = np.arange(60) % 2
    brands = {2: np.array(["a", "b"], dtype=object)}

    def table(X=X, qid=qid, doc_ids=None, **words):
        return RankingData(X, y, qid=qid, doc_ids=doc_ids, **words)

    with np.errstate(over="ignore"):
        huge, narrow_huge = X * 1e300, (X * 1e300).astype(np.float32)
    names = ["a", "b", "c"]
    text = table(codes, feature_names=names, categories=brands)
    moved = table(codes[:, [0, 2, 1]], feature_names=names, categories={1: brands[2]})
    return {
        "zeros": (table(zeros), table(zeros), 60),
        "sparse zeros": (table(zeros), table(sparse.csr_matrix(zeros)), 60),
        "rows of zeros beside others": (table(mixed), table(mixed), 60),
        "zeros of other queries with the same number": (table(mixed), table(anew), 0),
        "qid float": (table(), table(qid=qid.astype(float)), 60),
        "qid text": (table(), table(qid=qid.astype(str)), 60),
        "qid text of floats": (table(), table(qid=qid.astype(float).astype(str)), 60),
        "qid large": (table(qid=qid + 10**16), table(qid=(qid + 10**16).astype(object)), 60),
        "qid large float": (table(qid=(qid + 1) * 10**14), table(qid=(qid + 1) * 1e14), 60),
        "qid of objects": (table(), table(qid=np.array([*map(float, qid)], dtype=object)), 60),
        "other qid": (table(), table(qid=qid + 0.5), 0),
        "doc ids": (table(doc_ids=np.arange(60)), table(doc_ids=np.arange(60.0)), 60),
        "other doc ids": (table(doc_ids=np.arange(60)), table(doc_ids=np.arange(1, 61)), 0),
        "float32": (table(), table(X.astype(np.float32)), 60),
        "float32 that trains": (table(X.astype(np.float32)), table(), 60),
        "beyond float32": (table(huge), table(narrow_huge), 60),
        "float16": (table(), table(X.astype(np.float16)), 60),
        "int": (table(whole), table(whole.astype(int)), 60),
        "int8 and float32": (table(whole.astype(np.int8)), table(whole.astype(np.float32)), 60),
        "negative zero": (table(mixed), table(np.where(mixed == 0, -0.0, mixed)), 60),
        "NaN": (table(gaps), table(gaps.astype(np.float32)), 60),
        "NaN with a sign": (table(gaps), table(flipped), 60),
        "sparse": (table(mixed), table(sparse.csr_matrix(mixed)), 60),
        "sparse float32": (table(mixed), table(sparse.csr_matrix(mixed.astype(np.float32))), 60),
        "sparse NaN": (table(gaps), table(sparse.csr_matrix(flipped)), 60),
        "Fortran": (table(), table(np.asfortranarray(X)), 60),
        "text in one table": (text, table(X), 0),
        "text in other columns": (text, moved, 0),
        "no features": (table(X[:, :0]), table(X[:, :0]), 0),
    }  # fmt: skip


COPIES = _copies()


@pytest.mark.parametrize("case", COPIES)
def test_rows_are_the_same_in_any_type(case):
    train, other, count = COPIES[case]
    found = (f"{count} of 60 rows are training rows (same query, label and features)", True)
    assert find_copies(train, other) == (found if count else ("", False))
    leaks = [
        row.count for row in lint(Fold(train, other, other)).rows if "rows that are" in row.what
    ]
    assert not count or {*leaks} == {60}
