"""Only line feeds, with or without carriage returns, end lines of the catalog's files."""

import pytest

from rankwise.datasets import rating_task as task
from rankwise.datasets.catalog import loaders as qsar
from rankwise.datasets.catalog import ordinal


def test_of_ordinal_tables(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('name,x\r\na\u2028b,1\r\n"c\nd\u0085",2\n'.encode())
    table = ordinal._read(path)
    assert {name: cells.tolist() for name, cells in table.items()} == {
        "name": ["a\u2028b", "c\nd\u0085"], "x": ["1", "2"],
    }  # fmt: skip


def test_of_films(tmp_path):
    path = tmp_path / "a.dat"
    path.write_bytes(b"1::A \x85 film::x\r\n2::B\x0c::y\r\n")
    assert task._lines(path) == ["1::A \x85 film::x", "2::B\x0c::y"]


def test_of_compounds(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"name\tset\tactivity\tD\r\na\x85b\t1\t5.5\t1\r\nc\t2\t6\t2\r\n")
    with pytest.raises(ValueError, match="got 1, 1 and 1"):
        qsar.read_qsar(path, "dhfr")
