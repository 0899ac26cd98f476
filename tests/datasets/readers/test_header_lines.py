"""Names of columns with line ends within quotation marks, as spreadsheets write them."""

from __future__ import annotations

import pytest

from rankwise.datasets import read_qrels, read_run, read_table
from rankwise.datasets.judged_source import load_source
from rankwise.datasets.readers.file_formats import file_format
from rankwise.selection.score_table import read_file_cells
from rankwise.text.documents import convert_to_queries, iterate_documents

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
        ("\t", "\r\n", "\r", "{1}.5"),
        (",", "\n", "\r", '"a{0}b"'),
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


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("inner", ["\n\n", " x, y\r\n", "\n; z |", "\tt\n", '""\n""'])
def test_names_of_odd_lines(tmp_path, separator, inner):
    # Rows may be longer than a block of the parser.
    n_bytes = 1 << 20 if (separator, inner) == (",", "\n\n") else 1
    path = tmp_path / ("table.tsv" if separator == "\t" else "table.csv")
    cell = f'"a{{0}}{separator}{"b" * n_bytes}"'
    write(path, 1, separator, "\r\n", inner, cell)
    path.write_bytes(b"\xef\xbb\xbf\r\n" + path.read_bytes())  # a mark, and a blank line
    name = f"net{inner.replace(chr(34) * 2, chr(34))}(EUR)"
    assert file_format(path).columns == ("qid", name, "label", "price", "stars")
    assert [*read_file_cells(path, None).columns] == ["qid", name, "label", "price", "stars"]
    words = {"sep": separator} if separator == ";" else {}
    assert read_table(path, features=["stars"], **words).X[:, 0].tolist() == [0, 1, 2] * 4


@pytest.mark.parametrize("inner", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize(
    ("read", "rows", "wanted"),
    [
        (read_qrels, ["query_id doc_id relevance", "1 a 1", "1 b 0"], "ab"),
        (read_run, ["query_id doc_id score", "1 a 1.5", "1 b 0"], "ab"),
        (convert_to_queries, ["qid query", "1 a", "2 b"], {"1": "a", "2": "b"}),
        (
            lambda path: [*iterate_documents(path, ("title", "text"))],
            ["doc_id title text", "1 a b", "2 c d"],
            [("1", ["a", "b"]), ("2", ["c", "d"])],
        ),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_other_readers(tmp_path, inner, suffix, read, rows, wanted, place):
    separator, lines = "," if suffix == ".csv" else "\t", []
    for number, row in enumerate(rows):
        cells = row.split()
        cells.insert(place, f'"note{inner}(EUR)"' if number == 0 else f'"x{inner}y"')
        lines.append(separator.join(cells))
    path = tmp_path / f"table{suffix}"
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode())
    found = read(path)
    assert (found if isinstance(found, list | dict) else "".join(found.doc_ids)) == wanted


@pytest.mark.parametrize("place", [0, 2])
def test_another_separator_is_named(tmp_path, place):
    path = write(tmp_path / "table.csv", place, ";", "\r\n", "\n", "{1}")
    with pytest.raises(ValueError, match=r"the first line is one column.*sep=';'"):
        read_table(path)


def test_a_lone_mark_in_a_name_of_a_tsv_is_text(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text('qid\tlabel\t"inch\n1\t0\t5\n1\t1\t4\n')
    assert read_table(path).feature_names == ['"inch']
