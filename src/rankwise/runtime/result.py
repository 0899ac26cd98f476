"""Base of the results that functions return: as a frame, plain Python, JSON, text and HTML.

A result is a dataclass, or a NamedTuple, that also derives from :class:`Result`. Its fields are its
``to_dict``; its table, from which frame, text and HTML are made, is what ``_columns`` gives. Data
that people pass on derive from :class:`NotebookTable`, which only shows them in notebooks.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, overload

import numpy as np

from rankwise._packages import missing_package
from rankwise.runtime.files import write_file, writing
from rankwise.runtime.messages import check_choice, convert_to_json, escape_hidden, join_lines
from rankwise.runtime.renames import NamesOldAttributes

BACKENDS = ("pandas", "polars", "pyarrow")
# Columns of a table for people, and characters of a repr.
_MOST_COLUMNS, _MOST_CHARACTERS = 20, 400
# Lines take the colour of the text, and nothing has a background, so that the table suits light and
# dark pages alike. "!important" where notebooks and themes of documentation set cells themselves.
_STYLE = """
.rankwise { overflow-x: auto; color: inherit; }
.rankwise table { border-collapse: collapse; margin: 0.3em 0; font-variant-numeric: tabular-nums; }
.rankwise table { width: max-content; max-width: max(100%, 48em); }
.rankwise th, .rankwise td { padding: 0.2em 0.7em; vertical-align: top; }
.rankwise th, .rankwise td { text-align: right !important; background: none !important; }
.rankwise td { white-space: nowrap; }
.rankwise .text { text-align: left !important; white-space: normal; }
.rankwise thead th { border-bottom: 1px solid currentColor; }
.rankwise p { margin: 0.2em 0; max-width: 60em; }
.rankwise svg { vertical-align: middle; max-width: none; stroke: currentColor; fill: currentColor; }
"""
_DRAWN_WIDTH, _DRAWN_MARGIN = 120, 4  # pixels
_NUMBER = re.compile(r"[-+.\de]*|-?inf|nan").fullmatch
_SCALARS = (str, bool, int, float, np.generic, type(None))
R = TypeVar("R")


class NotebookTable:
    """Base of everything that notebooks show as a table."""

    __slots__ = ()
    _most_rows: ClassVar[int] = 30
    _rest: ClassVar[str] = ": see to_frame()"  # where to find what the table leaves out
    _drawn: ClassVar[str] = ""  # column to draw: with columns "low" and "high", an interval

    def _columns(self) -> dict[str, Any]:
        """Columns of the table by name."""
        raise NotImplementedError

    def _verdict(self) -> list[str]:
        """Sentences to read before the table; only notebooks show them."""
        return []

    def _heading(self) -> str:
        """Line above the table for what its columns cannot say; empty if there is nothing."""
        return ""

    def _first_rows(self, n: int) -> tuple[dict[str, Any], int]:
        """First ``n`` rows of the table for people, by column, and the number of all rows."""
        columns = self._columns()
        n_rows = len(next(iter(columns.values()), ()))
        return {name: column[:n] for name, column in columns.items()}, n_rows

    def _cells(self) -> tuple[list[list[str]], list[str]]:
        """Header and first rows of the table as texts, and lines to show below it."""
        columns, n_rows = self._first_rows(self._most_rows)
        names = list(columns)[:_MOST_COLUMNS]
        shown = [_format_column(list(columns[name])) for name in names]
        rest = ((n_rows - self._most_rows, "rows"), (len(columns) - len(names), "columns"))
        left_out = [f"{n} more {what}" for n, what in rest if n > 0]
        below = [f"{' and '.join(left_out)}{self._rest}"] if left_out else []
        return [names, *map(list, zip(*shown, strict=True))], below

    def _layout(self) -> tuple[list[list[str]], list[list[str]], Sequence[int], list[str]]:
        """Header (none above a list), rows, columns to align left, and lines below."""
        (header, *rows), below = self._cells()
        if len(rows) == 1:  # a single row reads better as a list
            return [], [list(pair) for pair in zip(header, rows[0], strict=True)], (0, 1), below
        columns = enumerate(zip(*rows, strict=True))
        left = [j for j, column in columns if not all(map(_NUMBER, column))]
        return [header], rows, left, below

    def _marks(self) -> tuple[str, list[tuple[Any, Any, Any]]]:
        """Column that a drawing follows, and low end, value and high end to draw in each row.

        The ends are None for a bar from 0.
        """
        name = getattr(getattr(self, "_kind", self), "_drawn", "")
        columns = self._first_rows(self._most_rows)[0] if name else {}
        values = list(columns.get(name, ()))
        ends = [None] * len(values)
        low, high = columns.get("low", ends), columns.get("high", ends)
        return name, list(zip(low, values, high, strict=True))

    def _repr_html_(self) -> str:
        """HTML table for notebooks, in the colours of the page around it."""
        header, rows, left, below = self._layout()
        heading = self._heading() or getattr(self, "_kind", type(self)).__name__
        parts = ['<div class="rankwise">', f"<style>{_STYLE}</style>"]
        # No caption: it would be broken at the width of a narrow table.
        parts.append(f"<p><strong>{_escape(heading)}</strong></p>")
        parts += [f"<p>{_escape(text)}</p>" for text in self._verdict()]
        after, marks = self._marks()
        is_drawn, drawings = any(after in line for line in header), _draw_marks(marks)
        parts.append("<table>")
        for tag, cell, lines in (("thead", "th", header), ("tbody", "td", rows)):
            parts.append(f"<{tag}>")
            for number, line in enumerate(lines):
                kinds = (' class="text"' if j in left else "" for j in range(len(line)))
                texts = [
                    f"<{cell}{kind}>{_escape(text)}</{cell}>"
                    for kind, text in zip(kinds, line, strict=True)
                ]
                if is_drawn:
                    drawing = drawings[number] if cell == "td" else ""
                    texts.insert(header[0].index(after) + 1, f"<{cell}>{drawing}</{cell}>")
                parts.append(f"<tr>{''.join(texts)}</tr>")
            parts.append(f"</{tag}>")
        parts.append("</table>")
        below = below if rows else ["No rows.", *below]
        parts += [f"<p>{_escape(text)}</p>" for text in [*below, *getattr(self, "notes", ())]]
        return "\n".join([*parts, "</div>"])


class Result(NotebookTable, NamesOldAttributes):
    """Base class of results.

    ``print`` and notebooks show a table. ``to_frame``, ``to_dict`` and ``to_json`` give it to other
    programs.
    """

    __slots__ = ()
    _derived: ClassVar[tuple[str, ...]] = ()  # properties that are part of to_dict
    _labels: ClassVar[str] = ""  # field with the names of the columns of matrices

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__repr__ = cls.__repr__  # its own, which the decorator of dataclasses keeps

    def _contents(self) -> dict[str, Any]:
        """Values of the fields, by name."""
        return {name: getattr(self, name) for name in _field_names(type(self))}

    def _columns(self) -> dict[str, Any]:
        """Columns of the table by name: fields with a value per item, else the single values."""
        values = self._contents()
        sizes = [len(v) for v in values.values() if isinstance(v, np.ndarray) and v.ndim == 1]
        if not sizes:
            return {name: [value] for name, value in values.items() if isinstance(value, _SCALARS)}
        labels = values.pop(self._labels, ())
        columns: dict[str, Any] = {}
        for name, value in values.items():
            if isinstance(value, np.ndarray) and value.shape == (sizes[0], len(labels)):
                parts = zip(labels, value.T, strict=True)
                columns |= {f"{name}_{label}": column for label, column in parts}
            elif _is_column(name, value, sizes[0]):
                columns[name] = value
        return columns

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] | None = None) -> Any:
        """Table of the result as a frame, with one row per item.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; None: the first of these that is installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table

        Raises
        ------
        ImportError
            If the library is not installed.
        """
        if backend is not None:
            check_choice("backend", backend, BACKENDS)
        wanted = BACKENDS if backend is None else (backend,)
        found: Any = next((name for name in wanted if find_spec(name)), None)
        if found is None:
            raise missing_package("to_frame", wanted[0])
        import narwhals as nw

        columns = {name: _plain_column(column) for name, column in self._columns().items()}
        return nw.from_dict(columns, backend=found).to_native()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and numbers; NaN and infinities are None."""
        derived = {name: getattr(self, name) for name in self._derived}
        return convert_to_json(self._contents() | derived)

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | Path) -> None: ...
    def to_json(self, path: str | Path | None = None) -> str | None:
        """JSON text of :meth:`to_dict`.

        Parameters
        ----------
        path : str or Path, optional
            File to write; None: return the text.

        Raises
        ------
        OSError
            If the file cannot be written; the message names it.
        """
        text = json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)
        if path is None:
            return text
        with writing(Path(path)):
            write_file(path, text.encode())
        return None

    def __str__(self) -> str:
        header, rows, left, below = self._layout()
        table = align_columns([*header, *rows], left)
        notes = [f"note: {note}" for note in getattr(self, "notes", ())]
        return join_lines([*filter(None, [self._heading(), *table, *below]), *notes])

    def __repr__(self) -> str:
        own: Any = self
        hidden = {f.name for f in fields(own) if not f.repr} if is_dataclass(own) else set()
        shown = ((name, value) for name, value in self._contents().items() if name not in hidden)
        text = ", ".join(f"{name}={_summarise(value)}" for name, value in shown)
        if len(text) > _MOST_CHARACTERS:
            text = f"{text[:_MOST_CHARACTERS]}…"
        return f"{type(self).__name__}({escape_hidden(text)})"


class ResultList(list[R], Result, Generic[R]):
    """Results of one kind, or dicts; a list whose table has one row per result."""

    def __init__(self, kind: type[R], results: Iterable[R] = ()) -> None:
        super().__init__(results)
        self._kind = kind

    def __repr__(self) -> str:
        text, name = list.__repr__(self), "rows" if self._kind is dict else self._kind.__name__
        return text if len(text) <= _MOST_CHARACTERS else f"<{len(self)} {name}>"

    def _contents(self) -> dict[str, Any]:
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        return {"rows": [dict(zip(columns, row, strict=True)) for row in rows]}

    def _columns(self) -> dict[str, Any]:
        return columns_of(self, self._kind)


class ResultColumns(dict[str, Any], Result):
    """Columns of a table by name, each with one value per row."""

    __repr__ = Result.__repr__

    def _contents(self) -> dict[str, Any]:
        return dict(self)

    _columns = _contents


def columns_of(records: Iterable[Any], kind: type[Any]) -> dict[str, list[Any]]:
    """Columns of results of one kind, or of none: their fields, then their derived properties.

    Columns of dicts are their keys.
    """
    if kind is dict:
        rows = list(records)
        return {name: [row.get(name) for row in rows] for row in rows for name in row}
    names, records = (*_field_names(kind), *getattr(kind, "_derived", ())), list(records)
    return {name: [getattr(record, name) for record in records] for name in names}


def _field_names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)] if is_dataclass(kind) else list(kind._fields)


def _draw_marks(marks: Sequence[tuple[Any, Any, Any]]) -> list[str]:
    """Drawings on one scale: a dot with its interval, or a bar from 0 without an interval.

    Nothing is drawn for values that are missing or infinite; the cells next to them name both.
    """

    def is_finite(value: Any) -> bool:
        return value is not None and math.isfinite(value)

    def line(low: float, high: float, style: str) -> str:
        return f'<line x1="{place(low):.1f}" x2="{place(high):.1f}" y1="7" y2="7" {style}/>'

    ends = [float(end) for mark in marks for end in mark if is_finite(end)]
    if any(low is None for low, _, _ in marks):
        ends.append(0.0)
    first, last = min(ends, default=0.0), max(ends, default=0.0)
    # Halves, since the difference of two large numbers may be infinite.
    span = (last / 2 - first / 2) or 1.0

    def place(value: float) -> float:
        share = (float(value) / 2 - first / 2) / span
        return _DRAWN_MARGIN + share * (_DRAWN_WIDTH - 2 * _DRAWN_MARGIN)

    drawings = []
    for low, value, high in marks:
        shapes = []
        if is_finite(value) and low is None:
            shapes.append(line(0.0, value, 'stroke-width="8" opacity="0.5"'))
        elif is_finite(value):
            if is_finite(low) and is_finite(high):
                shapes.append(line(low, high, 'stroke-width="1.5"'))
            shapes.append(f'<circle cx="{place(value):.1f}" cy="7" r="3"/>')
        size = f'width="{_DRAWN_WIDTH}" height="14"'
        drawings.append(f'<svg {size} aria-hidden="true">{"".join(shapes)}</svg>')
    return drawings


def _escape(text: str) -> str:
    return escape(escape_hidden(text))


def _is_column(name: str, value: Any, size: int) -> bool:
    if isinstance(value, np.ndarray):
        return value.shape == (size,)
    if name == "notes" or not isinstance(value, list | tuple) or len(value) != size:
        return False
    return all(isinstance(item, _SCALARS) for item in value)


def _plain_column(column: Any) -> Any:
    """Values that every library for frames takes: arrays, or lists of one type and None."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return column
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        is_real = float in kinds
        return [float(v) if is_real and v is not None else v for v in values]
    return [None if value is None else _join(value) for value in values]


def _join(value: Any) -> str:
    """Text of a value; of several values, joined by commas."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return str(value)


def _format_column(values: list[Any]) -> list[str]:
    """Texts of a column for people: four decimals or digits; None is empty, NaN is "nan"."""
    is_real = [isinstance(value, float | np.floating) for value in values]
    sizes = [abs(v) for v, real in zip(values, is_real, strict=True) if real and math.isfinite(v)]
    form = ".4f" if 1e-2 <= max(sizes, default=0) < 1e4 else ".4g"
    form = ".0f" if all(size == round(size) < 1e9 for size in sizes) else form
    return [
        "" if value is None else f"{value + 0.0:{form}}" if real else _join(value)  # no "-0"
        for value, real in zip(values, is_real, strict=True)
    ]


def align_columns(lines: Sequence[Sequence[str]], left: Sequence[int] = ()) -> list[str]:
    """Lines of texts with equally wide columns, aligned right but for those in ``left``."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _summarise(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>"
    if isinstance(value, _SCALARS):
        return repr(value)
    if isinstance(value, list | tuple | dict) and len(text := repr(value)) <= 120:
        return text
    return f"<{len(value)} items>" if hasattr(value, "__len__") else f"<{type(value).__name__}>"
