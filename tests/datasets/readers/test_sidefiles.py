"""Side files: read as LightGBM and XGBoost read them, written so that they do."""

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rankwise.datasets import (
    RankingData,
    load_dataset,
    read_grouped,
    read_letor,
    read_table,
    write_grouped,
    write_letor,
)
from rankwise.datasets.judged_source import read_files
from rankwise.streams import stream

W = np.array([1.0, -1.0])
ROWS = "1 1:0.5\n0 2:1\n2 1:3 2:4\n0 1:1\n"


def put(tmp_path, **side_files):
    path = tmp_path / "train.txt"
    path.write_text(ROWS)
    for suffix, text in side_files.items():
        (tmp_path / f"train.txt.{suffix}").write_text(text)
    return path


@pytest.mark.parametrize("suffix", ["query", "group"])
def test_group_sizes(tmp_path, suffix):
    data = read_grouped(put(tmp_path, **{suffix: "1\n3\n"}))
    assert data.qid.tolist() == [0, 1, 1, 1]
    assert data.y.tolist() == [1, 0, 2, 0]
    assert sparse.csr_matrix(data.X).toarray().tolist() == [[0.5, 0], [0, 1], [3, 4], [1, 0]]
    assert data.X.dtype == np.float32
    assert data.sample_weight is None


@pytest.mark.parametrize(
    "weight, expected",
    [("1\n2\n3\n4\n", [1, 2, 3, 4]), ("0.5\r\n2e0\r\n", [0.5, 2, 2, 2])],
)
def test_weights_of_rows_or_queries(tmp_path, weight, expected):
    data = read_grouped(put(tmp_path, query="1\n0\n3\n", weight=weight))
    assert data.sample_weight.tolist() == expected
    assert data.n_queries == 2


def test_side_files_elsewhere_and_compressed(tmp_path):
    path = put(tmp_path)
    packed = tmp_path / "rows.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "rows.txt.group.gz").write_bytes(gzip.compress(b"2\n2\n"))
    assert read_grouped(packed).qid.tolist() == [0, 0, 1, 1]
    (tmp_path / "sizes").write_text("4\n")
    (tmp_path / "weights").write_text("7\n")
    data = read_grouped(path, sizes=tmp_path / "sizes", weight=tmp_path / "weights")
    assert data.qid.tolist() == [0, 0, 0, 0]
    assert data.sample_weight.tolist() == [7, 7, 7, 7]


@pytest.mark.parametrize(
    "side_files, error, message",
    [
        ({}, FileNotFoundError, r"no file of group sizes beside it \(\.query or \.group"),
        ({"query": "1\n2\n"}, ValueError, r"must sum to the number of rows, 4, got 3\."),
        ({"query": "5\n-1\n"}, ValueError, "sizes must be >= 0, got -1"),
        ({"query": "1\n3.5\n"}, ValueError, "line 2: '3.5' is not a whole number"),
        ({"query": "1 3\n"}, ValueError, r"line 1: expected 1 fields \(size\), got 2"),
        (
            {"query": "4", "weight": "1\n1\n"},
            ValueError,
            r"row \(4\) or per query \(1\), got 2",
        ),
        ({"query": "4", "weight": "nan\n"}, ValueError, "line 1: 'nan' is not a finite number"),
        (
            {"query": "2\n2", "weight": "1\n\n-2\n"},
            ValueError,
            r"train\.txt\.weight, line 3: weights must be >= 0, got -2\.0",
        ),
        (
            {"query": "1\n3", "group": "2\n2"},
            ValueError,
            r"txt\.query and .*txt\.group give different sizes of queries",
        ),
    ],
)
def test_refusals(tmp_path, side_files, error, message):
    with pytest.raises(error, match=message):
        read_grouped(put(tmp_path, **side_files))


def test_rows_with_query_ids_are_refused(tmp_path):
    path = put(tmp_path, query="2\n")
    path.write_text("1 qid:1 1:1\n1 qid:1 1:2\n")
    with pytest.raises(ValueError, match="has query ids in its rows"):
        read_grouped(path)


def shuffled(rng, weight):
    qid = rng.permutation(np.repeat([5, 3, 9], [4, 1, 6]))
    X = rng.standard_normal((11, 3)).astype(np.float32)
    return RankingData(X, rng.integers(0, 3, 11).astype(float), qid=qid, sample_weight=weight(qid))


@pytest.mark.parametrize(
    "style, suffix, weight, lines",
    [
        ("lightgbm", ".query", lambda qid: np.arange(11) / 7, 11),
        ("xgboost", ".group", lambda qid: qid / 7, 3),
    ],
)
def test_round_trip(tmp_path, rng, style, suffix, weight, lines):
    data = shuffled(rng, weight)
    path = tmp_path / "rows.txt.gz"
    write_grouped(data, path, style)
    sizes = (tmp_path / f"rows.txt{suffix}").read_text().split()
    assert list(map(int, sizes)) == data.groups.sizes.tolist()
    assert len((tmp_path / "rows.txt.weight").read_text().split()) == lines
    back, order = read_grouped(path), data.groups.order
    np.testing.assert_array_equal(back.X, data.X[order])
    np.testing.assert_array_equal(back.y, data.y[order])
    np.testing.assert_array_equal(back.sample_weight, data.sample_weight[order])
    np.testing.assert_array_equal(data.groups.ids[back.qid], data.qid[order])


def test_no_weights_no_file(tmp_path, rng):
    write_grouped(shuffled(rng, lambda qid: None), tmp_path / "rows")
    assert sorted(path.name for path in tmp_path.glob("rows*")) == ["rows", "rows.query"]


def test_xgboost_weighs_queries(tmp_path, rng):
    data = shuffled(rng, lambda qid: np.arange(11.0))
    with pytest.raises(ValueError, match="must be the same for all rows of a query"):
        write_grouped(data, tmp_path / "rows", "xgboost")
    assert not (tmp_path / "rows").exists()
    with pytest.raises(ValueError, match="style must be 'lightgbm' or 'xgboost', got 'catboost'"):
        write_grouped(data, tmp_path / "rows", "catboost")


def test_lightgbm_reads_what_is_written(tmp_path, rng):
    lightgbm = pytest.importorskip("lightgbm")
    data = shuffled(rng, lambda qid: np.arange(1.0, 12.0))
    write_grouped(data, tmp_path / "rows", "lightgbm")
    peer = lightgbm.Dataset(str(tmp_path / "rows"), params={"verbosity": -1}).construct()
    order = data.groups.order
    np.testing.assert_array_equal(peer.get_label(), data.y[order])
    np.testing.assert_array_equal(peer.get_group(), data.groups.sizes)
    np.testing.assert_array_equal(peer.get_weight(), data.sample_weight[order])


def test_lambdarank_as_lightgbm_ships_it(tmp_path):
    data = load_dataset("lambdarank", part="test", dtype=np.float64)
    write_grouped(data, tmp_path / "rank.test")
    back = read_grouped(tmp_path / "rank.test", dtype=np.float64, dense=True, n_features=300)
    np.testing.assert_array_equal(back.X, data.X)
    np.testing.assert_array_equal(back.qid + 202, data.qid)
    with pytest.warns(UserWarning, match=r"there is a side file .*rank\.test\.query"):
        assert read_letor(tmp_path / "rank.test", n_features=300).n_queries == 1


def test_a_missing_file_is_missing_before_its_sizes_are(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"rows.txt: no such file. Check the path"):
        read_grouped(tmp_path / "rows.txt")


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("rows.txt", "rows.txt.query"), ("rows.txt", "rows.txt.group"), ("r.txt.gz", "r.txt.query")],
)
def test_read_letor_points_to_sizes_that_lie_beside(tmp_path, text, sizes):
    data = RankingData(np.eye(4, dtype=np.float32), np.arange(4.0), qid=np.array([1, 1, 2, 2]))
    write_letor(data, tmp_path / text, with_qid=False)
    assert read_letor(tmp_path / text, cache=False).n_queries == 1
    (tmp_path / sizes).write_text("2\n2\n")
    for cache in (False, True, True):
        with pytest.warns(
            UserWarning, match=rf"there is a side file .*{sizes}. Read .* read_grouped\('.*{text}"
        ):
            one_query = read_letor(tmp_path / text, cache=cache)
        assert one_query.n_queries == 1
    assert read_grouped(tmp_path / text, cache=False).n_queries == 2
    write_letor(data, tmp_path / text)
    assert read_letor(tmp_path / text, cache=False).n_queries == 2


@pytest.mark.parametrize(
    "name, text",
    [
        ("a.tsv", "1\t0.5\t2\n0\t0.25\t\n2\t\tnull\n"),
        ("a.csv", "1,0.5,2\r\n0,0.25,\r\n2,,nan"),
        ("a.train", "1\t0.5\t2\n0\t0.25\tNA\n2\tnan\t\n"),
    ],
)
def test_numbers_without_a_header_and_with_a_file_of_sizes(tmp_path, name, text):
    """LightGBM reads such files."""
    path = tmp_path / name
    path.write_text(text, newline="")
    (tmp_path / f"{name}.query").write_text("2\n1\n")
    (tmp_path / f"{name}.weight").write_text("1\n2\n0.5\n")
    data = read_grouped(path)
    assert data.y.tolist() == [1, 0, 2]
    assert data.qid.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(data.X, [[0.5, 2], [0.25, np.nan], [np.nan, np.nan]])
    assert data.sample_weight.tolist() == [1, 2, 0.5]
    assert (data.feature_names, data.first_feature, data.X.dtype) == (None, 0, np.float32)
    np.testing.assert_array_equal(read_files([str(path)]).X, data.X)
    with pytest.raises(ValueError, match="has 2 features, but n_features=3"):
        read_grouped(path, n_features=3)
    with pytest.raises(ValueError, match=f"(?s){name}.*numbers, not names.*read_grouped"):
        read_table(path, sep=text[1])


def test_numbers_without_a_header_name_a_bad_cell(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("1\t0.5\t2\n0\tx\t3\n")
    (tmp_path / "a.tsv.query").write_text("2\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2: column '2 of the file' has 'x'"):
        read_grouped(path)
    path.write_text("1\t0.5\t2\n0\t0.5\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2: expected 3 columns, got 2"):
        read_grouped(path)


def test_a_table_with_names_and_a_file_of_sizes_says_what_to_do(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("label\tf\n1\t0.5\n0\t0.25\n")
    (tmp_path / "a.tsv.query").write_text("2\n")
    with pytest.raises(ValueError, match=r"(?s)qid needs a column.*Leave out the first line"):
        read_table(path)


def test_weights_beside_text_with_qid(tmp_path):
    path, weights = tmp_path / "a.txt", tmp_path / "a.txt.weight"
    path.write_text("1 qid:1 1:1\n0 qid:2 1:2\n2 qid:1 1:3\n")
    weights.write_text("3\n1\n2\n")
    assert read_letor(path, cache=False).sample_weight.tolist() == [3, 1, 2]
    weights.write_text("3\n1\n")
    assert read_letor(path, cache=False).sample_weight.tolist() == [3, 1, 3]
    weights.write_text("3\n")
    with pytest.raises(ValueError, match=r"one weight per row .3. or per query .2., got 1"):
        read_letor(path, cache=False)
    other = tmp_path / "b.txt"
    other.write_text("1 qid:3 1:1\n")
    with pytest.warns(UserWarning, match="a.txt.weight are not read with several files"):
        assert read_letor([path, other], cache=False).sample_weight is None
    path.write_text("1 qid:1 cost:2 1:1\n")
    with pytest.raises(ValueError, match=r"the rows have weights .cost:., and there are others in"):
        read_letor(path, cache=False)


@pytest.mark.parametrize("cache", [True, False])
def test_weights_in_the_rows(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    path, back = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("1 qid:1 cost:2 1:1\n0 qid:1 1:2 cost:0.1 2:1\n2 qid:2 1:3\n")
    for _ in range(2):
        data = read_letor(path, cache=cache)
        assert data.sample_weight.tolist() == [2, 0.1, 1]
    write_letor(data, back)
    assert back.read_text().startswith("1 qid:1 cost:2 1:1")
    assert read_letor(back, cache=False).sample_weight.tolist() == [2, 0.1, 1]
    write_grouped(data, back)
    assert "cost" not in back.read_text()
    assert read_grouped(back, cache=False).sample_weight.tolist() == [2, 0.1, 1]


def test_two_files_of_sizes_may_agree(tmp_path):
    assert read_grouped(put(tmp_path, query="1\n3\n", group="1\n3\n")).qid.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("read", [read_table, lambda path: next(iter(stream(path)))])
@pytest.mark.parametrize(
    "suffix, message",
    [
        ("weight", "the weights in .*a.tsv.weight are not read"),
        ("group", "the sizes of queries in"),
    ],
)
def test_side_files_beside_named_columns_are_reported(tmp_path, read, suffix, message):
    path = tmp_path / "a.tsv"
    path.write_text("label\tqid\tf\n1\t1\t0.5\n0\t1\t0.25\n")
    (tmp_path / f"a.tsv.{suffix}").write_text("2\n")
    with pytest.warns(UserWarning, match=message):
        read(path)


@pytest.mark.parametrize("text", ["label\tf\n1\t0.5\n", '"y",f\n1,0.5\n', "qid label f\n1 1 2\n"])
def test_read_grouped_refuses_names_of_columns(tmp_path, text):
    path = tmp_path / "a.tsv"
    path.write_text(text)
    (tmp_path / "a.tsv.query").write_text("1\n")
    with pytest.raises(ValueError, match=r"the first line names columns.*Leave out the first line"):
        read_grouped(path)


def test_numbers_without_names_or_sizes_say_what_to_do(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,0.5,2\n0,0.25,3\n")
    with pytest.raises(ValueError, match=r"The first line looks like numbers.*to a\.csv\.query"):
        read_table(path)


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda path: RankingData(np.eye(2), np.arange(2.0), qid=np.ones(2), sample_weight=W),
            r"sample_weight must be >= 0, got -1\.0 at row 1",
        ),
        (
            lambda path: RankingData.from_frame(pd.read_csv(path)),
            r"sample_weight must be >= 0, column 'sample_weight' has -1\.0 at row 1",
        ),
        (
            read_table,
            r"w\.csv, line 3: sample_weight must be >= 0, column 'sample_weight' has -1\.0",
        ),
    ],
)
def test_negative_weights_are_refused(tmp_path, make, message):
    path = tmp_path / "w.csv"
    path.write_text("label,qid,f,sample_weight\n1,1,2,1\n0,1,3,-1\n")
    with pytest.raises(ValueError, match=message):
        make(path)
