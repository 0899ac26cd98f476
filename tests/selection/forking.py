"""Processes to kill, forked from one interpreter that has imported everything already."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest

ROOT = Path(__file__).parents[2]
LOOP = """
import os, sys
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        main(*line.split("\\t")[:-1])
        os._exit(0)
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("gone", flush=True)
"""


class Killable:
    """Runs ``main`` of a piece of code in processes that can be killed.

    ``start`` forks a process, which leads a session of its own; ``kill`` sends SIGKILL to it and
    to all its children, and waits until it is gone.
    """

    def __init__(self, code: str) -> None:
        if not hasattr(os, "fork"):
            pytest.skip("needs fork")
        self._parent = subprocess.Popen(
            [sys.executable, "-c", code + LOOP], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def start(self, *arguments: object) -> None:
        """Run ``main`` with text arguments in a new process."""
        print(*arguments, "", sep="\t", file=self._parent.stdin, flush=True)
        self._pid = int(self._parent.stdout.readline())

    def kill(self) -> None:
        """End the process, and what it started, at once."""
        os.killpg(self._pid, signal.SIGKILL)
        assert self._parent.stdout.readline() == "gone\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate()
