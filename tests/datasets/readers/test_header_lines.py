"""Names of columns with line ends within quotation marks, as spreadsheets write them."""

from __future__ import annotations

import pytest

from rankwise.datasets import read_table
from rankwise.datasets.judged_source import load_source
from rankwise.selection.score_table import read_file_cells

NAMES = ["qid", "label", "price", "stars"]


def write(path, place, separator, end, inner, cell):
    """A table with a name of two lines at a place; a cell of that column may have two, too."""
    lines = []
    for row, values in enumerate(
        [NAMES, *([q, i % 2, i / 2, i] for q in range(4) for i in range(3))]
    ):
        cells = list(map(str, values))
        cells.insert(place, f'"net{inner}(EUR)"' if row == 0 else cell.format(inner, row))
        lines.append(separator.join(cells))
    path.write_bytes((end.join(lines) + end).encode())
    return path


@pytest.mark.parametrize("place", [0, 1, 2, 4])
@pytest.mark.parametrize(
    ("separator", "end", "inner", "cell"),
    [
        (",", "\n", "\n", "{1}.5"),
        (",", "\r\n", "\n", "{1}.5"),
        (",", "\r\n", "\r\n", '"a{0}b"'),
        (";", "\r\n", "\n", "{1}.5"),
        ("\t", "\n", "\n", "{1}.5"),
        ("\t", "\r\n", "\n", "{1}.5"),
        ("\t", "\r\n", "\r\n", '"a{0}b"'),
    ],
)
def test_a_name_of_two_lines(tmp_path, place, separator, end, inner, cell):
    suffix = ".tsv" if separator == "\t" else ".csv"
    path = write(tmp_path / f"table{suffix}", place, separator, end, inner, cell)
    words = {"sep": separator} if separator == ";" else {}
    names = ["price", "stars"]
    if "a" not in cell:
        names.insert(max(0, place - 2), f"net{inner}(EUR)")
        assert load_source([str(path)], words).feature_names == names
    table = read_table(path, features=["price", "stars"], **words)
    assert table.y.tolist() == [0, 1, 0] * 4 and table.X[:, 1].tolist() == [0, 1, 2] * 4
    cells = read_file_cells(path, None).columns
    assert [*cells][place] == f"net{inner}(EUR)" and cells["label"] == ["0", "1", "0"] * 4


@pytest.mark.parametrize("place", [0, 2])
def test_another_separator_is_named(tmp_path, place):
    path = write(tmp_path / "table.csv", place, ";", "\r\n", "\n", "{1}")
    with pytest.raises(ValueError, match=r"the first line is one column.*sep=';'"):
        read_table(path)


def test_a_lone_mark_in_a_name_of_a_tsv_is_text(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text('qid\tlabel\t"inch\n1\t0\t5\n1\t1\t4\n')
    assert read_table(path).feature_names == ['"inch']
