"""Tiny judged files, and a runner of the command line inside this process."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from rankwise.cli.main import app
from rankwise.datasets import RankingData, write_letor

# CliRunner.invoke builds all commands for every call, which takes 35 ms.
COMMAND = get_command(app)


@dataclass
class Outcome:
    """Exit code and what was printed."""

    code: int
    out: str
    err: str
    exception: BaseException | None

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def rankwise(tmp_path, monkeypatch):
    """Calls the command line; its cache is this test's own."""
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("rankwise.cli._console.QUIET_SECONDS", 3600.0)  # lines of a busy machine

    def call(*arguments):
        code, exception = 0, None
        with CliRunner().isolation() as (out, err, *_):
            try:
                COMMAND.main([str(a) for a in arguments], prog_name="rankwise")
            except SystemExit as end:
                code, exception = end.code or 0, end if end.code else None
            except Exception as error:
                code, exception = 1, error
            sys.stdout.flush()
            sys.stderr.flush()
            written = [stream.getvalue().decode().replace("\r\n", "\n") for stream in (out, err)]
        return Outcome(code, *written, exception)

    return call


def judged_data(seed, n_queries=12, first_query=1, docs=8, n_features=4):
    """Queries whose labels follow the first feature and some noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_queries * docs, n_features)).astype(np.float32)
    y = np.clip(np.rint(3 * X[:, 0] + rng.normal(0, 0.4, len(X)) - 0.5), 0, 2)
    qid = np.repeat(np.arange(first_query, first_query + n_queries), docs)
    names = np.array([f"D{i}" for i in range(len(X))])
    return RankingData(X, y, qid=qid, doc_ids=names)


@pytest.fixture
def letor_file(tmp_path) -> Path:
    """Twelve queries of eight documents."""
    path = tmp_path / "judged.txt"
    write_letor(judged_data(0), path)
    return path


@pytest.fixture
def part_files(tmp_path) -> list[Path]:
    """Four files of disjoint queries."""
    paths = []
    for i in range(4):
        paths.append(tmp_path / f"S{i + 1}.txt")
        write_letor(judged_data(i, n_queries=5, first_query=1 + 100 * i), paths[-1])
    return paths
