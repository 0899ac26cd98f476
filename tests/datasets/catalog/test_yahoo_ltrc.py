"""The Yahoo! challenge's sets: read from the user's folder, refused where they are another."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from rankwise.datasets import load_dataset, load_yahoo_ltrc
from rankwise.metrics import evaluate
from tests.datasets.catalog.yahoo import DOCUMENTS, FEATURES, QUERIES, write_yahoo


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    return write_yahoo(tmp_path, monkeypatch)


def parts_of(fold):
    return [fold.train, fold.vali, fold.test]


def read_naively(path):
    """(y, qid, X) line by line."""
    rows = [line.split() for line in path.read_text().splitlines()]
    X = np.zeros((len(rows), 700))
    for i, (_, _, *values) in enumerate(rows):
        for feature, value in (one.split(":") for one in values):
            X[i, int(feature) - 1] = float(value)
    return [int(row[0]) for row in rows], [int(row[1][4:]) for row in rows], X


def test_parts_are_the_files(folder):
    fold = load_yahoo_ltrc(folder, dtype=np.float64)
    for data, (part, n_queries) in zip(parts_of(fold), QUERIES.items(), strict=True):
        y, qid, X = read_naively(folder / f"set1.{part}.txt")
        np.testing.assert_array_equal(data.y, y)
        np.testing.assert_array_equal(data.qid, qid)
        np.testing.assert_array_equal(data.X, X)
        assert data.X.shape == (n_queries * DOCUMENTS, 700)
        assert data.n_queries == n_queries
        assert data.name == f"yahoo-ltrc-1 {part}"
    assert set(np.unique(fold.train.y)) == {0, 1, 2, 3, 4}
    used = np.flatnonzero(fold.train.X.any(axis=0)) + 1
    np.testing.assert_array_equal(used, FEATURES)
    ids = [set(part.qid) for part in parts_of(fold)]
    assert not (ids[0] & ids[1] or ids[1] & ids[2])


def test_found_as_the_other_sets_are(folder, tmp_path):
    by_path, found, by_name = (
        load_yahoo_ltrc(tmp_path), load_yahoo_ltrc(), load_dataset("yahoo-ltrc-1", 1),
    )  # fmt: skip
    for one, two, three in zip(parts_of(by_path), parts_of(found), parts_of(by_name), strict=True):
        assert one.X.dtype == np.float32
        for other in (two, three):
            np.testing.assert_array_equal(one.X, other.X)
            np.testing.assert_array_equal(one.qid, other.qid)


def test_set_2_and_compressed_files(tmp_path, monkeypatch):
    folder = write_yahoo(tmp_path, monkeypatch, number=2)
    for file in folder.iterdir():
        file.with_suffix(".txt.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    assert load_yahoo_ltrc(folder, 2).train.n_queries == QUERIES["train"]
    with pytest.raises(FileNotFoundError, match=r"set1\.train\.txt of yahoo-ltrc-1 .* Ask for C14"):
        load_yahoo_ltrc(folder)
    with pytest.raises(FileNotFoundError, match="Terms: Closed"):
        load_yahoo_ltrc()
    with pytest.raises(ValueError, match="number must be 1 or 2, got 3"):
        load_yahoo_ltrc(folder, 3)


def test_a_part_of_the_challenge_is_told(folder):
    valid = folder / "set1.valid.txt"
    valid.write_text("".join(valid.read_text().splitlines(keepends=True)[:DOCUMENTS]))
    told = "has 1 queries and 6 rows, the challenge's file 6 and 36"
    with pytest.warns(UserWarning, match=told):
        fold = load_yahoo_ltrc(folder)
    assert fold.vali.n_queries == 1
    with pytest.raises(ValueError, match="must have 6 queries, got 1"):
        load_yahoo_ltrc()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("0 qid", "5 qid", "must have the grades 0 to 4, got 5 in row"),
        ("0 qid", "0.5 qid", r"must have the grades 0 to 4, got 0\.5 in row"),
        (" 700:", " 701:", "701"),
    ],
)
def test_what_is_no_file_of_the_challenge_is_refused(folder, old, new, told):
    test = folder / "set1.test.txt"
    assert old in test.read_text()
    test.write_text(test.read_text().replace(old, new, 1))
    for path in (folder, None):
        with pytest.raises(ValueError, match=told):
            load_yahoo_ltrc(path)


def test_rows_without_queries_are_refused(folder):
    test = folder / "set1.test.txt"
    lines = [line.split() for line in test.read_text().splitlines()]
    test.write_text("".join(f"{y} {' '.join(values)}\n" for y, _, *values in lines))
    with pytest.raises(ValueError, match="must have a qid in every row"):
        load_yahoo_ltrc(folder)


def test_the_challenges_measures(folder):
    """ERR with five grades over whole lists, nDCG@10, as their definitions say."""
    data = load_yahoo_ltrc(folder).test
    data.y[data.qid == data.qid[0]] = 0  # a query without relevant documents
    scores = data.X @ np.arange(700)
    found = evaluate(data.y, scores, data.qid, ["ERR", "nDCG@10"], preset="yahoo")
    err, ndcg = [], []
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        ranked = data.y[rows][np.argsort(-scores[rows], kind="stable")]
        unsatisfied, value = 1.0, 0.0
        for rank, grade in enumerate(ranked, 1):
            stops = (2.0**grade - 1) / 16
            value += unsatisfied * stops / rank
            unsatisfied *= 1 - stops
        err.append(value)
        discount = 1 / np.log2(np.arange(2, 12))[: len(ranked)]
        best = ((2.0 ** np.sort(ranked)[::-1] - 1)[:10] * discount).sum()
        ndcg.append(((2.0**ranked - 1)[:10] * discount).sum() / best if best else 1.0)
    assert list(found.values()) == pytest.approx([np.mean(err), np.mean(ndcg)], abs=1e-12)
    assert err[0] == 0.0
    assert ndcg[0] == 1.0
