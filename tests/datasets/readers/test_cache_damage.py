"""Signed caches with wrong content are never trusted, and any bit that flips is seen."""

from __future__ import annotations

import json
import random
import tracemalloc

import numpy as np
import pytest

from rankwise.datasets import read_letor, verify_cache
from rankwise.datasets.readers import cache as cache_module
from rankwise.runtime.array_folder import HEADER, sign_header
from tests.datasets.readers.cached_files import (
    TEXT,
    array_file,
    array_names,
    assert_same,
    cache_folder,
    contents,
)

pytestmark = pytest.mark.usefixtures("folder")


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


@pytest.mark.parametrize("version", [2, 3])
def test_the_length_that_a_file_claims_for_its_description_is_not_allocated(
    source, folder, parses, version
):
    expected = read_letor(source, cache=False)
    read_letor(source)
    path = array_file(folder, "y")
    damaged = bytearray(path.read_bytes())
    damaged[6] = version  # four bytes of length: the brace and a quotation mark count as two
    path.write_bytes(damaged)
    tracemalloc.start()
    assert_same(read_letor(source), expected)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10_000_000
    assert len(parses) == 3


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
