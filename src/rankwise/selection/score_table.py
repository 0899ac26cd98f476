"""Tables of systems and units, long or wide, as one array of values per system."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.checks.exact_values import id_texts, warn_of_missing_words
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.file_formats import SEPARATORS, is_binary_table, is_json
from rankwise.datasets.readers.quotes import count_outside, first_record
from rankwise.datasets.readers.tables import is_stored, open_stored
from rankwise.datasets.readers.text_columns import read_cells
from rankwise.datasets.readers.textfiles import check_line_ends, open_text
from rankwise.datasets.table_columns import ALL_DOCUMENT_NAMES, ALL_QUERY_NAMES
from rankwise.runtime.frames import check_unique, convert_to_values, is_missing, wrap_frame
from rankwise.runtime.messages import setting
from rankwise.typing import Float64Array

_FLAGS = {"true": 1.0, "false": 0.0}
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_MAY_BE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "\u2013"})


@dataclass(frozen=True)
class CellTable:
    """Columns by name, as they were written."""

    columns: dict[str, list[Any]]
    where: Callable[[int], str] = field(default="row {}".format)  # names a row in messages
    decimal: str = "."  # decimal mark of numbers that are text: "." or ","

    def ids(self, name: str) -> list[str]:
        ids = id_texts(self.columns[name], f"column {name!r}", self.where)
        warn_of_missing_words(ids, f"column {name!r}")
        return ids

    def is_text(self, name: str) -> bool:
        """Whether the first cell with a value is not a number."""
        for cell in self.columns[name]:
            if not _is_empty(cell):
                return self._number(cell) is None and not _has_comma(cell)
        return False

    def numbers(self, name: str) -> Float64Array:
        """Numbers of a column, NaN for empty cells; infinities and texts are errors."""
        found = np.empty(len(self.columns[name]))
        for row, cell in enumerate(self.columns[name]):
            value = math.nan if _is_empty(cell) else self._number(cell)
            if value is None or math.isinf(value):
                commas = ""
                if self.decimal == "." and _has_comma(cell):
                    commas = f" If commas are decimal marks, pass {setting('decimal', ',')}."
                raise ValueError(
                    f"{self.where(row)}: {str(cell)!r} in column {name!r} is not a finite number "
                    f"(such as 0{self.decimal}5, without marks for thousands or percent)."
                    f"{commas} Leave cells without a value empty, or leave "
                    f"out columns that hold no scores with {setting('ignore', [name])}."
                )
            found[row] = value
        return found

    def counts_rows(self, name: str) -> bool:
        """Whether a column holds 0, 1, 2, … or 1, 2, 3, …"""
        numbers = [self._number(cell) for cell in self.columns[name]]
        return len(numbers) > 1 and numbers in (
            [float(row) for row in range(len(numbers))],
            [float(row + 1) for row in range(len(numbers))],
        )

    def _number(self, cell: Any) -> float | None:
        """Number in a cell; None if it holds something else."""
        if isinstance(cell, str):
            text = cell.strip().lower()
            if text in _FLAGS:
                return _FLAGS[text]
            if "_" in text or not text.isascii() or (self.decimal == "," and "." in text):
                return None
            cell = text.replace(self.decimal, ".")
        try:
            return float(cell)
        except (TypeError, ValueError):
            return None


def is_index_of_names(index: Any) -> bool:
    """Whether an index of pandas says more than the place of a row."""
    dtype = getattr(index, "dtype", None)
    names = getattr(index, "names", None)
    if dtype is None or names is None:
        return False
    return any(name is not None for name in names) or dtype.kind not in "iu"


def _has_comma(cell: Any) -> bool:
    """Whether a cell is text that may be a number with a decimal comma."""
    return isinstance(cell, str) and _WITH_COMMA.fullmatch(cell.strip()) is not None


def _is_empty(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return is_missing(cell)


def read_frame_cells(frame: Any, decimal: str | None = None) -> CellTable:
    """Cells of a frame of narwhals."""
    check_unique(frame.columns)
    return CellTable(
        {name: convert_to_values(frame[name].to_native()).tolist() for name in frame.columns},
        decimal=decimal or ".",
    )


def read_file_cells(path: Path, sep: str | None, decimal: str | None = None) -> CellTable:
    """Cells of a text file with a header line, or of a Parquet file.

    ``sep`` is by default the most frequent separator in the first line. ``decimal`` is by default
    the comma if columns are separated by semicolons, and numbers have commas that can be nothing
    else; otherwise the point.
    """
    file = open_text(path)
    head = file.read(file.start, file.start + (1 << 16))
    if is_stored(path) or is_binary_table(head):
        return read_frame_cells(wrap_frame(open_stored(path).read()), decimal)
    check_line_ends(path, head)
    if is_json(head):
        raise ValueError(
            f"{path} holds JSON, not a table. If mteb, lm-evaluation-harness or the like wrote it, "
            f"pass its folder, {path.parent}, to 'rankwise board' or "
            "rankwise.integrations.results.read_results. Else write CSV."
        )
    first = first_record(head)
    try:
        first.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path}, line 1: the names of columns are not UTF-8 text.") from None
    sep = sep or max(SEPARATORS, key=lambda sign: count_outside(first, sign))
    table = DelimitedFile(path, sep, file)
    with table.name_in_errors():
        names = table.names
    if len(names) < 2:
        raise ValueError(
            f"{path} must be a table with a header line and several columns, separated by a tab, "
            "comma, semicolon or bar, or a Parquet file."
        )
    check_unique(names)
    read = read_cells(table)
    columns = {}
    for name, cells in zip(names, read.columns, strict=True):
        try:
            columns[name] = [cell.decode() for cell in cells]
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: column {name!r} is not UTF-8 text: {error}.") from None
    if decimal is None:
        decimal = "," if sep == ";" and _has_decimal_commas(columns) else "."
    return CellTable(columns, read.where, decimal)


def _has_decimal_commas(columns: dict[str, list[str]]) -> bool:
    """Whether numbers have commas that mark no thousands, and none has a point."""
    cells = {cell.strip() for column in columns.values() for cell in column}
    if any(_WITH_POINT.fullmatch(cell) for cell in cells):
        return False
    found = [cell for cell in cells if _WITH_COMMA.fullmatch(cell)]
    return any(not _MAY_BE_THOUSANDS.fullmatch(cell) for cell in found)


SYSTEM_NAMES = ("system", "model", "ranker", "method", "submission", "agent", "algorithm", "name")
VALUE_NAMES = ("score", "value")
UNIT_NAMES = (
    "unit", "task", "dataset", "item", "example", "instance", "prompt", "problem", "question",
    "instance_id", "task_id", *ALL_QUERY_NAMES, *ALL_DOCUMENT_NAMES,
)  # fmt: skip
# Name of the measure of a table whose columns are systems or units.
_MEASURE = "score"
# Names of columns that hold no scores; in a wide table they would become systems or units.
_NO_SCORES = re.compile(
    r"(rank|ranking|position|average|avg|mean|overall|total|params?(_.*)?|parameters|(model_)?size"
    r"|year|index|id|n_.*|num_.*)"
)
_MOST_NAMED = 3
# Names that pandas makes up for an index in a file.
_PANDAS_INDEX = re.compile(r"|Unnamed: \d+|index|__index_level_\d+__")


@dataclass(frozen=True)
class ScoreColumns:
    """Names of the columns of a table; None: the usual name.

    ``unit`` and ``score`` may name several columns; ``run`` is False if repeated values are
    independent of each other.
    """

    system: str | None = None
    unit: Sequence[str] | None = None
    score: Sequence[str] | None = None
    run: str | bool | None = None
    stratum: str | None = None
    cluster: str | None = None
    ignore: Sequence[str] = ()


@dataclass(frozen=True)
class ScoreTable:
    """Values of systems on units."""

    units: list[str]
    # (n_units, n_runs), by measure and system; NaN where the table has no value
    values: dict[str, dict[str, Float64Array]]
    strata: list[str] | None = None  # stratum of every unit
    clusters: list[str] | None = None  # cluster of every unit
    layout: str = ""  # where systems and units stand in the table, in words


def read_score_table(
    scores: Any, names: ScoreColumns, sep: str | None = None, decimal: str | None = None
) -> ScoreTable:
    """Read values of systems on units from a file, a frame or a mapping.

    A system has one number per unit and run.
    """
    if isinstance(scores, Mapping):
        return _read_mapping(scores)
    if isinstance(scores, str | Path):
        path = Path(scores)
        try:
            return _read_table(read_file_cells(path, sep, decimal), names)
        except ValueError as error:
            said = str(error)
            raise ValueError(said if str(path) in said else f"{path}: {said}") from None
    if hasattr(scores, "reset_index") and is_index_of_names(getattr(scores, "index", None)):
        scores = scores.reset_index()  # of pandas: it names rows
    frame = wrap_frame(scores)
    if frame is None:
        raise TypeError(
            "scores must be the path of a table, a frame or a mapping from systems to values, "
            f"got {type(scores).__name__}. Pass {{system: {{unit: value}}}}, for instance."
        )
    return _read_table(read_frame_cells(frame.lazy().collect(), decimal), names)


def _read_table(table: CellTable, names: ScoreColumns) -> ScoreTable:
    """Values of a table, whose columns tell its form."""
    table = _drop_ignored(table, names.ignore)
    warn_of_missing_words(list(table.columns), "names of columns")
    given = [names.system, names.stratum, names.cluster, *(names.unit or ()), *(names.score or ())]
    given += [names.run] if isinstance(names.run, str) else []
    for name in given:
        if name is not None and name not in table.columns:
            raise ValueError(
                f"there is no column {name!r}; the columns are "
                f"{', '.join(map(repr, list(table.columns)[:12]))}."
            )
    if not next(iter(table.columns.values()), []):
        raise ValueError("the table has no rows. It needs one value per system and unit.")
    system = names.system or _usual(table, SYSTEM_NAMES)
    value = names.score or [name for name in [_usual(table, VALUE_NAMES)] if name is not None]
    if system is not None and value:
        return _read_long(table, system, list(value), names)
    if names.run:
        raise ValueError(
            f"{setting('run', names.run)} needs a long table, with one row per value and columns "
            f"for the system and the score. Name these with {setting('system')} and "
            f"{setting('score')}."
        )
    return _read_wide_rows(table, system, names) if system else _read_wide_columns(table, names)


def _read_long(
    table: CellTable, system: str, measures: list[str], names: ScoreColumns
) -> ScoreTable:
    """One row per system, unit and run."""
    run = names.run if isinstance(names.run, str) else None
    units = _unit_columns(table, names, {system, run, *measures})
    of_unit = _join_columns(table, units, names)
    unit_codes = {unit: code for code, unit in enumerate(dict.fromkeys(of_unit))}
    systems = table.ids(system)
    runs = table.ids(run) if run else _number_repeats(systems, of_unit, names)
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(systems):
        rows_of.setdefault(name, []).append(row)
    numbers = {measure: table.numbers(measure) for measure in measures}
    values: dict[str, dict[str, Float64Array]] = {measure: {} for measure in measures}
    for name, rows in rows_of.items():
        run_codes = {found: code for code, found in enumerate(dict.fromkeys(runs[r] for r in rows))}
        seen = np.full((len(unit_codes), len(run_codes)), -1)
        for row in rows:
            place = unit_codes[of_unit[row]], run_codes[runs[row]]
            if seen[place] >= 0:
                raise ValueError(
                    f"{table.where(row)}: {name!r} has a value for {of_unit[row]!r} already "
                    f"({table.where(int(seen[place]))}). Name the column of seeds or other runs "
                    f"with {setting('run')}, or further columns of the unit with "
                    f"{setting('unit')}; {setting('run', False)} averages repeated values that are "
                    "independent of each other."
                )
            seen[place] = row
        for measure in measures:
            found = np.where(seen >= 0, numbers[measure][np.maximum(seen, 0)], math.nan)
            if not run:  # independent repeats are one value of their unit: the mean of the known
                known = ~np.isnan(found)
                total, count = np.where(known, found, 0.0).sum(axis=1), known.sum(axis=1)
                empty = np.full(len(found), math.nan)
                found = np.divide(total, count, out=empty, where=count > 0)[:, None]
            values[measure][name] = found
    layout = f"systems in column {system}, units in column {' / '.join(units)}"
    return ScoreTable(
        list(unit_codes), values, _find_unit_values(table, names.stratum, of_unit, "stratum"),
        _find_unit_values(table, names.cluster, of_unit, "cluster"), layout,
    )  # fmt: skip


def _number_repeats(systems: list[str], units: list[str], names: ScoreColumns) -> list[str]:
    """Numbers of repeated values if these are allowed, otherwise one run."""
    if names.run is not False:
        return [""] * len(systems)
    counts: dict[tuple[str, str], int] = {}
    found = []
    for place in zip(systems, units, strict=True):
        counts[place] = counts.get(place, 0) + 1
        found.append(str(counts[place]))
    return found


def _read_wide_columns(table: CellTable, names: ScoreColumns) -> ScoreTable:
    """One row per unit, one column per system."""
    reserved = {name for name in (names.stratum, names.cluster) if name}
    texts = [name for name in table.columns if table.is_text(name) and name not in reserved]
    usual = [name for name in table.columns if _plain(name) in UNIT_NAMES]
    units = list(names.unit or ()) or usual or texts
    others = [name for name in table.columns if name not in {*units, *reserved}]
    systems = list(names.score or others)
    if not names.score:
        _check_hold_scores(table, systems, "systems", "score")
    if not systems:
        raise ValueError(
            "the table has no column of scores. Name the columns of a long table with "
            f"{setting('system')} and {setting('score')}."
        )
    if len(systems) == 1 and len(texts) > 1 and not (names.unit or names.score):
        raise ValueError(
            f"{systems[0]!r} is the only column of scores, so there would be one system. If the "
            "table has one row per system and unit, name its columns with "
            f"{setting('system')}, {setting('unit')} and {setting('score')}."
        )
    n = len(table.columns[systems[0]])
    of_unit = _join_columns(table, units, names) if units else [str(row + 1) for row in range(n)]
    _check_distinct(of_unit, table)
    values = {name: table.numbers(name)[:, None] for name in systems}
    rows = f"column {' / '.join(units)}" if units else "the rows"
    layout = f"systems are columns ({_format_range(systems)}), units in {rows}"
    return ScoreTable(
        of_unit, {_MEASURE: values}, _find_unit_values(table, names.stratum, of_unit, "stratum"),
        _find_unit_values(table, names.cluster, of_unit, "cluster"), layout,
    )  # fmt: skip


def _read_wide_rows(table: CellTable, system: str, names: ScoreColumns) -> ScoreTable:
    """One row per system, one column per unit."""
    if names.stratum or names.cluster:
        raise ValueError(
            "strata and clusters need a table with one row per unit or per value, but its rows "
            f"are systems (column {system!r}). Turn the table around."
        )
    units = list(names.unit or [name for name in table.columns if name != system])
    if not names.unit:
        _check_hold_scores(table, units, "units", "unit")
    systems = table.ids(system)
    if len(set(systems)) < len(systems):
        raise ValueError(
            f"column {system!r} names systems more than once, so the rows are values, but no "
            f"column of scores has a usual name ({', '.join(VALUE_NAMES)}). Name it with "
            f"{setting('score')}."
        )
    columns = np.column_stack([table.numbers(unit) for unit in units])
    values = {name: columns[row][:, None] for row, name in enumerate(systems)}
    layout = f"systems in column {system}, units are columns ({_format_range(units)})"
    return ScoreTable(units, {_MEASURE: values}, layout=layout)


def _read_mapping(scores: Mapping[Any, Any]) -> ScoreTable:
    """``{system: {unit: value}}``, or arrays of shape (n_units,) or (n_units, n_runs)."""
    if not scores:
        raise ValueError("scores must name at least one system, got none.")
    systems = id_texts(scores, "systems", "system {}".format)
    # A series of pandas pairs values by its index, as everywhere in pandas.
    scores = {
        name: row.to_dict()
        if hasattr(row, "to_dict") and is_index_of_names(getattr(row, "index", None))
        else row
        for name, row in scores.items()
    }
    if all(isinstance(row, Mapping) for row in scores.values()):
        units = list(dict.fromkeys(unit for row in scores.values() for unit in row))
        names = id_texts(units, "units", "unit {}".format)
        rows = [[row.get(unit, math.nan) for unit in units] for row in scores.values()]
    else:
        rows = [convert_to_values(row) for row in scores.values()]
        lengths = {name: len(row) for name, row in zip(systems, rows, strict=True)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"systems must have values for the same units, got lengths {lengths}.")
        names = [str(unit + 1) for unit in range(len(rows[0]))]
    values = {}
    for system, row in zip(systems, rows, strict=True):
        try:
            found = np.array(
                [math.nan if v is None else v for v in row] if isinstance(row, list) else row,
                dtype=np.float64,
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"values of {system!r} must be numbers: {error}.") from None
        if found.ndim not in (1, 2) or np.isinf(found).any():
            raise ValueError(
                f"values of {system!r} must be finite, one per unit or one row of runs per unit, "
                f"got shape {found.shape}."
            )
        values[system] = found.reshape(len(found), -1)
    return ScoreTable(names, {_MEASURE: values})


def _unit_columns(table: CellTable, names: ScoreColumns, taken: set[Any]) -> list[str]:
    if names.unit:
        return list(names.unit)
    taken = taken | {names.stratum, names.cluster}
    found = [n for n in table.columns if _plain(n) in UNIT_NAMES and n not in taken]
    found = found or [name for name in (names.cluster, names.stratum) if name]
    if not found:
        raise ValueError(
            "there is no column of units (queries, tasks, documents, …) with a usual name. Name it "
            f"with {setting('unit')}; the columns are {', '.join(map(repr, table.columns))}."
        )
    return found


def _join_columns(table: CellTable, units: Sequence[str], names: ScoreColumns) -> list[str]:
    """Text of several columns that name a unit together.

    A group is part of the name where units of several groups have equal names.
    """
    columns = [table.ids(name) for name in units]
    for group in (names.cluster, names.stratum):
        if group is not None and group not in units:
            of_group = table.ids(group)
            if len(set(zip(of_group, *columns, strict=True))) > len(
                set(zip(*columns, strict=True))
            ):
                columns = [of_group, *columns]
    return (
        columns[0] if len(columns) == 1 else [" / ".join(row) for row in zip(*columns, strict=True)]
    )


def _find_unit_values(
    table: CellTable, name: str | None, of_unit: list[str], what: str
) -> list[str] | None:
    """Value of a column for every unit, in the order of their first rows."""
    if name is None:
        return None
    found: dict[str, str] = {}
    for row, (unit, value) in enumerate(zip(of_unit, table.ids(name), strict=True)):
        if found.setdefault(unit, value) != value:
            raise ValueError(
                f"{table.where(row)}: unit {unit!r} is in {what} {value!r}, and in "
                f"{found[unit]!r} before. Name further columns of the unit with {setting('unit')}."
            )
    return list(found.values())


def _check_distinct(ids: list[str], table: CellTable) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in first:
            raise ValueError(
                f"{table.where(row)}: {name!r} occurs before ({table.where(first[name])}). A table "
                "with one column per system or unit has one row for each of the others."
            )
        first[name] = row


def _usual(table: CellTable, names: Sequence[str]) -> str | None:
    """Column with a usual name, such as "Model" or "model name"; None if there is none."""
    known = {_plain(column): column for column in reversed(table.columns)}
    ends = ("", "_name", "_id")
    return next((known[n + end] for n in names for end in ends if n + end in known), None)


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _format_range(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{names[0]} to {names[-1]}"


def _drop_ignored(table: CellTable, ignore: Sequence[str]) -> CellTable:
    """Table without the named columns, and without numbers of rows that pandas wrote."""
    unknown = [name for name in ignore if name not in table.columns]
    if unknown:
        raise ValueError(
            f"{setting('ignore', list(ignore))} names {unknown[0]!r}, which is not a column."
        )
    kept = {
        name: cells
        for name, cells in table.columns.items()
        if name not in ignore and not (_PANDAS_INDEX.fullmatch(name) and table.counts_rows(name))
    }
    return replace(table, columns=kept)


def _check_hold_scores(table: CellTable, columns: Sequence[str], what: str, argument: str) -> None:
    """Raise ValueError if columns of a wide table hold something else, by their names or values."""
    wrong = [
        name for name in columns if _NO_SCORES.fullmatch(_plain(name)) or table.counts_rows(name)
    ]
    if wrong:
        raise ValueError(
            f"column{'s' if len(wrong) > 1 else ''} {', '.join(map(repr, wrong[:12]))} would be "
            f"{what}, but by name or values {'they hold' if len(wrong) > 1 else 'it holds'} no "
            f"scores. Leave out with {setting('ignore', wrong)}, or name the {what} with "
            f"{setting(argument)}."
        )
