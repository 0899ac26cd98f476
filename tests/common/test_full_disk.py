"""On a full disk, caches and other optional files are done without; what was asked for is an error.

A limit of zero on the size of files stands for the disk: the system itself refuses every write. The
cache of kernels has tests of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the limit is POSIX's")
SCRIPT = """
import resource, sys, tempfile, warnings
from pathlib import Path
tempfile.gettempdir()  # which dill looks for when torch imports it
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

import numpy as np
import rankwise as rw
from rankwise.cli._console import Progress
from rankwise.datasets import read_letor
from rankwise.datasets.readers.textfiles import text_sha256

folder = Path(sys.argv[1])
source, model = folder / "rows.txt", folder / "model.rw"
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    data = read_letor(source, cache=True)
print("reader", data.n_samples, *{"could not be cached" in str(item.message) for item in found})
print("checksum", len(text_sha256(source)))
with Progress("Fitting"):
    ranker = rw.RidgeRanker().fit(data.X, data.y, qid=data.qid)
print("fit", len(ranker.predict(data.X)))
board = rw.compare({"a": "ridge", "b": "linear_regression"}, data, n_jobs=2)
print("compare", *{cell.status for cell in board.cells})
for what, write in {
    "save": lambda: rw.save(ranker, model),
    "store": lambda: rw.compare({"a": "ridge"}, data, store=folder / "store"),
}.items():
    try:
        write()
    except OSError as error:
        print(what, Path(error.filename).suffix)
print("old", model.read_bytes().decode(), [path.name for path in folder.glob("*.part")])
"""


def test_optional_files_are_done_without_and_others_are_errors(tmp_path):
    lines = [f"{k % 3} qid:{k // 10} 1:{k % 7} 2:{k % 5}\n" for k in range(60)]
    (tmp_path / "rows.txt").write_text("".join(lines))
    (tmp_path / "model.rw").write_text("old")
    environment = {
        **os.environ,
        "RANKWISE_CACHE": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path)], env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "reader 60 True",
        "checksum 64",
        "fit 60",
        "compare done",
        "save .rw",
        "store .npz",
        "old old []",
    ]
    assert not list(tmp_path.glob("rankwise-*"))
