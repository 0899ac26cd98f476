"""Errors while a file is written name that file and say only what is known."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import numpy as np
import pytest

from rankwise.runtime.files import writing
from rankwise.selection.cells import workers as parcel
from rankwise.selection.cells.workers import Parcels
from tests.selection.helpers import one_fold

SHORT = "65536 requested and 4080 written"  # NumPy's words


def raised(*errors_and_paths):
    """What leaves the blocks of the paths, given from the innermost one."""
    error, *paths = errors_and_paths
    for path in paths:
        with pytest.raises(OSError) as caught, writing(Path(path)):
            raise error
        error = caught.value
    return error


def test_an_unnamed_error_gets_the_name_of_the_file():
    full = raised(OSError(errno.ENOSPC, "x"), "board.json")
    assert (full.errno, full.filename) == (errno.ENOSPC, "board.json")
    assert "Free some space" in str(full)
    broken = raised(OSError(errno.EIO, "x"), "board.json")
    assert (broken.errno, broken.filename) == (errno.EIO, "board.json")
    assert "Free some space" not in str(broken)


def test_the_name_of_an_error_stays():
    denied = raised(PermissionError(errno.EACCES, "x", "inner"), "outer")
    assert isinstance(denied, PermissionError)
    assert denied.filename == "inner"
    full = raised(OSError(errno.ENOSPC, "x"), "inner", "outer")
    assert full.filename == "inner"
    assert str(full).count("Free some space") == 1


def test_only_a_short_write_of_numpy_counts_as_a_full_disk():
    full = raised(OSError(SHORT), "0.npy", "fold")
    assert (full.errno, full.filename) == (errno.ENOSPC, "0.npy")
    unknown = raised(OSError("the service is away"), "inner", "outer")
    assert (unknown.errno, unknown.filename) == (None, "inner")
    assert "the service is away" in str(unknown)
    assert "space" not in str(unknown)


def test_numpy_reports_a_short_write_in_those_words():
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    named = pytest.raises(OSError, match=r"No space left .*Free some space.*/dev/full")
    with named as caught, writing(Path("/dev/full")):
        np.zeros(1 << 16).tofile("/dev/full")
    assert caught.value.errno == errno.ENOSPC


def test_folds_that_cannot_be_packed_are_sent_as_they_are(rng, monkeypatch, tmp_path):
    def save(path, *arguments, **keywords):
        Path(path).write_bytes(b"begun")
        raise OSError(SHORT)

    monkeypatch.setattr(parcel, "_LARGE", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fold = one_fold(rng)
    with Parcels() as parcels:
        packed = parcels.pack(fold)
        assert packed.open() is not fold
        monkeypatch.setattr(np, "save", save)
        assert parcels.pack(fold) is fold
        assert len([*tmp_path.glob("*/*/*")]) == len([*packed.folder.iterdir()])
        packed.remove()
        monkeypatch.undo()
    assert not [*tmp_path.iterdir()]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with Parcels() as parcels:
        assert parcels.pack(fold) is fold
