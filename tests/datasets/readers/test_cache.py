"""The cache of parsed files: same arrays, kept apart by options, never trusted when doubtful."""

from __future__ import annotations

import hashlib
import json
import os
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from rankwise.datasets import clear_cache, read_letor, verify_cache
from rankwise.datasets.readers import cache as cache_module
from rankwise.datasets.readers import svmlight as reader_module

TEXT = b"2 qid:1 1:0.5 3:1 # docid = a\n0 qid:1 1:2 2:3 3:nan\n1 qid:7 2:-4e-1 3:1 #docid=b\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache folder of its own for every test."""
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "parsed"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "rows.txt"
    path.parent.mkdir()
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def parses(monkeypatch):
    """Counts how often files were parsed."""
    counted = []
    parse_files = reader_module.parse_files

    def count(files, options):
        counted.append(files)
        return parse_files(files, options)

    monkeypatch.setattr(reader_module, "parse_files", count)
    return counted


def columns(data):
    X = data.X
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    return [*parts, data.y, data.qid, data.doc_ids, data.comments]


def is_mapped(array) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def assert_same(a, b) -> None:
    assert a.X.shape == b.X.shape
    assert a.name == b.name
    for left, right in zip(columns(a), columns(b), strict=True):
        assert (left is None) == (right is None)
        if left is not None:
            assert left.dtype == right.dtype
            if left.dtype == object:
                assert left.tolist() == right.tolist()
            else:
                assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        b"1 1:2\n0 2:3\n",
        b"1 qid:a 1:2\n0 qid:bc 100:3 # \xc3\xa9\n",
        b"1 qid:1\n",
        b"0 1:1 # a\n" * 20_000 + b"0 1:1 # " + b"long " * 1000 + b"\n",
    ],
    ids=["plain", "no qid", "sparse, text qid", "no columns", "one long comment"],
)
@pytest.mark.parametrize("cache", [True, "beside"])
def test_a_second_read_gives_the_same_arrays_mapped(source, folder, parses, text, cache):
    source.write_bytes(text)
    plain = read_letor(source, cache=False)
    first, second = (read_letor(source, cache=cache) for _ in range(2))
    assert len(parses) == 2
    assert_same(plain, first)
    assert_same(plain, second)
    assert is_mapped(second.y)
    large = second.X.data if sparse.issparse(second.X) else second.X
    assert large.size == 0 or is_mapped(large)
    beside = [file.name for file in source.parent.iterdir() if file != source]
    kept = [file.name for file in folder.iterdir()] if folder.exists() else []
    assert (len(beside), len(kept)) == ((1, 0) if cache == "beside" else (0, 1))
    assert all(name.endswith(".rankwise-cache") for name in beside + kept)


def test_several_files(source, folder, parses):
    other = source.with_name("other.txt")
    other.write_bytes(TEXT)
    for _ in range(2):
        assert len(read_letor([source, other])) == 6
        assert len(read_letor([other, source])) == 6
        assert len(read_letor(source)) == 3
    assert len(parses) == 3
    other.write_bytes(TEXT * 2)
    assert len(read_letor([source, other])) == 9


def test_options_have_caches_of_their_own(source, folder, parses):
    options = [{}, {"dtype": np.float64}, {"dense": False}, {"n_features": 9}, {"zero_based": True}]
    for _ in range(2):
        for some in options:
            assert_same(read_letor(source, **some), read_letor(source, cache=False, **some))
    assert len(parses) == len(options) * 3
    assert len(list(folder.iterdir())) == len(options)
    assert read_letor(source, dtype="float32", dense="auto").X.dtype == np.float32
    assert len(list(folder.iterdir())) == len(options)


def test_nothing_is_cached_without_asking(source, folder):
    read_letor(source, cache=False)
    assert not folder.exists()
    assert list(source.parent.iterdir()) == [source]


def test_mapped_arrays_may_be_changed_and_the_cache_stays(source):
    for _ in range(3):
        data = read_letor(source)
        assert data.X[0, 0] == 0.5
        data.X[:] = 7
        data.y[:] = 7
    assert verify_cache(source) == []


def test_a_changed_source_is_read_again(source, parses):
    read_letor(source)
    source.write_bytes(TEXT + TEXT)  # another size
    assert len(read_letor(source)) == 6
    status = source.stat()
    source.write_bytes((TEXT + TEXT).replace(b"0.5", b"0.7"))  # same size, time put back
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert read_letor(source).X[0, 0] == np.float32(0.7)
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + 1))  # another time
    read_letor(source)
    assert len(parses) == 4
    read_letor(source)
    assert len(parses) == 4


def test_what_only_verify_sees(source, parses):
    """An edit outside the samples of a larger file that keeps size and modification time."""
    line = b"1 qid:1 1:1 2:2 3:3\n"
    n = 150_000
    source.write_bytes(line * n)
    status = source.stat()
    read_letor(source)
    read_letor(source, verify=True)
    assert len(parses) == 1
    row = n // 34  # in the middle between the first two samples
    with open(source, "r+b") as file:
        file.seek(row * len(line))
        file.write(b"2")
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert read_letor(source).y[row] == 1
    (problem,) = verify_cache(source)
    assert "has changed, although size, time and samples agree" in problem
    assert read_letor(source, verify=True).y[row] == 2
    assert verify_cache(source) == []
    assert len(parses) == 2


def cache_file(folder):
    (file,) = folder.glob("*.rankwise-cache")
    return file


def header_length(content: bytes) -> int:
    return cache_module._PREFIX.size + cache_module._PREFIX.unpack_from(content)[1]


def test_any_damage_to_the_header_is_seen(source, folder, parses):
    expected = read_letor(source, cache=False)
    read_letor(source)
    content = cache_file(folder).read_bytes()
    positions = range(0, header_length(content), 13)
    for n, position in enumerate(positions, start=3):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        cache_file(folder).write_bytes(damaged)
        assert verify_cache(source) != []
        assert_same(read_letor(source), expected)
        assert len(parses) == n
    assert cache_file(folder).read_bytes() == content


@pytest.mark.parametrize("keep", [0, 7, 47, 48, 300, 0.5, 0.9, -1])
def test_a_cut_off_cache_is_built_again(source, folder, parses, keep):
    source.write_bytes(TEXT * 100)
    read_letor(source)
    content = cache_file(folder).read_bytes()
    keep = int(keep * len(content)) if isinstance(keep, float) else keep
    cache_file(folder).write_bytes(content[:keep])
    (problem,) = verify_cache(source)
    assert str(folder) in problem
    assert len(read_letor(source)) == 300
    assert len(parses) == 2
    assert cache_file(folder).read_bytes() == content


@pytest.mark.parametrize(
    "foreign", [b"", b"x", b"something else " * 50, b"RANKWISE" + b"\xff" * 60]
)
def test_a_foreign_file_in_its_place_is_replaced(source, folder, parses, foreign):
    read_letor(source)
    content = cache_file(folder).read_bytes()
    for extra in (foreign, content + foreign + b"y"):
        cache_file(folder).write_bytes(extra)
        assert verify_cache(source) != []
        assert len(read_letor(source)) == 3
        assert cache_file(folder).read_bytes() == content
    assert len(parses) == 3


@pytest.mark.parametrize("text", [TEXT, b"1 qid:1 1:3 99:2\n" * 10])
def test_damage_in_every_section_is_seen_by_verify(source, folder, parses, text):
    source.write_bytes(text)
    expected = read_letor(source, cache=False)
    read_letor(source)
    content = cache_file(folder).read_bytes()
    arrays, header = cache_module._open(cache_file(folder))
    start = cache_module._aligned(header_length(content))
    for name, section in header["sections"].items():
        damaged = bytearray(content)
        damaged[start + section["offset"] + section["nbytes"] // 2] ^= 16
        cache_file(folder).write_bytes(damaged)
        (problem,) = verify_cache(source)
        assert problem.endswith(f"its section {name} is damaged")
        assert_same(read_letor(source, verify=True), expected)
        assert cache_file(folder).read_bytes() == content
    assert len(parses) == 2 + len(arrays)


def test_another_version_or_format_is_not_used(source, folder, parses, monkeypatch):
    for name, value in (("__version__", "0.0.1"), ("_FORMAT", 99)):
        with monkeypatch.context() as patch:
            patch.setattr(cache_module, name, value)
            read_letor(source)
        read_letor(source)
    assert len(parses) == 4
    assert len(list(folder.iterdir())) == 1


def test_verify_cache_knows_a_stale_one_and_none(source, folder):
    assert verify_cache(source) == []
    read_letor(source)
    read_letor(source, dtype=np.float64, cache="beside")
    assert verify_cache(source) == []
    source.write_bytes(TEXT + TEXT)
    problems = verify_cache(source)
    assert len(problems) == 2
    assert all(problem.endswith("older than its source") for problem in problems)


def test_where_nothing_can_be_written_the_rows_still_come(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match=r"rows\.txt could not be cached .* Set RANKWISE_CACHE"):
        assert len(read_letor(source)) == 3


def test_beside_falls_back_to_the_cache_folder(source, folder, monkeypatch):
    write = cache_module._write

    def refuse(path, arrays, header):
        if path.parent == source.parent:
            raise PermissionError(13, "Permission denied")
        return write(path, arrays, header)

    monkeypatch.setattr(cache_module, "_write", refuse)
    for _ in range(2):
        assert isinstance(read_letor(source, cache="beside").X, np.memmap)
    assert list(source.parent.iterdir()) == [source]
    assert cache_file(folder).exists()


def test_a_failed_write_leaves_nothing_behind(source, folder, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_module.os, "fsync", fail)
    with pytest.warns(UserWarning, match="No space left on device"):
        assert len(read_letor(source)) == 3
    assert list(folder.iterdir()) == []


def test_a_source_that_changes_while_it_is_read_is_not_cached(source, folder, monkeypatch):
    parse_files = reader_module.parse_files

    def parse_and_change(files, options):
        rows = parse_files(files, options)
        source.write_bytes(TEXT + TEXT)
        return rows

    monkeypatch.setattr(reader_module, "parse_files", parse_and_change)
    assert len(read_letor(source)) == 3
    assert not folder.exists()


def test_readers_and_writers_at_the_same_time(source, folder):
    source.write_bytes(TEXT * 5000)
    expected = read_letor(source, cache=False)

    def read(k):
        if k % 5 == 0 and folder.exists():
            for file in folder.glob("*.rankwise-cache"):
                file.unlink(missing_ok=True)
        return read_letor(source, verify=k % 3 == 0)

    with ThreadPoolExecutor(8) as pool:
        for data in pool.map(read, range(60)):
            assert_same(data, expected)
    assert [file.suffix for file in folder.iterdir()] == [".rankwise-cache"]


def test_clear_cache(source, folder):
    assert clear_cache() == 0
    read_letor(source)
    read_letor(source, dense=False)
    read_letor(source, cache="beside", dense=True)
    (folder / "rows.rankwise-cache.1-ab.part").write_bytes(b"left by a killed process")
    assert clear_cache() == 2
    assert list(folder.iterdir()) == []
    assert len(list(source.parent.iterdir())) == 2


def signed(content: bytes, change) -> bytes:
    """A cache file whose header is changed and has the checksum of what it now says."""
    start = cache_module._PREFIX.size
    length = cache_module._PREFIX.unpack_from(content)[1]
    header = json.loads(content[start : start + length])
    sections = content[cache_module._aligned(start + length) :]
    change(header)
    text = json.dumps(header).encode()
    prefix = cache_module._PREFIX.pack(
        cache_module._MAGIC, len(text), hashlib.sha256(text).digest()
    )
    return (prefix + text).ljust(cache_module._aligned(start + len(text)), b"\0") + sections


SPARSE = b"".join(b"%d qid:%d %d:1 900:2\n" % (k % 3, k // 5, k) for k in range(1, 40))


@pytest.mark.parametrize(
    "change",
    [
        *(lambda header, name=name: header.pop(name)
          for name in ("format", "version", "options", "stamps", "sha256", "extra", "sections",
                       "nbytes")),
        *(lambda header, name=name: header.update({name: None})
          for name in ("stamps", "extra", "sections", "nbytes")),
        *(lambda header, name=name: header["sections"].pop(name)
          for name in ("X.data", "X.indices", "X.indptr", "y", "qid")),
        *(lambda header, key=key: header["sections"]["y"].pop(key)
          for key in ("dtype", "shape", "offset", "nbytes", "sha256")),
        *(lambda header, dtype=dtype: header["sections"]["y"].update(dtype=dtype)
          for dtype in ("|O", "O", "<i8", "<c8", "f4,f4", "<M8[s]", "V8", "nonsense", 8, None)),
        lambda header: header["sections"]["X.indices"].update(dtype="<u4"),
        lambda header: header["sections"]["X.indices"].update(dtype="<f4"),
        *(lambda header, shape=shape: header["sections"]["y"].update(shape=shape)
          for shape in ([-39], [39, 1], [38], [39.0], "39", None, [True] * 39)),
        *(lambda header, offset=offset: header["sections"]["y"].update(offset=offset)
          for offset in (-64, 1, 1 << 40, "0", 1e300)),
        *(lambda header, shape=shape: header.update(extra={"shape": shape})
          for shape in ([39, 5], [38, 900], [39, 901], [], None, [39, -1], "39")),
        lambda header: header["sections"].update(y=[]),
        lambda header: header["sections"]["y"].update(sha256=[]),
    ],
)  # fmt: skip
def test_any_fault_of_a_signed_header_builds_the_cache_again(source, folder, parses, change):
    source.write_bytes(SPARSE)
    expected = read_letor(source, cache=False)
    read_letor(source)
    content = cache_file(folder).read_bytes()
    cache_file(folder).write_bytes(signed(content, change))
    verify_cache(source)  # says what it finds, or nothing; raises nothing
    data = read_letor(source)
    assert data.X.shape[0] == 39
    if data.X.shape == expected.X.shape:  # more columns than are used are no fault
        assert_same(data, expected)
        assert len(parses) == 3
        assert cache_file(folder).read_bytes() == content


@pytest.mark.parametrize("part", ["X.indices", "X.indptr"])
@pytest.mark.parametrize("value", [-1, 1 << 30, 899])
def test_indices_out_of_bounds_build_the_cache_again(source, folder, parses, part, value):
    """Also where every checksum agrees."""
    source.write_bytes(SPARSE)
    expected = read_letor(source, cache=False)
    read_letor(source)
    content = bytearray(cache_file(folder).read_bytes())
    _, header = cache_module._open(cache_file(folder))
    section = header["sections"][part]
    start = cache_module._aligned(header_length(content)) + section["offset"]
    content[start + 80 : start + 84] = value.to_bytes(4, "little", signed=True)
    digest = hashlib.sha256(content[start : start + section["nbytes"]]).hexdigest()

    def sign(header):
        header["sections"][part]["sha256"] = [digest]

    cache_file(folder).write_bytes(signed(bytes(content), sign))
    assert_same(read_letor(source), expected)
    assert len(parses) == 3


def test_text_that_is_none_builds_the_cache_again(source, folder, parses):
    expected = read_letor(source, cache=False)
    read_letor(source)
    content = bytearray(cache_file(folder).read_bytes())
    _, header = cache_module._open(cache_file(folder))
    section = header["sections"]["doc_ids"]
    start = cache_module._aligned(header_length(content)) + section["offset"]
    content[start : start + 4] = b"\xff\xff\xff\x7f"
    digest = hashlib.sha256(content[start : start + section["nbytes"]]).hexdigest()

    def sign(header):
        header["sections"]["doc_ids"]["sha256"] = [digest]

    cache_file(folder).write_bytes(signed(bytes(content), sign))
    assert_same(read_letor(source), expected)
    assert len(parses) == 3


def test_every_bit_of_a_small_cache_is_seen_without_verify(source, folder, parses):
    expected = read_letor(source, cache=False)
    read_letor(source)
    content = cache_file(folder).read_bytes()
    _, header = cache_module._open(cache_file(folder))
    start = cache_module._aligned(header_length(content))
    inside = [
        start + section["offset"] + k
        for section in header["sections"].values()
        for k in range(0, section["nbytes"], 5)
    ]
    for n, position in enumerate(inside, start=3):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        cache_file(folder).write_bytes(damaged)
        assert_same(read_letor(source), expected)
        assert len(parses) == n


def test_a_large_cache_is_checked_in_parts(source, folder, parses, monkeypatch):
    """Some blocks are drawn at every read; the global random state is left alone."""
    monkeypatch.setattr(cache_module, "_DIGEST_BYTES", 64)
    monkeypatch.setattr(cache_module, "_DRAWN_BYTES", 256)
    source.write_bytes(TEXT * 200)
    read_letor(source)
    content = bytearray(cache_file(folder).read_bytes())
    _, header = cache_module._open(cache_file(folder))
    section = header["sections"]["X"]
    start = cache_module._aligned(header_length(content)) + section["offset"]
    content[start : start + section["nbytes"]] = b"\x01" * section["nbytes"]
    n_blocks = sum(len(of["sha256"]) for of in header["sections"].values())
    share = len(section["sha256"]) / n_blocks
    assert 0.03 < share < 0.9
    state, seen = random.getstate(), 0
    for _ in range(60):
        cache_file(folder).write_bytes(content)
        n = len(parses)
        read_letor(source)
        seen += len(parses) > n
    assert random.getstate() == state
    chance = 1 - (1 - share) ** 4
    assert abs(seen / 60 - chance) < 5 * (chance * (1 - chance) / 60) ** 0.5 + 0.02
    cache_file(folder).write_bytes(content)
    assert "its section X is damaged" in verify_cache(source)[0]
