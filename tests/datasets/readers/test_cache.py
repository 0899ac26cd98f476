"""The cache of parsed files: same arrays, kept apart by options, never trusted when doubtful."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from rankwise.datasets import clear_cache, read_letor, verify_cache
from rankwise.datasets.readers import cache as cache_module
from rankwise.datasets.readers import letor as reader_module
from rankwise.runtime.array_folder import HEADER
from tests.datasets.readers.cached_files import (
    TEXT,
    array_file,
    array_names,
    assert_same,
    cache_folder,
    contents,
    is_mapped,
)

pytestmark = pytest.mark.usefixtures("folder")


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


def test_any_damage_to_the_header_is_seen(source, folder, parses):
    expected = read_letor(source, cache=False)
    read_letor(source)
    before = contents(folder)
    n_bytes = (cache_folder(folder) / HEADER).stat().st_size
    for n, position in enumerate(range(0, n_bytes, 13), start=3):
        path = cache_folder(folder) / HEADER
        damaged = bytearray(path.read_bytes())
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert verify_cache(source) != []
        assert_same(read_letor(source), expected)
        assert len(parses) == n
        shutil.rmtree(cache_folder(folder))
        read_letor(source)
        parses.pop()
    assert contents(folder) == before


@pytest.mark.parametrize("keep", [0, 7, 127, 128, 300, 0.5, 0.9, -1])
def test_a_cut_off_cache_is_built_again(source, folder, parses, keep):
    source.write_bytes(TEXT * 100)
    read_letor(source)
    before = contents(folder)
    for n, name in enumerate([*before[1], HEADER], start=2):
        path = cache_folder(folder) / HEADER if name == HEADER else array_file(folder, name)
        content = path.read_bytes()
        path.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
        (problem,) = verify_cache(source)
        assert str(folder) in problem
        assert path.name in problem
        assert len(read_letor(source)) == 300
        assert len(parses) == n
        shutil.rmtree(cache_folder(folder))
        read_letor(source)
        parses.pop()
    assert contents(folder) == before


@pytest.mark.parametrize(
    "foreign", [b"", b"x", b"something else " * 50, b"\x93NUMPY\1\0" + b"(" * 999]
)
def test_foreign_files_are_replaced(source, folder, parses, foreign):
    read_letor(source)
    before = contents(folder)
    names = [HEADER, *before[1]]
    for n, name in enumerate(names * 2, start=2):
        path = cache_folder(folder) / HEADER if name == HEADER else array_file(folder, name)
        path.write_bytes((path.read_bytes() + b"y" if n < 2 + len(names) else b"") + foreign)
        assert verify_cache(source) != []
        assert len(read_letor(source)) == 3
        assert len(parses) == n
        shutil.rmtree(cache_folder(folder))
        read_letor(source)
        parses.pop()
    cache = cache_folder(folder)
    shutil.rmtree(cache)
    cache.write_bytes(foreign)
    assert verify_cache(source) != []
    assert len(read_letor(source)) == 3
    assert contents(folder) == before


@pytest.mark.parametrize("text", [TEXT, b"1 qid:1 1:3 99:2\n" * 10])
def test_damage_in_every_array_is_seen_by_verify(source, folder, parses, text):
    source.write_bytes(text)
    expected = read_letor(source, cache=False)
    read_letor(source)
    before = contents(folder)
    for name in array_names(folder):
        path = array_file(folder, name)
        damaged = bytearray(path.read_bytes())
        damaged[(128 + len(damaged)) // 2] ^= 16
        path.write_bytes(damaged)
        (problem,) = verify_cache(source)
        assert problem.endswith(f"its array {name} is damaged")
        assert_same(read_letor(source, verify=True), expected)
        assert contents(folder) == before
    assert len(parses) == 2 + len(before[1])


def test_another_version_or_format_is_not_used(source, folder, parses, monkeypatch):
    for name, value in (("RELEASE", "0.0.1"), ("_FORMAT", 99)):
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
    write_arrays = cache_module.write_arrays

    def refuse(path, arrays, header):
        if path.parent == source.parent:
            raise PermissionError(13, "Permission denied")
        write_arrays(path, arrays, header)

    monkeypatch.setattr(cache_module, "write_arrays", refuse)
    for _ in range(2):
        assert isinstance(read_letor(source, cache="beside").X, np.memmap)
    assert list(source.parent.iterdir()) == [source]
    assert cache_folder(folder).exists()


def test_a_failed_write_leaves_nothing_behind(source, folder, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
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
            for file in folder.glob(f"*.rankwise-cache/{HEADER}"):
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
    assert clear_cache() == 2
    assert list(folder.iterdir()) == []
    assert len(list(source.parent.iterdir())) == 2


def test_caches_of_earlier_versions_are_files(source, folder, parses):
    read_letor(source)
    cache = cache_folder(folder)
    shutil.rmtree(cache)
    cache.write_bytes(b"rankwise")
    assert len(read_letor(source)) == 3 and cache.is_dir() and len(parses) == 2
    shutil.rmtree(cache)
    cache.write_bytes(b"rankwise")
    assert clear_cache() == 1
    assert list(folder.iterdir()) == []
