"""The cache of parsed files: same arrays, kept apart by options, never trusted when doubtful."""

from __future__ import annotations

import json
import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from rankwise.datasets import clear_cache, read_letor, verify_cache
from rankwise.datasets.readers import cache as cache_module
from rankwise.datasets.readers import svmlight as reader_module
from rankwise.runtime.array_folder import HEADER, sign_header

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


def cache_folder(folder):
    (cache,) = folder.glob("*.rankwise-cache")
    return cache


def contents(folder):
    """The bytes of every array and of the header, without the random ends of the file names."""
    cache = cache_folder(folder)
    header = json.loads((cache / HEADER).read_bytes())
    header.pop("signature")  # of the names of the files, too
    files = {name: entry.pop("file") for name, entry in header["arrays"].items()}
    assert {path.name for path in cache.iterdir()} == {HEADER, *files.values()}
    return header, {name: (cache / file).read_bytes() for name, file in files.items()}


def array_file(folder, name):
    header = json.loads((cache_folder(folder) / HEADER).read_bytes())
    return cache_folder(folder) / header["arrays"][name]["file"]


def array_names(folder):
    return list(contents(folder)[1])


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


def sign(folder, change=lambda header: None):
    """Change the header of a cache, and give it the signature of what it now says."""
    path = cache_folder(folder) / HEADER
    header = json.loads(path.read_bytes())
    change(header)
    header["signature"] = sign_header(header)
    path.write_text(json.dumps(header))


def sign_array(folder, name, change):
    """Change an array of a cache in place, and its checksum."""
    path = array_file(folder, name)
    array = np.load(path)
    change(array)
    np.save(path, array)
    digests = cache_module._digest_blocks(array)
    sign(folder, lambda header: header["blocks"].update({name: digests}))


SPARSE = b"".join(b"%d qid:%d %d:1 900:2\n" % (k % 3, k // 5, k) for k in range(1, 40))


@pytest.mark.parametrize(
    "change",
    [
        *(lambda header, name=name: header.pop(name)
          for name in ("format", "version", "options", "stamps", "sha256", "extra", "arrays",
                       "blocks")),
        *(lambda header, name=name: header.update({name: None})
          for name in ("stamps", "extra", "arrays", "blocks")),
        *(lambda header, name=name: header["arrays"].pop(name)
          for name in ("X.data", "X.indices", "X.indptr", "y", "qid")),
        *(lambda header, name=name: header["blocks"].pop(name)
          for name in ("X.data", "X.indices", "X.indptr", "y", "qid")),
        *(lambda header, key=key: header["arrays"]["y"].pop(key)
          for key in ("dtype", "shape", "file")),
        *(lambda header, dtype=dtype: header["arrays"]["y"].update(dtype=dtype)
          for dtype in ("|O", "<i8", "nonsense", 8, None)),
        *(lambda header, shape=shape: header["arrays"]["y"].update(shape=shape)
          for shape in ([-39], [39, 1], [38], "39", None)),
        *(lambda header, file=file: header["arrays"]["y"].update(file=file)
          for file in ("../y.npy", "/y.npy", "arrays.json", "", ".", 3, None)),
        lambda header: header["arrays"]["y"].update(file=header["arrays"]["X.data"]["file"]),
        *(lambda header, shape=shape: header.update(extra={"shape": shape})
          for shape in ([39, 5], [38, 900], [39, 901], [], None, [39, -1], "39")),
        lambda header: header["arrays"].update(y=[]),
        lambda header: header["blocks"].update(y=[]),
        lambda header: header["blocks"].update(y=3),
    ],
)  # fmt: skip
def test_any_fault_of_a_signed_header_builds_the_cache_again(source, folder, parses, change):
    source.write_bytes(SPARSE)
    expected = read_letor(source, cache=False)
    read_letor(source)
    before = contents(folder)
    sign(folder, change)
    verify_cache(source)  # says what it finds, or nothing; raises nothing
    data = read_letor(source)
    assert data.X.shape[0] == 39
    if data.X.shape == expected.X.shape:  # more columns than are used are no fault
        assert_same(data, expected)
        assert len(parses) == 3
        header, arrays = contents_of_named_files(folder)
        assert (header, arrays) == before


def contents_of_named_files(folder):
    """As ``contents``, if files that a damaged header did not name may be left."""
    header = json.loads((cache_folder(folder) / HEADER).read_bytes())
    named = {HEADER, *(entry["file"] for entry in header["arrays"].values())}
    for path in cache_folder(folder).iterdir():
        if path.name not in named:
            path.unlink()
    return contents(folder)


@pytest.mark.parametrize("dtype", ["<i8", "<c8", "f4,f4", "<M8[s]", "V8", "O", ">f8", "S8"])
def test_other_types_build_the_cache_again(source, folder, parses, dtype):
    """Also where the header says the same."""
    expected = read_letor(source, cache=False)
    read_letor(source)
    path = array_file(folder, "y")
    array = np.zeros(3, dtype=dtype)
    np.save(path, array, allow_pickle=True)

    def change(header):
        header["arrays"]["y"]["dtype"] = array.dtype.str
        digests = [] if dtype == "O" else cache_module._digest_blocks(array)
        header["blocks"]["y"] = digests

    sign(folder, change)
    assert_same(read_letor(source), expected)
    assert len(parses) == 3


@pytest.mark.parametrize("part", ["X.indices", "X.indptr"])
@pytest.mark.parametrize("value", [-1, 1 << 30, 899])
def test_indices_out_of_bounds_build_the_cache_again(source, folder, parses, part, value):
    """Also where every checksum agrees."""
    source.write_bytes(SPARSE)
    expected = read_letor(source, cache=False)
    read_letor(source)
    sign_array(folder, part, lambda array: array.__setitem__(20, value))
    assert_same(read_letor(source), expected)
    assert len(parses) == 3


def test_text_that_is_none_builds_the_cache_again(source, folder, parses):
    expected = read_letor(source, cache=False)
    read_letor(source)
    sign_array(folder, "doc_ids", lambda array: array.view("<u4").__setitem__(0, 0x7FFFFFFF))
    assert_same(read_letor(source), expected)
    assert len(parses) == 3


def test_every_bit_of_a_small_cache_is_seen_without_verify(source, folder, parses):
    expected = read_letor(source, cache=False)
    read_letor(source)
    n = 2
    for name in array_names(folder):
        for position in range(128, array_file(folder, name).stat().st_size, 5):
            path = array_file(folder, name)
            damaged = bytearray(path.read_bytes())
            damaged[position] ^= 1 << position % 8
            path.write_bytes(damaged)
            assert_same(read_letor(source), expected)
            n += 1
            assert len(parses) == n


def test_bits_of_the_description_of_an_array_are_seen_or_mean_nothing(source, folder):
    expected = read_letor(source, cache=False)
    read_letor(source)
    for position in range(128):
        path = array_file(folder, "X")
        damaged = bytearray(path.read_bytes())
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert_same(read_letor(source), expected)


def test_a_large_cache_is_checked_in_parts(source, folder, parses, monkeypatch):
    """Some blocks are drawn at every read; the global random state is left alone."""
    monkeypatch.setattr(cache_module, "_DIGEST_BYTES", 64)
    monkeypatch.setattr(cache_module, "_DRAWN_BYTES", 256)
    source.write_bytes(TEXT * 200)
    read_letor(source)
    header, arrays = contents(folder)
    content = arrays["X"][:128] + b"\x01" * (len(arrays["X"]) - 128)
    share = len(header["blocks"]["X"]) / sum(map(len, header["blocks"].values()))
    assert 0.03 < share < 0.9
    state, seen = random.getstate(), 0
    for _ in range(60):
        array_file(folder, "X").write_bytes(content)
        n = len(parses)
        read_letor(source)
        seen += len(parses) > n
    assert random.getstate() == state
    chance = 1 - (1 - share) ** 4
    assert abs(seen / 60 - chance) < 5 * (chance * (1 - chance) / 60) ** 0.5 + 0.02
    array_file(folder, "X").write_bytes(content)
    assert "its array X is damaged" in verify_cache(source)[0]
