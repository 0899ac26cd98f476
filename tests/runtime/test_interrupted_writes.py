"""Writes that fail or are killed leave the old file, or none, never a part of the new one."""

from __future__ import annotations

import errno
import io
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rankwise import LinearRegressionRanker, RankBoost, save
from rankwise.cli.main import app
from rankwise.cli.predict import predict as predict_command
from rankwise.datasets import (
    Qrels,
    RankingData,
    Run,
    read_grouped,
    read_letor,
    write_grouped,
    write_letor,
    write_qrels,
    write_run,
)
from rankwise.experiments import Reproduction, ResultTable, Value
from rankwise.export import to_elasticsearch, to_onnx, to_ranklib, to_solr
from rankwise.report import write_report
from rankwise.runtime import files as _output
from rankwise.runtime.array_folder import HEADER
from rankwise_papers.framework.reproduction_page import write_csv, write_page
from tests.report.conftest import make_board

N = 1500
DATA = RankingData(
    np.random.default_rng(0).random((N, 5)).astype(np.float32),
    np.arange(N) % 3,
    qid=np.arange(N) // 10,
    sample_weight=np.ones(N),
)
TABLE = ResultTable(
    "numbers",
    "Numbers",
    [
        Value(f"row {i}", "mean", ours=0.5, paper=0.5, source="Table 1", tolerance=0.1)
        for i in range(100)
    ],
)


REPRODUCTION = Reproduction("toy", "Toy", "Nobody (2000)", True, "Protocol.", (), (TABLE,))
# What is drawn costs time; the pages are longer than 1500 bytes without it.
SHORT = replace(REPRODUCTION, tables=(replace(TABLE, values=TABLE.values[:2]),))
SMALL_BOARD = make_board(("AP",), {"ridge": 0.0, "rank_svm": 0.05}, folds=("fold1",))


@cache
def boosted():
    """Trees of more than 1500 bytes in every format."""
    return RankBoost(n_estimators=60).fit(DATA.X[:300], DATA.y[:300], qid=DATA.qid[:300])


def export_onnx(path):
    pytest.importorskip("skl2onnx")
    to_onnx(boosted(), path)


@pytest.fixture(scope="module", autouse=True)
def inputs(tmp_path_factory):
    """A model and rows for the command line, made and cached before any disk is full."""
    folder = tmp_path_factory.mktemp("inputs")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RANKWISE_CACHE", str(folder / "cache"))
        INPUTS["model"] = save(LinearRegressionRanker().fit(DATA.X, DATA.y), folder / "model.skops")
        write_letor(DATA, folder / "rows.txt")
        INPUTS["data"] = folder / "rows.txt"
        predict(folder / "predicted.txt")
        yield


INPUTS: dict[str, Path] = {}


def predict(path):
    predict_command(model=INPUTS["model"], data=[str(INPUTS["data"])], out=path)


WRITERS = {
    "rows.txt": lambda path: write_letor(DATA, path),
    "rows.txt.gz": lambda path: write_letor(DATA, path),
    "rows.txt.bz2": lambda path: write_letor(DATA, path),
    "rows.txt.xz": lambda path: write_letor(DATA, path),
    "rows.txt.zst": lambda path: write_letor(DATA, path),
    "rows.qrels": lambda path: write_qrels(Qrels.from_data(DATA), path),
    "rows.run": lambda path: write_run(Run.from_data(DATA, DATA.y), path),
    "grouped.txt": lambda path: write_grouped(DATA, path),
    "board.json": lambda path: make_board().to_json(path),
    "report.html": lambda path: write_report(SMALL_BOARD, path),
    "page.html": lambda path: write_page(SHORT, path),
    "page.csv": lambda path: write_csv(REPRODUCTION, path),
    "solr.json": lambda path: to_solr(boosted(), path),
    "elasticsearch.json": lambda path: to_elasticsearch(boosted(), path),
    "ranklib.txt": lambda path: to_ranklib(boosted(), path),
    "model.onnx": lambda path: export_onnx(path),
    "predicted.txt": lambda path: predict(path),
}


class Failing(io.FileIO):
    """Writes at most a few bytes at a time and fails after some of them."""

    most, code, written = 10**9, errno.ENOSPC, 0

    def write(self, data):
        part = bytes(data[:1000])
        if self.written + len(part) > self.most:
            raise OSError(self.code, os.strerror(self.code))
        self.written += len(part)
        return super().write(part)


@pytest.fixture
def fail_after(monkeypatch):
    """Let every new file take a number of bytes."""

    def install(most, code=errno.ENOSPC):
        def open_failing(self, mode):
            assert mode == "xb"
            file = Failing(self, mode)
            file.most, file.code = most, code
            return io.BufferedWriter(file, 4096)

        def opened(self, mode="r", *args, **kwargs):
            if mode == "xb":
                return open_failing(self, mode)
            return plain(self, mode, *args, **kwargs)

        plain = Path.open
        monkeypatch.setattr(Path, "open", opened)

    return install


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("old", [None, b"1 qid:1 1:1\n"])
def test_a_full_disk_leaves_the_old_file(tmp_path, fail_after, name, old):
    path = tmp_path / name
    if old is not None:
        path.write_bytes(old)
    for most, code in ((0, errno.ENOSPC), (1500, errno.ENOSPC), (1500, errno.EIO)):
        fail_after(most, code)
        with pytest.raises(OSError, match=name) as raised:
            WRITERS[name](path)
        assert raised.value.errno == code
        assert [file.name for file in tmp_path.iterdir()] == ([] if old is None else [name])
        assert old is None or path.read_bytes() == old


# The names of ONNX nodes differ from one conversion to the next.
@pytest.mark.parametrize("name", [name for name in WRITERS if name != "model.onnx"])
def test_short_writes_are_continued(tmp_path, fail_after, name):
    WRITERS[name](tmp_path / name)
    expected = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for file in tmp_path.iterdir():
        file.unlink()
    fail_after(10**9)
    WRITERS[name](tmp_path / name)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == expected


KILLED = """
import io, os, signal
from pathlib import Path
{imports}

def end(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class Ending(io.FileIO):
    def write(self, data):
        super().write(bytes(data[: len(data) // 2]))
        end()

plain = Path.open

def opened(self, mode="r", *args, **kwargs):
    return io.BufferedWriter(Ending(self, mode)) if mode == "xb" else plain(
        self, mode, *args, **kwargs)

if {step!r} == "write":
    Path.open = opened
else:
    setattr(os, {step!r}, end)
{statement}
"""


def run_until_killed(step, *lines, **environment):
    """Run imports and a statement in a process that ends itself at a step of the first write."""
    if os.name != "posix":
        pytest.skip("SIGKILL is POSIX's")
    *imports, statement = lines
    script = KILLED.format(imports="\n".join(imports), step=step, statement=statement)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], env={**os.environ, **environment},
        check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    "step, name",
    [("write", "rows.txt.gz"), ("fsync", "rows.txt"), ("replace", "x.parquet"), ("write", "x.csv")],
)
def test_a_killed_conversion_leaves_the_old_file(tmp_path, step, name):
    """The process ends itself in the middle of a write, before the flush, before the rename."""
    source, out = tmp_path / "source.txt", tmp_path / name
    write_letor(DATA, source)
    out.write_bytes(b"old")
    run_until_killed(
        step,
        "from typer.testing import CliRunner",
        "from rankwise.cli.main import app",
        f"CliRunner().invoke(app, ['convert', {str(source)!r}, '-o', {str(out)!r}])",
        RANKWISE_CACHE=os.devnull,  # the only file that is written is OUT
    )
    assert out.read_bytes() == b"old"


def test_the_folder_is_flushed_after_the_renames(tmp_path, monkeypatch):
    """Else a power failure may undo a rename that the caller has seen."""
    steps, replace, fsync = [], os.replace, os.fsync

    def seen_replace(source, target):
        steps.append(f"rename {Path(target).name}")
        replace(source, target)

    def seen_fsync(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("flush folder" if is_folder else "flush file")
        fsync(descriptor)

    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "b").symlink_to(real / "b")
    monkeypatch.setattr(os, "replace", seen_replace)
    monkeypatch.setattr(os, "fsync", seen_fsync)
    with _output.replace_files([tmp_path / "a", tmp_path / "b", tmp_path / "c"]) as files:
        for file in files:
            file.write(b"new")
    assert steps == ["flush file"] * 3 + ["rename a", "rename b", "rename c"] + ["flush folder"] * 2
    assert (real / "b").read_bytes() == b"new"


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_folders_that_cannot_be_flushed_are_no_error(tmp_path, monkeypatch, code):
    fsync = os.fsync

    def refused(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refused)
    _output.write_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_the_cli_converts_and_keeps_links_and_modes(tmp_path):
    source, real, link = tmp_path / "source.txt", tmp_path / "real.txt", tmp_path / "link.txt"
    write_letor(DATA, source)
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    done = CliRunner().invoke(app, ["convert", str(source), "-o", str(link)])
    assert done.exit_code == 0, done.output
    assert link.is_symlink()
    assert real.read_bytes() == source.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert not list(tmp_path.glob("*.part"))


def test_a_pipe_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    write_qrels(Qrels.from_data(DATA), pipe)
    out, _ = reader.communicate()
    assert len(out.splitlines()) == N
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_that_is_a_pipe_is_written_directly():
    code = "from rankwise.runtime.files import write_file\nwrite_file('/dev/stdout', b'content')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "content"


@pytest.mark.parametrize("name", ["n" * 250, "漢" * 80, "file.txt"])
def test_every_name_that_the_system_takes_is_written(tmp_path, name):
    _output.write_file(tmp_path / name, b"content")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_errors_name_the_file_that_was_asked_for(tmp_path, monkeypatch):
    path = tmp_path / "missing" / "file.txt"
    with pytest.raises(FileNotFoundError) as raised:
        _output.write_file(path, b"")
    assert raised.value.filename == str(path)
    path = tmp_path / "file.txt"

    def fail(source, target):
        raise PermissionError(errno.EACCES, "in use", str(source), None, str(target))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PermissionError) as raised:
        _output.write_file(path, b"")
    assert (raised.value.filename, raised.value.filename2) == (str(path), None)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")
    path.chmod(0o444)

    def refuse(name, *_):  # as for all users but root
        raise PermissionError(errno.EACCES, "Permission denied", str(name))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError) as raised:
        _output.write_file(path, b"new")
    assert raised.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_the_owner_of_a_replaced_file_stays(tmp_path):
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")
    os.chown(path, 1234, 1235)
    path.chmod(0o4750)
    _output.write_file(path, b"new")
    now = path.stat()
    assert (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode)) == (1234, 1235, 0o4750)


def test_an_error_of_the_caller_leaves_the_old_file(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), _output.open_to_write(path) as stream:
            stream.write(b"new")
            raise error
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("n_done", range(5))
def test_interrupted_group_files_are_never_those_of_other_rows(tmp_path, monkeypatch, n_done):
    """Old rows, sizes and weights; new rows of the same number in other groups."""
    path = tmp_path / "train.txt"
    write_grouped(DATA, path)
    (tmp_path / "train.txt.group").write_text(f"{N}\n")
    y = (DATA.y + 1) % 3
    other = RankingData(DATA.X, y, qid=np.arange(N) // 20, sample_weight=np.full(N, 2.0))
    calls = []

    def count(function):
        def counted(*args, **kwargs):
            if len(calls) == n_done:
                raise OSError(errno.EIO, "Input/output error", "disk")
            calls.append(args)
            return function(*args, **kwargs)

        return counted

    monkeypatch.setattr(os, "replace", count(os.replace))
    if n_done < 3:
        with pytest.raises(OSError, match="Input/output error"):
            write_grouped(other, path)
    else:
        write_grouped(other, path)
    monkeypatch.undo()
    try:
        data = read_grouped(path, cache=False)
    except FileNotFoundError as error:
        assert "no file of group sizes" in str(error)
        assert n_done < 3
    else:
        assert n_done >= 3
        assert data.n_queries == N // 20
        assert data.sample_weight.tolist() == [2.0] * N
        assert data.y.tolist() == y.tolist()


def test_side_files_of_older_rows_are_deleted(tmp_path):
    path = tmp_path / "train.txt"
    write_grouped(DATA, path, "xgboost")
    bare = RankingData(DATA.X, DATA.y, qid=DATA.qid)
    write_grouped(bare, path, "lightgbm")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["train.txt", "train.txt.query"]
    assert read_grouped(path, cache=False).sample_weight is None


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_killed_cache_is_built_again(tmp_path, step):
    source = tmp_path / "source.txt"
    write_letor(DATA, source)
    run_until_killed(
        step,
        "from rankwise.datasets import read_letor",
        f"read_letor({str(source)!r}, cache='beside')",
    )
    assert not list(tmp_path.glob(f"*.rankwise-cache/{HEADER}"))
    expected = read_letor(source, cache=False)
    for _ in range(2):
        np.testing.assert_array_equal(read_letor(source, cache="beside").X, expected.X)
    assert len(list(tmp_path.glob(f"*.rankwise-cache/{HEADER}"))) == 1


def test_a_file_that_another_process_removes_is_written_anew(tmp_path, monkeypatch):
    path, open_file = tmp_path / "out", os.open

    def removed_before(name, *arguments):
        if Path(name) == path:
            path.unlink()
        return open_file(name, *arguments)

    path.write_bytes(b"old")
    monkeypatch.setattr(os, "open", removed_before)
    _output.write_file(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"new"
