"""Files that are written to or replaced while they are read."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import textwrap

import pytest

from rankwise.datasets import read_letor, read_qrels
from rankwise.datasets.readers import textfiles
from rankwise.datasets.readers.textfiles import TextFile

LONG_ROWS = b"1 qid:1 " + b" ".join(b"%d:0.25" % k for k in range(1, 60)) + b"\n"
CHANGED = r"rows\.txt changed while it was read\. Read it again when no program writes to it\."


def before_read(monkeypatch, number, change):
    """Call ``change`` before the file's bytes are read for the ``number``-th time."""
    calls = []
    read_into = TextFile.read_into

    def count(self, out, start):
        calls.append(start)
        if len(calls) == number:
            change()
        return read_into(self, out, start)

    monkeypatch.setattr(TextFile, "read_into", count)
    return calls


@pytest.mark.parametrize("dense", ["auto", True, False])
@pytest.mark.parametrize("number", range(1, 5))
def test_more_rows_than_were_counted(tmp_path, monkeypatch, dense, number):
    path = tmp_path / "rows.txt"
    path.write_bytes(LONG_ROWS * 50)
    size = path.stat().st_size

    def rewrite():
        with open(path, "r+b") as file:
            file.write(b"0\n" * (size // 2))

    calls = before_read(monkeypatch, number, rewrite)
    try:
        data = read_letor(path, cache=False, dense=dense)
    except ValueError as error:
        assert "changed while it was read" in str(error)
    else:
        assert len(calls) < number
        assert data.X.shape == (50, 59)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(path.read_bytes() + LONG_ROWS),
        lambda path: os.utime(path, ns=(0, 10**18)),
        lambda path: (path.unlink(), path.write_bytes(LONG_ROWS * 50)),
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(LONG_ROWS * 49 + b"x" * len(LONG_ROWS)),
    ],
    ids=["appended", "time", "replaced", "removed", "emptied", "malformed"],
)
def test_every_change_is_seen(tmp_path, monkeypatch, change):
    path = tmp_path / "rows.txt"
    path.write_bytes(LONG_ROWS * 50)
    os.utime(path, ns=(0, 10**9))
    calls = before_read(monkeypatch, 2, lambda: change(path))
    with pytest.raises((ValueError, FileNotFoundError), match=r"rows\.txt") as raised:
        read_letor(path, cache=False)
    assert len(calls) > 1
    if raised.type is ValueError:
        assert raised.match(CHANGED)


def test_a_reader_that_reads_once_sees_a_change_too(tmp_path, monkeypatch):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"1 0 d1 1\n1 0 d2 0\n")
    before_read(monkeypatch, 1, lambda: path.write_bytes(b"1 0 d1 1\n1 0 d3 0\n1 0 d4 0\n"))
    with pytest.raises(ValueError, match=CHANGED):
        read_qrels(path)


def test_a_compressed_file_that_changes(tmp_path, monkeypatch):
    path = tmp_path / "rows.txt"
    path.write_bytes(gzip.compress(LONG_ROWS * 50))
    decompress = textfiles.decompress

    def change_after(*args):
        text = decompress(*args)
        path.write_bytes(gzip.compress(LONG_ROWS * 60))
        return text

    monkeypatch.setattr(textfiles, "decompress", change_after)
    with pytest.raises(ValueError, match=CHANGED):
        read_letor(path, cache=False)


def test_a_rewritten_file_does_not_end_the_process(tmp_path):
    """Ten megabytes of long rows become two-byte rows in place, at several moments."""
    script = textwrap.dedent(
        f"""
        import pathlib
        from rankwise.datasets import read_letor
        from rankwise.datasets.readers.textfiles import TextFile

        path = pathlib.Path({str(tmp_path / "rows.txt")!r})
        rows = {LONG_ROWS!r}
        short = b"0\\n" * (len(rows) // 2)
        read_into, calls = TextFile.read_into, []

        def rewrite_once(self, out, start):
            calls.append(start)
            if len(calls) == when:
                with open(path, "r+b") as file:
                    file.write(short * 20_000)
            return read_into(self, out, start)

        for when in (2, 9, 12, 20, 30):
            path.write_bytes(rows * 20_000)
            calls.clear()
            TextFile.read_into = rewrite_once
            try:
                read_letor(path, cache=False)
            except ValueError as error:
                assert "changed while it was read" in str(error), error
                print("refused")
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["refused"] * 5
