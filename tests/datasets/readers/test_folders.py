"""Folders of tables: every reader takes the columns of all files, whatever their order."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankwise.datasets import IgnoredColumnsWarning, read_table
from rankwise.streams import stream

NULLS = pa.array([None, None], pa.null())
TEXT = pa.array(["a", "b"])
DAYS = pa.array([0, 1], pa.date32())
NAN = float("nan")

# Two values of column x in each of two files, and the numbers to read.
SAME = {
    "no values": ([0.5, 0.25], NULLS, [0.5, 0.25, NAN, NAN]),
    "no values at all": (NULLS, NULLS, [NAN] * 4),
    "integers": ([0.5, 0.25], [1, 2], [0.5, 0.25, 1, 2]),
    "flags": ([True, False], [1, 2], [1, 0, 1, 2]),
    "narrow integers": (pa.array([1, 2], pa.int8()), pa.array([1, 2**40]), [1, 2, 1, 2**40]),
    "decimals": (pa.array([1, 2], pa.decimal128(5, 2)), [0.5, 0.25], [1, 2, 0.5, 0.25]),
}
# Columns x of two files that do not fit, and words of the error.
DIFFERENT = {
    "text": ([0.5, 0.25], TEXT, "column 'x' holds (numbers, but text|text, but numbers) in b"),
    "categories": (
        [1, 2],
        TEXT.dictionary_encode(),
        "column 'x' holds (numbers, but categories|categories, but numbers) in b",
    ),
    "dates": ([0.5, 0.25], DAYS, "column 'x' holds (numbers, but dates|dates, but numbers) in b"),
    "missing": ([0.5, 0.25], None, "columns 'x' are missing, but [ab].parquet has them"),
}


def write(folder, first, second, suffix, flip):
    """Files a and b; the second one has its columns in another order."""
    folder.mkdir()
    for name, x in zip("ab", (second, first) if flip else (first, second), strict=True):
        columns = {"qid": [1, 1] if name == "a" else [2, 2], "label": [1, 0], "g": [1.0, 2.0]}
        if x is not None:
            columns["x"] = x
        order = sorted(columns, reverse=name == "b")
        table = pa.table({column: columns[column] for column in order})
        if suffix == "parquet":
            pq.write_table(table, folder / f"{name}.parquet")
        else:
            table.to_pandas().to_csv(folder / f"{name}.csv", index=False)
    return folder


def read_both(folder):
    """X with its columns by name, by read_table and by stream."""
    data, chunks = read_table(folder, dtype=np.float64), list(stream(folder, dtype=np.float64))
    X = np.concatenate([chunk.X for chunk in chunks])
    assert data.feature_names == chunks[0].feature_names
    np.testing.assert_array_equal(data.X, X)
    return dict(zip(data.feature_names, data.X.T, strict=True))


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("first, second, numbers", SAME.values(), ids=list(SAME))
def test_columns_of_all_files(tmp_path, first, second, numbers, suffix, flip):
    columns = read_both(write(tmp_path / "t", first, second, suffix, flip))
    assert sorted(columns) == ["g", "x"]
    np.testing.assert_array_equal(columns["x"], numbers[2:] + numbers[:2] if flip else numbers)
    np.testing.assert_array_equal(columns["g"], [1, 2, 1, 2])


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("first, second, message", DIFFERENT.values(), ids=list(DIFFERENT))
def test_files_that_differ_are_named(tmp_path, first, second, message, flip):
    folder = write(tmp_path / "t", first, second, "parquet", flip)
    for read in (read_table, stream):
        with pytest.raises(ValueError, match=message):
            read(folder)
        assert read(folder, features=["g"]) is not None


@pytest.mark.parametrize("flip", [False, True])
def test_ids_of_files_have_one_kind(tmp_path, flip):
    for name, ids in zip("ab", [["1", "1"], [1, 1]][:: -1 if flip else 1], strict=True):
        table = pa.table({"qid": ids, "label": [1, 0], "x": [1.0, 2.0]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    for read in (read_table, stream):
        with pytest.raises(ValueError, match="the ids in column 'qid' are text, but numbers in"):
            read(tmp_path)


def test_ids_of_large_integers_stay_exact(tmp_path):
    for name, ids in (("a", pa.array([2**64 - 1] * 2, pa.uint64())), ("b", pa.array([-1, -1]))):
        table = pa.table({"qid": ids, "label": [1, 0], "x": [1.0, 2.0]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    assert read_table(tmp_path).qid.tolist() == [2**64 - 1] * 2 + [-1] * 2


def test_dictionaries_of_files_differ(tmp_path):
    for name, ids in (("a", ["u", "v"]), ("b", ["v", "u"])):
        column = pd.Categorical(ids, categories=ids)
        pd.DataFrame({"qid": column, "label": [1, 0], "x": [1.0, 2.0]}).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    assert read_table(tmp_path).qid.tolist() == ["u", "v", "v", "u"]


def test_chunks_of_a_stream_that_differ_are_named():
    one = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": [1.0, 2.0]})
    for other, message in [
        (
            one.assign(z=1.0),
            r"chunk 1 of the stream: columns 'z' hold numbers, but not in the first",
        ),
        (one.drop(columns="x"), "chunk 1 of the stream: columns 'x' are missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            list(stream([one, other]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chunks = list(stream([one, one.assign(x=None)]))
    assert np.isnan(chunks[1].X).all()


def test_dates_of_text_files_are_those_of_other_tables(tmp_path):
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": [1.0, 2.0]})
    frame = frame.assign(day=pd.to_datetime(["2024-01-05", "2024-02-01"]))
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name, read in itertools.product(("t.csv", "t.parquet"), (read_table, stream)):
        with pytest.warns(IgnoredColumnsWarning, match=r"features: day \(dates[,)]"):
            rows = read(tmp_path / name)
            first = rows if read is read_table else next(iter(rows))
        assert first.feature_names == ["x"]
