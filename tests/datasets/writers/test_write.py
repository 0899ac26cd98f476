"""write_letor: what is written reads back bit for bit, by our reader and by scikit-learn's."""

import gzip
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from rankwise.datasets import RankingData, load_dataset, read_letor, write_letor


def bits(values):
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def awkward_floats(rng, dtype, n):
    """Random bit patterns of every size, with the corners of the type."""
    info = np.finfo(dtype)
    whole = rng.integers(0, 2 ** (8 * info.dtype.itemsize), n, dtype=f"u{info.dtype.itemsize}")
    values = whole.view(dtype)
    values[np.isnan(values)] = np.nan
    corners = [0.0, -0.0, 0.1, 1 / 3, info.max, info.tiny, info.smallest_subnormal, np.inf, -np.inf]
    values[: len(corners)] = corners
    return values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_dense_round_trip(tmp_path, rng, dtype, suffix):
    X = awkward_floats(rng, dtype, 6000).reshape(-1, 12)
    y, qid = rng.integers(0, 5, len(X)) + 0.1, np.repeat(np.arange(50) - 3, 10)
    path = tmp_path / f"data.txt{suffix}"
    write_letor(X, path, y=y, qid=qid)
    back = read_letor(path, dtype=dtype, dense=True, cache=False)
    assert back.X.dtype == dtype
    np.testing.assert_array_equal(bits(back.X), bits(X))
    np.testing.assert_array_equal(back.y, y)
    np.testing.assert_array_equal(back.qid, qid)
    assert back.comments is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_round_trip(tmp_path, rng, dtype):
    X = sparse.random(200, 5000, 0.005, format="csr", random_state=1, dtype=dtype)
    X.data[:2] = [0.0, np.nan]
    X = sparse.vstack([X[:100], sparse.csr_matrix((3, 5000), dtype=dtype), X[100:]], format="csr")
    y, qid = rng.standard_normal(203), np.arange(203) // 7
    write_letor(RankingData(X, y, qid=qid), tmp_path / "data")
    back = read_letor(tmp_path / "data", dtype=dtype, dense=False, n_features=5000, cache=False)
    for part in ("indptr", "indices"):
        np.testing.assert_array_equal(getattr(back.X, part), getattr(X, part))
    np.testing.assert_array_equal(bits(back.X.data), bits(X.data))
    np.testing.assert_array_equal(back.y, y)
    np.testing.assert_array_equal(back.qid, qid)


def test_scikit_learn_reads_the_same(tmp_path, rng):
    X = rng.standard_normal((60, 4)) * 10.0 ** rng.integers(-30, 30, (60, 4))
    y, qid = rng.standard_normal(60), np.repeat(np.arange(6), 10)
    write_letor(X, tmp_path / "data", y=y, qid=qid)
    back_X, back_y, back_qid = load_svmlight_file(tmp_path / "data", query_id=True)
    np.testing.assert_array_equal(back_X.toarray(), X)
    np.testing.assert_array_equal(back_y, y)
    np.testing.assert_array_equal(back_qid, qid)


def test_unsorted_indices_are_written_ascending(tmp_path):
    X = sparse.csr_matrix((np.array([3.0, 1.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    write_letor(X, tmp_path / "data", y=[1], qid=[1])
    assert (tmp_path / "data").read_text() == "1 qid:1 1:1 3:3\n"
    assert X.indices.tolist() == [2, 0]


def test_text(tmp_path):
    X = np.array([[0.5, 0.0], [-2.0, 1e-7]], dtype=np.float32)
    data = RankingData(X, np.array([2.0, 0.5]), qid=np.array(["a", "b"]))
    write_letor(data, tmp_path / "data", comments=["docid = d1", ""])
    assert (tmp_path / "data").read_text() == (
        "2 qid:a 1:0.5 2:0 #docid = d1\n0.5 qid:b 1:-2 2:1e-7\n"
    )
    write_letor(data, tmp_path / "data", with_qid=False)
    assert (tmp_path / "data").read_text() == "2 1:0.5 2:0\n0.5 1:-2 2:1e-7\n"
    named = RankingData(X, data.y, qid=data.qid, doc_ids=np.array(["d1", "d2"]))
    write_letor(named, tmp_path / "data")
    assert read_letor(tmp_path / "data", cache=False).doc_ids.tolist() == ["d1", "d2"]


def test_file_of_letor_is_written_as_it_was(tmp_path, letor_file):
    """Up to six decimals; values, labels, queries and comments survive two round trips."""
    data = read_letor(letor_file, dtype=np.float64, cache=False)
    write_letor(data, tmp_path / "one.gz")
    back = read_letor(tmp_path / "one.gz", dtype=np.float64, cache=False)
    for name in ("X", "y", "qid", "doc_ids", "comments"):
        np.testing.assert_array_equal(getattr(back, name), getattr(data, name))
    write_letor(back, tmp_path / "two.gz")
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    first, given = (
        gzip.decompress(path.read_bytes()).decode().partition("\n")[0]
        for path in (tmp_path / "one.gz", letor_file)
    )
    assert first == re.sub(r"(\.\d*?)0+(?= )", r"\1", given).replace(". ", " ")


def test_many_blocks(tmp_path, monkeypatch):
    import rankwise.datasets.letor_text as module

    data = load_dataset("lambdarank", part="test")
    write_letor(data, tmp_path / "one")
    monkeypatch.setattr(module, "VALUES_PER_BLOCK", 700)
    write_letor(data, tmp_path / "many")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()


@pytest.mark.parametrize(
    "X", [np.array([[1, 2]]), np.array([[True, False]]), np.ones((1, 2), "f2")]
)
def test_other_number_types(tmp_path, X):
    write_letor(X, tmp_path / "data", y=[True], qid=[1])
    back = read_letor(tmp_path / "data", cache=False)
    np.testing.assert_array_equal(back.X, X)
    assert back.y.tolist() == [1.0]


def test_refusals(tmp_path):
    X, path = np.ones((2, 1)), tmp_path / "data"
    with pytest.raises(TypeError, match="need y and qid"):
        write_letor(X, path, y=[1, 2])
    with pytest.raises(TypeError, match="part of the RankingData"):
        write_letor(RankingData(X, np.ones(2), qid=np.ones(2)), path, y=[1, 2])
    with pytest.raises(ValueError, match="y must have n_samples=2 entries, got 1"):
        write_letor(X, path, y=[1], qid=[1, 1])
    with pytest.raises(ValueError, match=r"qid must hold ids without .* got 'a b' at row 1"):
        write_letor(X, path, y=[1, 2], qid=["a", "a b"])
    with pytest.raises(ValueError, match="comments must not hold line breaks"):
        write_letor(X, path, y=[1, 2], qid=[1, 1], comments=["a", "b\n"])
    for wrong in ([[1.0], [2.0]], np.zeros(2)):
        with pytest.raises(TypeError, match="X must be a matrix of one row per document, got"):
            RankingData(wrong, np.zeros(2), qid=np.zeros(2))
    with pytest.raises(ValueError, match="comments must have n_samples=2 entries"):
        write_letor(X, path, y=[1, 2], qid=[1, 1], comments=["a"])
    with pytest.raises(ValueError, match="X must hold numbers, got dtype object"):
        write_letor(X.astype(object), path, y=[1, 2], qid=[1, 1])
    assert not path.exists()


def test_comments_name_the_documents_of_the_rows(tmp_path):
    notes = np.array(["docid = a", "docid = b inc = 1"])
    data = RankingData(np.eye(2), np.array([1, 0]), qid=np.array([1, 1]), comments=notes)
    other = replace(data, doc_ids=np.array(["a", "c"]))
    with pytest.raises(ValueError, match=r"got 'c' and the comment 'docid = b inc = 1' at row 1"):
        write_letor(other, tmp_path / "t.txt")
    write_letor(other, tmp_path / "t.txt", comments=["", "docid = c"])
    assert read_letor(tmp_path / "t.txt").doc_ids.tolist() == ["", "c"]
    write_letor(replace(data, doc_ids=np.array(["a", "b"])), tmp_path / "t.txt")
    assert read_letor(tmp_path / "t.txt").doc_ids.tolist() == ["a", "b"]
