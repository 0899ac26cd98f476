"""Sphinx roles that take figures and counts from the stored output of the experiments.

``docs/reproduce/KEY.txt`` holds what ``rankwise reproduce KEY`` printed. A page names the file that
it speaks of (one beside that folder as ``../NAME``), and each figure names its cell::

   .. figures-of:: rankelm-ohsumed

   The mean is :figure:`0.4486 <Table 1 | mean | RankSVM>`; of all cells :verdicts:`all`.

Tables, rows and columns are named in full or by a beginning that only one of them has; ``| paper``
at the end takes the published value. The number in the text and its ± are compared with the cell,
rounded to the digits of the text and without their signs; a percentage is compared with 100 times
the cell. ``:verdicts:`` prints the counts below a table, or below all tables for ``all``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

FOLDER = Path(__file__).parent / "reproduce"
VERDICTS = ("met", "better", "missed", "not evidence", "no published value", "not run")
COUNTS = re.compile(rf"(\d+) ({'|'.join(VERDICTS)})\b")
VALUE = re.compile(r"(?<!\S)(-?[\d,]*\.?\d+|–)(?:±([\d,]*\.?\d+))?(?: *([=+~-])(?=[\s\[]|$))?")
FIGURE = re.compile(r":figure:`([^<`]+?)\s+<([^`]+)>`")
COUNTS_OF = re.compile(r":verdicts:`([^`]+)`")
CURRENT = re.compile(r"^\.\. figures-of:: (\S+)$", re.M)


@dataclass(frozen=True)
class Cell:
    """A printed number, its spread (None where none is printed) and the mark of its verdict."""

    value: float
    error: float | None
    mark: str


@dataclass
class StoredTable:
    """Cells by row, column and kind ("ours" or "paper"), and the line of counts below them."""

    title: str
    cells: dict[tuple[str, str, str], Cell] = field(default_factory=dict)
    counts: str = ""

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(row for row, _, _ in self.cells))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for _, column, _ in self.cells))


@dataclass
class StoredOutput:
    """The tables of an experiment, and the counts of all of them."""

    key: str
    tables: dict[str, StoredTable]
    counts: str

    def cell(self, address: str) -> Cell:
        """The cell at ``table | row | column``, with ``| paper`` at the end the published one.

        Raises
        ------
        ValueError
            If a part names nothing, or several things.
        """
        parts = [part.strip() for part in " ".join(address.split()).split(" | ")]
        kind = parts.pop() if parts[-1] == "paper" else "ours"
        if len(parts) != 3:
            raise ValueError(f"{self.key}: {address!r} is not 'table | row | column'.")
        table = self.table(parts[0])
        row = _named(self.key, "row", parts[1], table.rows)
        column = self.column(table, parts[2])
        if (row, column, kind) not in table.cells:
            raise ValueError(f"{self.key}: {address!r} is empty in the table.")
        return table.cells[row, column, kind]

    def verdicts(self, table: str) -> str:
        """Counts below the table, below all tables for "all"."""
        name = " ".join(table.split())
        if name == "all":
            return self.counts
        return self.table(name).counts

    def by_verdict(self) -> dict[str, str]:
        """The counts of all tables."""
        return counted(self.counts)

    def table(self, name: str) -> StoredTable:
        """The table of that name, or of that beginning."""
        return self.tables[_named(self.key, "table", name, list(self.tables))]

    def column(self, table: StoredTable, name: str) -> str:
        """The column of that name, or of that beginning."""
        return _named(self.key, "column", name, table.columns)


def counted(counts: str) -> dict[str, str]:
    """Numbers by verdict."""
    return {verdict: number for number, verdict in COUNTS.findall(counts)}


@cache
def read(key: str, folder: Path = FOLDER) -> StoredOutput:
    """The stored output of an experiment."""
    text = (folder / f"{key}.txt").read_text("utf-8")
    tables: dict[str, StoredTable] = {}
    counts = ""
    open_table = StoredTable("")
    for block in text.split("\n\n")[1:]:
        lines = [line for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        if lines[0].startswith(" ") and open_table.title:
            _read_grid(open_table, lines)
        elif COUNTS.match(lines[0]) and len(lines) == 1:
            open_table.counts = lines[0]
        elif lines[0].startswith("= met"):
            counts = lines[1]
            break
        else:
            open_table = StoredTable(lines[0])
            tables[lines[0]] = open_table
            if len(lines) > 1 and COUNTS.match(lines[1]):
                open_table.counts = lines[1]
    return StoredOutput(key, tables, counts)


def problems(text: str, folder: Path = FOLDER) -> Iterator[str]:
    """What is wrong with the figures of a page: unknown cells, and numbers that drifted."""
    places = [(match.start(), match[1]) for match in CURRENT.finditer(text)]
    for match in [*FIGURE.finditer(text), *COUNTS_OF.finditer(text)]:
        before = [key for start, key in places if start < match.start()]
        if not before:
            yield f"{match[0]}: no figures-of directive stands above it."
            continue
        try:
            output = read(before[-1], folder)
            if match.re is COUNTS_OF:
                output.verdicts(match[1])
            else:
                checked_text(match[1], output.cell(match[2]))
        except (OSError, ValueError) as error:
            yield f"{match[0]}: {error}"


def checked_text(text: str, cell: Cell) -> str:
    """The text of a figure.

    Raises
    ------
    ValueError
        If the text is not the cell's number, or not its spread, in as many digits.
    """
    text = " ".join(text.split())
    number, _, rest = text.partition("±")
    scale = 100 if text.endswith("%") else 1
    for said, stored in [(number, cell.value), (rest, cell.error)]:
        digits = said.strip(" %").lstrip("+-−").replace(",", "")
        if not digits:
            continue
        if stored is None:
            raise ValueError(f"the cell has no ±, the text has {text!r}.")
        decimals = len(digits.partition(".")[2])
        # Half a unit of the last digit, and what the printed number itself was rounded by.
        if abs(float(digits) - abs(stored) * scale) > 0.5 * 10**-decimals * (1 + 1e-9):
            raise ValueError(
                f"the text has {text!r}, the stored output {cell.value} ± {cell.error}."
            )
    return text


def _named(key: str, what: str, name: str, names: list[str]) -> str:
    found = [one for one in names if one == name] or [one for one in names if one.startswith(name)]
    if len(found) != 1:
        said = "no" if not found else "more than one"
        raise ValueError(f"{key} has {said} {what} {name!r}. It has: {'; '.join(names)}.")
    return found[0]


def _read_grid(table: StoredTable, lines: list[str]) -> None:
    """Cells of a block of columns: each number belongs to the head nearest to it."""
    heads = [(m[0], m.start(), m.end()) for m in re.finditer(r"\S+(?: \S+)*", lines[0])]
    has_kind = any(re.search(r"  ours   ", line) for line in lines[1:])
    label = ""
    for line in lines[1:]:
        kind = "ours"
        start = 0
        if has_kind:
            found = re.search(r"(?:^|  )(ours |paper)(?=  |$)", line)
            if found is None:
                continue
            kind = found[1].strip()
            if kind == "ours":
                label = line[: found.start()].strip()
            start = found.end()
        else:
            label = re.split(r"  +", line.strip())[0]
            start = line.index(label) + len(label)
        for match in VALUE.finditer(line, start):
            if match[1] == "–":
                continue
            head = min(heads, key=lambda one: max(one[1] - match.end(), match.start() - one[2]))
            error = None if match[2] is None else float(match[2].replace(",", ""))
            place = (label, head[0], kind)
            if place in table.cells:
                raise ValueError(f"{table.title}: two numbers for {place}.")
            table.cells[place] = Cell(float(match[1].replace(",", "")), error, match[3] or "")


class FiguresOf(Directive):
    """``.. figures-of:: KEY`` names the stored output of the figures that follow."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.state.document.settings.env.temp_data["figures_of"] = self.arguments[0]
        return []


def table_node(rows: list[list[str]]) -> nodes.table:
    """A table whose first row is its head, and whose first column is wide."""
    group = nodes.tgroup(cols=len(rows[0]))
    group += [nodes.colspec(colwidth=4 if column == 0 else 1) for column in range(len(rows[0]))]
    made = [
        nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in row))
        for row in rows
    ]
    group += [nodes.thead("", made[0]), nodes.tbody("", *made[1:])]
    return nodes.table("", group)


def figure(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Role of a figure: the text, once it is the stored number."""
    said, _, address = text.partition("<")
    return _answer(
        inliner,
        rawtext,
        lineno,
        lambda stored: checked_text(said, stored.cell(address.rstrip("> "))),
    )


def verdicts(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Role of the counts of verdicts."""
    return _answer(inliner, rawtext, lineno, lambda stored: stored.verdicts(text))


def _answer(inliner, rawtext, lineno, text_of):
    key = inliner.document.settings.env.temp_data.get("figures_of")
    try:
        if key is None:
            raise ValueError("no figures-of directive stands above it.")
        return [nodes.Text(text_of(read(key)))], []
    except (OSError, ValueError) as error:
        message = inliner.reporter.error(f"{rawtext}: {error}", line=lineno)
        return [inliner.problematic(rawtext, rawtext, message)], [message]


def setup(app):
    """Register the roles and the directive."""
    app.add_role("figure", figure)
    app.add_role("verdicts", verdicts)
    app.add_directive("figures-of", FiguresOf)
    return {"parallel_read_safe": True}
