"""Files of cached rows, for tests of the cache."""

from __future__ import annotations

import json

import numpy as np
from scipy import sparse

from rankwise.runtime.array_folder import HEADER

TEXT = b"2 qid:1 1:0.5 3:1 # docid = a\n0 qid:1 1:2 2:3 3:nan\n1 qid:7 2:-4e-1 3:1 #docid=b\n"


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
