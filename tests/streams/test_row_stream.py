"""What a stream can be made from: Parquet files, mapped and unsorted rows, iterables of chunks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from typer.testing import CliRunner

from rankwise import LambdaMART, RidgeRanker
from rankwise.cli.main import app
from rankwise.datasets import (
    IgnoredColumnsWarning,
    RankingData,
    read_letor,
    read_table,
    write_letor,
)
from rankwise.streams import stream

NAMES = ["bm25", "age", "clicks"]


@pytest.fixture
def frame(rng):
    n = 500
    table = pd.DataFrame(rng.random((n, 3)).astype(np.float32), columns=NAMES)
    return table.assign(label=rng.integers(0, 3, n), qid=[f"q{i // 13:02}" for i in range(n)])


@pytest.fixture
def folder(frame, tmp_path):
    """Three files whose names sort as the rows do, in folders, beside what is no data."""
    for name, rows in {
        "part=0/a.parquet": slice(0, 200),
        "part=0/b.parquet": slice(200, 201),
        "part=1/a.parquet": slice(201, None),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        # Another order of the columns is the same table.
        columns = frame.columns if name.endswith("b.parquet") else frame.columns[::-1]
        frame[rows][list(columns)[::-1]].to_parquet(tmp_path / name, row_group_size=70)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "_delta.parquet").write_bytes(b"no table")
    return tmp_path


def test_a_row_group_may_not_unpack_to_more_than_the_limit(tmp_path):
    table = pa.table(
        {"label": np.zeros(1000), "qid": np.zeros(1000, np.int64), "a": np.zeros(1000)}
    )
    path = tmp_path / "zeros.parquet"
    pq.write_table(table, path, row_group_size=500, compression="zstd", use_dictionary=False)
    # 500 rows of 3 columns of 8 bytes, and the headers of their pages.
    assert stream(path, max_decompressed_bytes=13_000).n_samples == 1000
    message = (
        r"zeros\.parquet: its row group 0 unpacks to 12,\d{3} bytes\. Raise max_decompressed_bytes "
        r"\(12,000\) .* smaller row groups"
    )
    with pytest.raises(ValueError, match=message):
        stream(path, max_decompressed_bytes=12_000)
    for read in (stream, read_table):
        with pytest.raises(ValueError, match="max_decompressed_bytes must be a whole number >= 1"):
            read(path, max_decompressed_bytes=0)


def joined(rows):
    chunks = list(rows)
    return [
        np.concatenate([np.asarray(getattr(chunk, name)) for chunk in chunks])
        for name in ("X", "y", "qid")
    ]


def test_a_parquet_folder_is_read_in_the_order_of_names(frame, folder):
    rows = stream(folder, chunk_rows=64)
    assert rows.n_samples == 500 and rows.reiterable
    assert repr(rows) == "RowStream(ParquetFiles, 500 rows)"
    X, y, qid = joined(rows)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, frame[NAMES])
    assert y.tolist() == frame["label"].tolist() and qid.tolist() == frame["qid"].tolist()
    assert max(chunk.n_rows for chunk in rows) <= 64
    # Query ids alone are read where nothing else is needed.
    assert [chunk.X.shape[1] for chunk in rows.keys()] == [0] * len(list(rows))  # noqa: SIM118
    in_order = [folder / name for name in ("part=0/a.parquet", "part=0/b.parquet")]
    assert stream(in_order).n_samples == 201
    assert stream(str(folder / "part=0" / "*.parquet")).n_samples == 201


@pytest.mark.parametrize("alpha", [0.5, "cv"])
def test_fit_on_parquet_keeps_names_and_model(frame, folder, alpha):
    whole = RidgeRanker(alpha).fit(frame[NAMES], frame["label"], qid=frame["qid"])
    rows = stream(folder, features=NAMES)
    streamed = RidgeRanker(alpha).fit(rows)
    np.testing.assert_array_equal(streamed.coef_, whole.coef_)
    assert streamed.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(
        np.concatenate([*streamed.predict(rows)]), whole.predict(frame[NAMES])
    )
    assert streamed.score(rows) == pytest.approx(
        whole.score(frame[NAMES], frame["label"], qid=frame["qid"]), rel=1e-12
    )
    with pytest.raises(ValueError, match="column 0 is 'age', it was 'bm25'"):
        next(streamed.predict(stream(folder, features=sorted(NAMES))))
    with pytest.raises(ValueError, match="has 2 features"):
        next(streamed.predict(stream(folder, features=NAMES[:2])))


def test_roles_of_columns(frame, folder):
    unjudged = stream(folder, label=False, qid=False, features=NAMES)
    chunk = next(iter(unjudged))
    assert chunk.y is None and chunk.qid is None and chunk.feature_names == NAMES
    with pytest.raises(ValueError, match="requires y"):
        RidgeRanker().fit(unjudged)
    weighted = stream(folder, sample_weight="clicks", dtype=np.float64)
    assert next(iter(weighted)).feature_names == ["bm25", "age"]
    assert next(iter(weighted.keys())).sample_weight is not None
    with pytest.raises(ValueError, match="label='grade' is not a column"):
        stream(folder, label="grade")
    with pytest.raises(ValueError, match="column 'qid' would become a feature"):
        stream(folder, qid=False)


@pytest.mark.parametrize(
    "name, to",
    [("t.parquet", ()), ("t.csv", ()), ("t.tsv.gz", ()), ("t.txt", ()), ("t.txt.gz", ()),
     ("t.svm", ("--to", "lightgbm")), ("t.svm", ("--to", "xgboost"))],
)  # fmt: skip
def test_what_convert_writes_a_stream_reads(frame, tmp_path, monkeypatch, name, to):
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    ids = [f"D{i}" for i in range(len(frame))]
    frame.assign(doc_id=ids).to_parquet(tmp_path / "source.parquet")
    done = CliRunner().invoke(
        app, ["convert", str(tmp_path / "source.parquet"), "--out", str(tmp_path / name), *to]
    )
    assert done.exit_code == 0, done.output
    source, written = read_table(tmp_path / "source.parquet"), stream(tmp_path / name)
    chunks = list(written)
    X = np.concatenate([chunk.X for chunk in chunks])
    np.testing.assert_array_equal(X, source.X)
    doc_ids = np.concatenate([chunk.doc_ids for chunk in chunks])
    if not to:
        assert doc_ids.tolist() == ids
    a, b = RidgeRanker().fit(written), RidgeRanker().fit(source.X, source.y, qid=source.qid)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-10)


def test_text_files_come_in_chunks(frame, tmp_path):
    """Text columns are told by the first megabytes; later cells are then errors with their row."""
    big = pd.concat([frame] * 400, ignore_index=True).assign(title="a, b")
    big["qid"] = np.repeat(np.arange(len(big) // 100), 100)
    big.to_csv(tmp_path / "t.txt", sep="|", index=False)
    with pytest.warns(IgnoredColumnsWarning, match=r"title \(text\)"):
        rows = stream(tmp_path / "t.txt", sep="|")
    assert rows.n_samples is None
    X, y, qid = joined(rows)
    assert len(list(rows)) > 1
    np.testing.assert_array_equal(X, big[NAMES].astype(np.float32))
    assert y.tolist() == big["label"].tolist()
    assert qid.tolist() == big["qid"].astype(str).tolist()
    keys = np.concatenate([chunk.qid for chunk in rows.keys()])  # noqa: SIM118
    assert keys.tolist() == qid.tolist()
    with open(tmp_path / "t.txt", "a") as file:
        file.write("|".join(["x"] * len(big.columns)) + "\n")
    with pytest.raises(
        ValueError,
        match=r"t\.txt, line 200002: column '\w+' has 'x'",
    ):
        list(rows)


def test_files_that_do_not_fit(frame, folder, tmp_path):
    frame.drop(columns="age").to_parquet(folder / "zz.parquet")
    with pytest.raises(ValueError, match=r"zz\.parquet: columns 'age' are missing"):
        stream(folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match=r"no file that ends in \.parquet"):
        stream(empty)
    with pytest.raises(FileNotFoundError):
        stream("nowhere.parquet")
    (empty / "train.txt").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(ValueError, match="is SVMlight text, whose columns have no names"):
        stream(empty / "train.txt", label="y")
    for source in (5, np.zeros((3, 2))):
        with pytest.raises(TypeError, match="source must be a path"):
            stream(source)
    with pytest.raises(ValueError, match="chunk_rows must be"):
        stream(folder, chunk_rows=0)


def test_a_missing_number_is_named(frame, folder):
    frame.loc[250, "age"] = np.nan
    frame[201:].to_parquet(folder / "part=1" / "a.parquet")
    with pytest.raises(ValueError, match=r"contains NaN at row 49, column 1 \('age'\)"):
        RidgeRanker().fit(stream(folder, features=NAMES))
    frame["label"] = frame["label"].astype("Int64")
    frame.loc[222, "label"] = pd.NA
    frame[201:].to_parquet(folder / "part=1" / "a.parquet")
    with pytest.raises(ValueError, match="label must be finite, column 'label' has nan at row 21"):
        RidgeRanker().fit(stream(folder))


def test_rows_mapped_from_the_cache_stay_on_the_disk(frame, tmp_path):
    data = RankingData(
        frame[NAMES].to_numpy(), frame["label"].to_numpy(float), qid=np.arange(500) // 9
    )
    write_letor(data, tmp_path / "rows.txt")
    read_letor(tmp_path / "rows.txt")
    mapped = read_letor(tmp_path / "rows.txt")
    assert isinstance(mapped.X, np.memmap)
    rows = stream(mapped, chunk_rows=100)
    assert np.shares_memory(next(iter(rows)).X, mapped.X)
    whole = RidgeRanker([0.1, 1.0]).fit(mapped.X, mapped.y, qid=mapped.qid)
    np.testing.assert_array_equal(RidgeRanker([0.1, 1.0]).fit(rows).coef_, whole.coef_)


def test_unsorted_rows_in_memory_are_taken_by_query(frame, rng):
    order = rng.permutation(500)
    X, y, qid = (frame[name].to_numpy()[order] for name in (NAMES, "label", "qid"))
    rows = stream(RankingData(X, y.astype(float), qid=qid), chunk_rows=77)
    assert (np.diff(np.unique(joined(rows)[2], return_inverse=True)[1]) != 0).sum() == 38
    for alpha in (0.5, [0.1, 1.0]):
        whole = RidgeRanker(alpha).fit(X, y, qid=qid)
        np.testing.assert_allclose(RidgeRanker(alpha).fit(rows).coef_, whole.coef_, rtol=1e-10)


def test_iterables_and_what_they_may_give(frame):
    X, y, qid = frame[NAMES].to_numpy(), frame["label"].to_numpy(), frame["qid"].to_numpy()
    whole = RidgeRanker().fit(X, y, qid=qid)
    data = RankingData(X, y.astype(float), qid=qid)
    for chunks in (
        [(X, y, qid)],
        [(X[:9], y[:9], qid[:9]), (X[9:], y[9:], qid[9:])],
        [(X[:9], y[:9].tolist(), qid[:9].tolist()), data.take(np.arange(9, 500))],
        [frame[:200], frame[200:]],
        [(frame[NAMES][:9], y[:9], qid[:9]), (frame[NAMES[::-1]][9:], y[9:], qid[9:])],
    ):
        for source in (chunks, iter(chunks), lambda chunks=chunks: iter(chunks)):
            np.testing.assert_allclose(RidgeRanker().fit(stream(source)).coef_, whole.coef_)
    assert not stream(iter([])).reiterable and stream([]).reiterable
    assert repr(stream(iter([]))) == "RowStream(Once, ? rows, once)"
    again = stream([X])
    assert stream(again) is again
    for chunks, message in [
        ([(1, 2, 3, 4, 5)], "a tuple of 5"),
        ([5], "a frame or X alone, got int"),
        ([frame.drop(columns="label")], "label needs a column"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            list(stream(chunks))
    assert next(iter(stream([sparse.csr_array(X)]))).n_rows == 500


def test_messages_say_what_a_stream_lacks(frame, tmp_path):
    first, second, y = frame[NAMES][:200], frame[NAMES][200:], frame["label"]
    rows = stream([(first, y[:200]), (second.drop(columns="age"), y[200:])])
    with pytest.raises(ValueError, match="lacks column 'age', compared with the first chunk"):
        RidgeRanker().fit(rows)
    with pytest.raises(ValueError, match="got a stream without any"):
        RidgeRanker("cv").fit(stream([]))
    with pytest.raises(TypeError, match="Read the rows into memory, or use one of these"):
        LambdaMART().fit(rows)
    with pytest.raises(TypeError, match="Pass the X of each chunk, or score any ranker with"):
        RidgeRanker().fit(frame[NAMES], frame["label"]).rank(rows)
    frame.loc[250, "label"] = 2**53 + 1
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match="9007199254740993"):
        RidgeRanker().fit(stream(tmp_path / "rows.csv"))
