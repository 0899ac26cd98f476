"""A reader of texts that are written to a file, and a file whose parsed rows are cached."""

from __future__ import annotations

import pytest

from rankwise.datasets import read_letor
from rankwise.datasets.readers import letor as reader_module
from tests.datasets.readers.cached_files import TEXT


@pytest.fixture
def read(tmp_path):
    """Write the bytes to a file and read it, without a cache."""

    def write_and_read(text: bytes | str, name: str = "rows.txt", **options):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_letor(path, cache=False, **options)

    return write_and_read


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder of its own for every test."""
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "parsed"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "rows.txt"
    path.parent.mkdir()
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def parses(monkeypatch):
    """Counts how often files were parsed."""
    counted = []
    parse_files = reader_module.parse_files

    def count(files, options):
        counted.append(files)
        return parse_files(files, options)

    monkeypatch.setattr(reader_module, "parse_files", count)
    return counted
