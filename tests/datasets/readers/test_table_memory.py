"""Memory of readers of tables: one array of rows, which the files fill in turn."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from rankwise.datasets import IgnoredColumnsWarning, read_table
from rankwise.datasets.readers.tables import ParquetTable

N_FILES, N_ROWS, WIDTH = 4, 6000, 30


def write_parts(folder, kind, rng, first=0, **more):
    """Files of rows whose features are multiples of 1/4; returns the features."""
    parts = []
    for number in range(N_FILES):
        X = rng.integers(-400, 400, (N_ROWS, WIDTH)) / 4
        X[rng.random(X.shape) < 0.05] = np.nan
        places = first + number * N_ROWS + np.arange(N_ROWS)
        columns = {"label": rng.integers(0, 3, N_ROWS), "qid": places // 10}
        columns |= {
            f"f{j}": pa.array(X[:, j].astype(np.float32), from_pandas=True) for j in range(WIDTH)
        }
        columns |= {name: make(places) for name, make in more.items()}
        if kind == "csv":
            pa_csv.write_csv(pa.table(columns), folder / f"{number}.csv")
        else:
            pa_parquet.write_table(pa.table(columns), folder / f"{number}.parquet")
        parts.append(X.astype(np.float32))
    return np.concatenate(parts)


def read_and_peak(folder):
    """The rows, and the most that Python and NumPy held while they were read, in bytes."""
    read_table(folder)  # what is imported and cached on first use does not count
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    data = read_table(folder)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return data, peak


# In multiples of the bytes of X. Text has about 1.2 times these bytes, a quarter of it per file.
@pytest.mark.parametrize(("kind", "most"), [("parquet", 1.35), ("csv", 1.8)])
def test_files_fill_one_array(kind, most, tmp_path, rng):
    X = write_parts(tmp_path, kind, rng)
    data, peak = read_and_peak(tmp_path)
    np.testing.assert_array_equal(data.X, X)
    assert peak < most * X.nbytes


@pytest.mark.filterwarnings(f"ignore::{IgnoredColumnsWarning.__module__}.IgnoredColumnsWarning")
@pytest.mark.parametrize(("kind", "most"), [("parquet", 1.7), ("csv", 1.9)])
def test_a_column_that_is_left_out_copies_no_rows(kind, most, tmp_path, rng):
    X = write_parts(tmp_path, kind, rng, a_number=lambda places: places)
    data, peak = read_and_peak(tmp_path)
    assert data.left_out == {"a_number": "row numbers"}
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.X, X)
    assert peak < most * X.nbytes


@pytest.mark.parametrize("column_bytes", [1, 8 * N_ROWS * 7, 2**30])
def test_columns_of_binary_tables_are_read_once_and_few_at_a_time(
    column_bytes, tmp_path, rng, monkeypatch
):
    X = write_parts(
        tmp_path, "parquet", rng, colour=lambda places: np.array(["a", "b"])[places % 2]
    )
    monkeypatch.setattr("rankwise.datasets.readers.tables.COLUMN_BYTES", column_bytes)
    reads, read = [], ParquetTable.read

    def count(self, names=None):
        reads.append((self.path, tuple(names)))
        return read(self, names)

    monkeypatch.setattr(ParquetTable, "read", count)
    data = read_table(tmp_path, categories=True)
    np.testing.assert_array_equal(data.X[:, :WIDTH], X)
    assert [known.tolist() for known in data.categories.values()] == [["a", "b"]]
    most = max(1, column_bytes // (8 * N_ROWS))
    assert max(len(names) for _, names in reads) == min(most, WIDTH + 3)
    every = [(path, name) for path, names in reads for name in names]
    assert len(every) == len(set(every)) == N_FILES * (WIDTH + 3)


@pytest.mark.parametrize("case", ["label", "infinite", "exact", "text", "codes", "flags", "width"])
def test_rows_of_several_tables_read_as_one(case, tmp_path, monkeypatch):
    """What only a later part of a file shows is found, with its line."""
    lines = [f"{i % 3},{i // 9},{i % 7 / 4},{i % 5}" for i in range(3000)]
    cell, odd, message = {
        "label": (0, "inf", "label must be finite"),
        "infinite": (2, "1e400", "column 'a' has '1e400'"),
        "exact": (0, str(2**53 + 1), "9007199254740993"),
        "width": (0, "1,1", "expected 4 columns, got 5"),
        "text": (2, "dear", None),
        "codes": (3, "0123", None),
        "flags": (3, "true", None),
    }[case]
    for i in range(2500, 3000) if case == "flags" else (2500,):
        cells = lines[i].split(",")
        lines[i] = ",".join([*cells[:cell], odd, *cells[cell + 1 :]])
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["label,qid,a,b", *lines, ""]))

    def outcome():
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                return read_table(path), [str(warning.message) for warning in told]
        except ValueError as error:
            return None, str(error)

    expected, said = outcome()
    monkeypatch.setattr("rankwise.datasets.readers.delimited._BLOCK_BYTES", 1000)
    monkeypatch.setattr("rankwise.datasets.readers.delimited._TABLE_BYTES", 4000)
    found, again = outcome()
    assert again == said
    if message is not None:
        assert message in said
        assert f"line {2502}" in said
    if expected is not None:
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.qid, expected.qid)
        np.testing.assert_array_equal(found.y, expected.y)
        assert found.feature_names == expected.feature_names


def test_a_large_file_fills_one_array(tmp_path, rng, monkeypatch):
    """One file, of which a table of some rows is in memory at a time."""
    monkeypatch.setattr("rankwise.datasets.readers.delimited._BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr("rankwise.datasets.readers.delimited._TABLE_BYTES", 1 << 18)
    monkeypatch.setattr("rankwise.datasets.readers.delimited.SAMPLE_BYTES", 1 << 16)
    X = write_parts(tmp_path, "csv", rng)
    parts = sorted(tmp_path.glob("*.csv"))
    first, *others = (part.read_bytes() for part in parts)
    whole = tmp_path / "whole"
    whole.mkdir()
    text = first + b"".join(part[part.index(b"\n") + 1 :] for part in others)
    (whole / "rows.csv").write_bytes(text)
    data, peak = read_and_peak(whole)
    np.testing.assert_array_equal(data.X, X)
    assert peak < 1.6 * X.nbytes


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_equal_whole_numbers_of_several_files_are_found_once(kind, tmp_path, rng):
    """float32 has no odd numbers from 2^24 on: each file alone has one of two neighbours."""
    ids = lambda places: 2**25 + 4 * (places % 9) + places // N_ROWS % 2  # noqa: E731
    write_parts(tmp_path, kind, rng, user=ids)
    with pytest.warns(UserWarning, match="'user' holds whole numbers that float32 makes") as told:
        read_table(tmp_path)
    assert len(told) == 1


def test_an_error_of_a_later_file_names_it_once(tmp_path, rng):
    write_parts(tmp_path, "parquet", rng)
    path = tmp_path / "2.parquet"
    content = bytearray(path.read_bytes())
    content[100:40_000] = bytes(39_900)  # pages, not the footer
    path.write_bytes(content)
    with pytest.raises(ValueError, match="does not read as Parquet") as caught:
        read_table(tmp_path)
    assert str(caught.value).count(str(path)) == 1
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_bad_value_of_a_later_file_is_found_there(kind, tmp_path, rng):
    label = lambda places: np.where(places == 2 * N_ROWS + 5, np.inf, 1.0)  # noqa: E731
    write_parts(tmp_path, kind, rng, grade=label)
    with pytest.raises(ValueError, match="label must be finite") as caught:
        read_table(tmp_path, label="grade", ignore=["label"])
    where = "2.csv, line 7" if kind == "csv" else "2.parquet: "
    assert where in str(caught.value)
