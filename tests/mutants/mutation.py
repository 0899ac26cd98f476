"""A fault that tests must notice."""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A fault to put into a file below ``src/rankwise``."""

    path: str
    before: str
    after: str
    tests: str  # below tests/, separated by blanks
