"""The command line inside this process."""

from __future__ import annotations

import shlex
from typing import Any

from typer.testing import CliRunner

from rankwise.cli.main import app


def call(line: str) -> Any:
    """Outcome of a command as a page spells it, ``rankwise …``."""
    words = shlex.split(line)
    assert words[0] == "rankwise"
    return CliRunner().invoke(app, words[1:], prog_name="rankwise")
