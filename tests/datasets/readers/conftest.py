"""A reader of texts that are written to a file."""

from __future__ import annotations

import pytest

from rankwise.datasets import read_letor


@pytest.fixture
def read(tmp_path):
    """Write the bytes to a file and read it, without a cache."""

    def write_and_read(text: bytes | str, name: str = "rows.txt", **options):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_letor(path, cache=False, **options)

    return write_and_read
