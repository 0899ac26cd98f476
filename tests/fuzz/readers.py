"""Targets: every reader of the library, held against its twin where it has one."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from scipy import sparse

from rankwise.datasets import (
    IgnoredColumnsWarning,
    read_extreme,
    read_grouped,
    read_letor,
    read_mulan,
    read_qrels,
    read_run,
    read_table,
)
from rankwise.datasets.catalog.multi_label import read_arff
from rankwise.datasets.readers import cache
from rankwise.runtime.array_folder import HEADER, sign_header
from rankwise.streams.row_stream import UnjudgedLetor
from rankwise.text.documents import convert_to_queries, iterate_documents
from tests.fuzz import seeds, twins
from tests.fuzz.array_folders import agree, files_of
from tests.fuzz.harness import Target, mutated

NUMBERS = (
    b"0", b"-0", b"1", b"2", b"+1", b".5", b"-.5e3", b"1e5", b"1e-400", b"1e39", b"1e309", b"nan",
    b"NaN", b"inf", b"-Infinity", b"1_0", b"0x1", b"1e", b"--1", b"1.2.3", b"00001", b"9" * 18,
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"2147483647",
    b"2147483648", b"4294967297", b"4611686018427387904", b"0" * 25 + b"7", b"1" * 40,
    b"0." + b"3" * 60, b"\xd9\xa3",
)  # fmt: skip
BREAKS = (b"\r", b"\r\n", b"\n\n", b"\x00", b"\x0b", b"\x85", b"\xe2\x80\xa8", b"\xff", b" " * 9)
LONG = (b"a" * 3000, b"\n" * 3000, b"0\n" * 2000, b"1" * 5000)
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
COMMON = (*NUMBERS, *BREAKS, *LONG, *MARKS)


def against_twin(
    read: Callable[[Path], Any],
    twin: Callable[[bytes], Any],
    compare: Callable[[Any, Any], None],
) -> Callable[[Path], bool]:
    """A check: both refuse, or both read the same."""

    def check(path: Path) -> bool:
        try:
            expected = twin(path.read_bytes())
        except ValueError:
            expected = None
        try:
            found = read(path)
        except ValueError:
            assert expected is None, "refused, but the twin reads it"
            raise
        assert expected is not None, "read, but the twin refuses it"
        compare(found, expected)
        return True

    return check


def mutations(
    seed: Callable[[np.random.Generator], bytes], *tokens: bytes
) -> Callable[[np.random.Generator], bytes]:
    """Cases that are mutations of valid files."""

    def make(rng: np.random.Generator) -> bytes:
        return mutated(rng, seed(rng), (*COMMON, *tokens), seed(rng))

    return make


def same_letor(data: Any, expected: twins.LetorTwin) -> None:
    """Assert that ``data`` is what the twin read, bit for bit."""
    assert data.X.shape == (len(expected.rows), expected.width)
    counts = [len(entries) for entries in expected.rows]
    rows = np.repeat(np.arange(len(counts)), counts)
    columns = [column for entries in expected.rows for column in sorted(entries)]
    values = [value for entries in expected.rows for _, value in sorted(entries.items())]
    if sparse.issparse(data.X):
        assert np.diff(data.X.indptr).tolist() == counts
        assert data.X.indices.tolist() == columns
        found = data.X.data
    else:
        found = data.X[rows, columns]
        assert np.count_nonzero(data.X) == np.count_nonzero(found)
    assert found.tobytes() == _canonical(values).tobytes()
    np.testing.assert_array_equal(data.y, expected.y)
    assert data.qid.tolist() == expected.qid
    comments = None if data.comments is None else data.comments.tolist()
    assert comments == expected.comments


def _canonical(values: list[float]) -> np.ndarray:
    """Values as float32; the bits of a NaN are those that the reader writes."""
    out = np.array(values, dtype=np.float32)
    signs = np.signbit(out[np.isnan(out)])
    out[np.isnan(out)] = np.copysign(np.float32(np.nan), np.where(signs, -1, 1))
    return out


def _same_qrels(found: Any, expected: list[tuple[str, str, int]]) -> None:
    rows = zip(found.qid.tolist(), found.doc_ids.tolist(), found.relevance.tolist(), strict=True)
    assert list(rows) == expected


def _same_run(found: Any, expected: list[tuple[str, str, float, str]]) -> None:
    rows = zip(found.qid.tolist(), found.doc_ids.tolist(), found.scores.tolist(), strict=True)
    assert list(rows) == [row[:3] for row in expected]
    assert found.tag == (expected[0][3] if expected else "")


def _same_extreme(found: Any, expected: Any) -> None:
    (n, d, k), labels, rows = expected
    assert found.X.shape == (n, d)
    assert found.Y.shape == (n, k)
    for i in range(n):
        x, y = found.X[i], found.Y[i]
        assert dict(zip(x.indices.tolist(), x.data.tolist(), strict=True)) == rows[i]
        assert sorted(y.indices.tolist()) == sorted(labels[i])


def _check_arff(path: Path) -> bool:
    """Categories of dense and sparse rows are among those of the attribute."""
    table = read_arff(path)
    matrix = table.matrix.toarray() if sparse.issparse(table.matrix) else table.matrix
    assert matrix.shape[1] == len(table.attributes)
    assert not np.isinf(matrix).any()
    for column, attribute in zip(matrix.T, table.attributes, strict=True):
        if attribute.categories:
            assert np.isin(column[~np.isnan(column)], [*attribute.values.values()]).all()
    expected = twins.arff_rows(path.read_bytes(), [a.categories for a in table.attributes])
    np.testing.assert_array_equal(matrix, np.array(expected).reshape(matrix.shape))
    return True


def _check_mulan(path: Path) -> bool:
    data = read_mulan(path)
    Y = data.Y.toarray() if sparse.issparse(data.Y) else data.Y
    assert np.isin(Y, (0, 1)).all()
    assert data.X.shape == (len(Y), len(data.feature_names))
    assert len(data.label_names) == Y.shape[1] > 0
    return True


def _check_mulan_xml(path: Path) -> bool:
    rows = path.with_suffix(".arff")
    names = "".join(f"@attribute {name} {{0,1}}\n" for name in ("l0", "x0", "l1", "x1", "l2"))
    rows.write_text(f"@relation r\n{names}@attribute x real\n@data\n1,0,1,0,1,2.5\n")
    try:
        data = read_mulan(rows, path)
    except ValueError as error:
        if str(rows) in str(error):  # a name is none of the attributes
            raise ValueError(f"{path}: {error}") from None
        raise
    text = path.read_bytes()
    # Bytes of another encoding, or at odd places, are other characters.
    two_bytes = {
        b"<\0": "utf-16-le",
        b"\0<": "utf-16-be",
        b"\xff\xfe": "utf-16",
        b"\xfe\xff": "utf-16",
    }
    assert "<!DOCTYPE" not in text.decode(two_bytes.get(text[:2], "latin-1"), "replace")
    assert data.Y.shape == (1, len(data.label_names))
    return True


def _make_unjudged(rng: np.random.Generator) -> bytes:
    """LETOR text in which some lines have no label."""
    lines = seeds.letor(rng).split(b"\n")
    kept = [line.partition(b" ")[2] if rng.random() < 0.6 else line for line in lines]
    return mutated(rng, b"\n".join(kept), (*COMMON, b" 1:2", b"\n3:4 ", b"\nqid:1 ", b"\n7:"))


_NO_LABEL = re.compile(rb"^[ \t\v\f\r]*(?=qid:|[0-9]+:)", re.MULTILINE)
_WIDTH = 100_000


def _check_unjudged(path: Path) -> bool:
    """As with a label in front of lines that have none."""
    labelled = path.with_suffix(".labelled")
    labelled.write_bytes(_NO_LABEL.sub(b"0 ", path.read_bytes().removeprefix(b"\xef\xbb\xbf")))
    try:
        expected = read_letor(labelled, n_features=_WIDTH, cache=False)
    except ValueError:
        expected = None
    stream = UnjudgedLetor((path,), _WIDTH, np.float32, 1 << 30)
    try:
        chunks = list(stream)
    except ValueError:
        assert expected is None, "refused, but it reads with labels"
        raise
    if not chunks:
        raise ValueError(f"{path}: no rows")
    assert expected is not None, "read, but it is refused with labels"
    X = [sparse.csr_matrix(chunk.X) for chunk in chunks]
    found, twin = sparse.vstack(X), sparse.csr_matrix(expected.X)
    assert found.shape == twin.shape
    np.testing.assert_array_equal(found.indptr, twin.indptr)
    np.testing.assert_array_equal(found.indices, twin.indices)
    np.testing.assert_array_equal(found.data, twin.data)
    return True


def _check_table(path: Path) -> bool:
    """What the csv module reads too has the same cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredColumnsWarning)
        data = read_table(path, dtype=np.float64)
    # Columns without a name are left out, so that they may hold anything.
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    if '"' in text or "\r" in text.replace("\r\n", ""):
        return True
    header, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    cells = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else {}
    assert data.n_samples == len(rows)
    # A mutation of "qid" may be another usual name, such as "q".
    queries = [values for name, values in cells.items() if name.lower() in ("qid", "q")]
    assert not rows or [[str(q) for q in data.qid.tolist()]] == [list(values) for values in queries]
    for j, name in enumerate(data.feature_names if rows else ()):
        for found, cell in zip(data.X[:, j].tolist(), cells[name], strict=True):
            with contextlib.suppress(ValueError):
                value = twins.number(cell.strip(" \t").encode())
                assert found == value or np.isnan([found, value]).all()
                continue
            assert np.isnan(found), cell
    return True


def _make_parquet(rng: np.random.Generator) -> bytes:
    return mutated(rng, seeds.parquet(rng))


def _check_parquet(path: Path) -> bool:
    data = read_table(path)
    assert data.X.shape == (len(data.y), len(data.feature_names))
    assert np.isfinite(data.y).all()
    return True


PACK = (
    gzip.compress,
    bz2.compress,
    # The default keeps some of its 90 MiB a call: 41,000 cases reached the limit of addresses.
    lambda text: lzma.compress(text, preset=0),
    lambda text: pyarrow.compress(text, codec="zstd", asbytes=True),
)


def _make_packed(rng: np.random.Generator) -> bytes:
    """Some streams of the same rows, damaged."""
    pack = PACK[rng.integers(len(PACK))]
    return mutated(rng, pack(_packed_rows()) * int(rng.integers(1, 4)), (b"\0\0\0\0", b"\0"))


def _packed_rows() -> bytes:
    return b"".join(b"1 qid:%d 1:%d\n" % (k, k) for k in range(1, 60))


def _check_packed(path: Path) -> bool:
    """Accepted files hold whole copies of the rows, but for zstd, which has no checksum."""
    head = path.read_bytes()[:4]
    data = read_letor(path, cache=False, max_decompressed_bytes=1 << 20)
    if head != b"\x28\xb5\x2f\xfd":
        assert data.X.ravel().tolist() == [*range(1, 60)] * (len(data) // 59)
    return True


def _make_grouped(rng: np.random.Generator) -> bytes:
    sizes = rng.integers(0, 5, rng.integers(1, 5))
    sizes[0] += 12 - min(12, sizes.sum())
    return mutated(rng, "\n".join(map(str, sizes.tolist())).encode(), COMMON)


def _check_grouped(path: Path) -> bool:
    rows = path.with_name("rows.txt")
    rows.write_bytes(b"1 1:1\n" * 12)
    data = read_grouped(rows, sizes=path, cache=False)
    # Numbers are float64, as in every reader: 1e-4000 is 0.
    sizes = [float(line) for line in path.read_text("utf-8-sig").split()]
    assert data.groups.sizes.tolist() == [size for size in sizes if size]
    assert sum(sizes) == 12
    return True


CACHED = (
    b"2 qid:1 1:0.5 3:1 # docid = a\n0 qid:1 1:2 2:3 3:nan\n1 qid:7 2:-4e-1 3:1 #docid=b\n",
    b"".join(b"%d qid:%d %d:1 900:2\n" % (k % 3, k // 5, k) for k in range(1, 40)),
    b"1 qid:a 1:2 # \xc3\xa9\n" * 90 + b"0 qid:b 100:3 #" + b" long" * 2_000 + b"\n",
)


def _source(folder: Path, number: int) -> Path:
    """A file whose stamp is the same in every folder."""
    path = folder / f"source{number}.txt"
    if not path.exists():
        path.write_bytes(CACHED[number])
        os.utime(path, ns=(10**18, 10**18))
    return path


@lru_cache
def _valid_cache(number: int) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        source = _source(Path(name), number)
        read_letor(source, cache="beside")
        (folder,) = source.parent.glob("*.rankwise-cache")
        return files_of(folder)


def _make_cache(rng: np.random.Generator) -> bytes:
    """A damaged cache; every other one has checksums that agree with the damage."""
    number, signed = int(rng.integers(len(CACHED))), bool(rng.random() < 0.5)
    files = dict(_valid_cache(number))
    tokens = (b"|O", b"<f4", b"<i4", b"<u8", b"<U3", b"-1", b"0", b"64", b"null", b"[]", b"1e999",
              b"99999999999999999999", b"{}", b"[3, 3]", b"[" * 5000)  # fmt: skip
    name = sorted(files)[rng.integers(len(files))]
    files[name] = mutated(rng, files[name], tokens if signed else ())
    if signed:
        with contextlib.suppress(Exception):  # of JSON, and of NumPy's parser of headers
            header, arrays = agree(files)
            header["blocks"] = {name: cache._digest_blocks(array) for name, array in arrays.items()}
            header["signature"] = sign_header(header)
            files[HEADER] = json.dumps(header).encode()
    packed = {name: data.hex() for name, data in files.items()}
    return json.dumps([number, signed, packed]).encode()


def _check_cache(path: Path) -> bool:
    """Damage is seen; a cache that was signed anew may hold other values, in bounds."""
    number, signed, packed = json.loads(path.read_bytes())
    files = {name: bytes.fromhex(data) for name, data in packed.items()}
    source = _source(path.parent, number)
    text = CACHED[number]
    for old in path.parent.glob("*.rankwise-cache"):
        shutil.rmtree(old)
    options = {"dtype": "float32", "n_features": None, "dense": "auto", "zero_based": "auto"}
    slot = cache.CacheSlot.of([source], options, beside=True)
    place = source.parent / slot.folder_name
    place.mkdir()
    for name, data in files.items():
        (place / name).write_bytes(data)
    data = read_letor(source, cache="beside")
    rebuilt = (place / HEADER).read_bytes() != files[HEADER]
    expected = twins.read_letor(text)
    if rebuilt or not signed:
        same_letor(data, expected)
    assert data.X.shape[0] == len(expected.rows)
    assert data.X.shape[1] >= expected.width  # other values may include columns of zeros
    assert (data.X @ np.ones(data.X.shape[1], dtype=np.float32)).shape == data.y.shape
    assert len(data.qid.tolist()) == len(data.y)
    for column in (data.comments, data.doc_ids):
        assert column is None or all(isinstance(item, str) for item in column.tolist())
    return not rebuilt


def _check_texts(path: Path) -> bool:
    """Documents and topics have an id and plain text; entries come in the order of the file."""
    text = path.read_text("utf-8", "replace")
    if "<top>" in text.lower() and "<doc>" not in text.lower():
        found = convert_to_queries(path)
        assert all(isinstance(value, str) for value in found.values())
        return True
    places = []
    for identifier, (value,) in iterate_documents(path, ("text",)):
        assert identifier and isinstance(value, str)
        places.append(text.find(identifier))
    return True


TARGETS = (
    Target(
        "letor",
        mutations(
            seeds.letor, b" # x", b"#", b" qid:1", b" qid:", b" 1:2", b" 3:4 3:5", b"0:1", b" 7:",
            b":", b" 2147483647:1", b" 1000000:1", b" 5:1\r6:2 1:3", b"qid:9 5:1",
        ),
        against_twin(lambda path: read_letor(path, cache=False), twins.read_letor, same_letor),
    ),
    Target("unjudged", _make_unjudged, _check_unjudged),
    Target(
        "qrels",
        mutations(seeds.qrels, b"q0 0 d0 1", b"q0 0 \xe9 1\n", b" x"),
        against_twin(read_qrels, twins.read_qrels, _same_qrels),
    ),
    Target(
        "run",
        mutations(seeds.run, b"q0 Q0 d0 1 1 t", b" x"),
        against_twin(read_run, twins.read_run, _same_run),
    ),
    Target(
        "trec_text",
        mutations(
            seeds.trec_text, b"<DOC>", b"</DOC>", b"<docno>", b"</TEXT>", b"<top>", b"<num> 3",
            b"&amp;", b"&#x0;", b"<!--", b"<", b">", b"<a" * 500,
        ),
        _check_texts,
    ),
    Target(
        "json_lines",
        mutations(
            seeds.json_lines, b'{"id": "d", "text": 3}', b"{}", b"[]", b"null", b'"', b"{", b"}",
            b'"\\ud800"', b"[" * 3000,
        ),
        _check_texts,
        ".jsonl",
    ),
    Target(
        "extreme",
        mutations(seeds.extreme, b"1,,2", b",", b"0:1", b"1:1 1:2", b"3\t4 ", b"2 2 2\n", b" "),
        against_twin(read_extreme, twins.read_extreme, _same_extreme),
    ),
    Target(
        "arff",
        mutations(
            seeds.arff, b"{", b"}", b"'", b'"', b"\\", b"?", b"{0 1,2 1}", b"{}", b"{a,b}", b",,",
            b"@data", b"@attribute x real\n", b"@attribute y {1,1.0,2}\n", b"%", b"real", b"{0 1}",
            b"'a b", b"{'a, b'}", b"red", b"date",
        ),
        _check_arff,
        ".arff",
    ),
    Target("mulan", mutations(seeds.arff, b"-C", b"-C -1", b"0,1"), _check_mulan, ".arff"),
    Target(
        "mulan_xml",
        mutations(
            seeds.mulan_xml, b"<!DOCTYPE a [<!ENTITY e 'x'>]>", b"&e;", b"&#48;", b"<![CDATA[x]]>",
            "<!DOCTYPE a [<!ENTITY e 'x'>]>".encode("utf-16-le"), b'<label name="l2"/>',
            b'<?xml version="1.0" encoding="utf-16"?>', b'encoding="no-such"', b'encoding="utf-7"',
            b"<!-- x -->", b"<label/>",
        ),
        _check_mulan_xml,
        ".xml",
    ),
    Target("table", mutations(seeds.table, b",", b'"', b'""', b"\t", b"qid"), _check_table, ".csv"),
    Target("parquet", _make_parquet, _check_parquet, ".parquet"),
    Target("packed", _make_packed, _check_packed, base_bytes=32 << 20),  # xz's dictionary
    Target("cache", _make_cache, _check_cache, refusals=(), bytes_per_byte=1000),
    Target("grouped", _make_grouped, _check_grouped),
)  # fmt: skip
