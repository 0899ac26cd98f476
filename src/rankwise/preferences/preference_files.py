"""Read comparisons and orders from tables (files or frames) and orders from lines of text.

References
----------
.. [1] Mattei & Walsh, "PrefLib: a library for preferences", ADT 2013; formats at preflib.org.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np

from rankwise.checks.rows import check_weight
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.file_formats import DELIMITERS, STORED, TABLES
from rankwise.datasets.readers.results import find_column
from rankwise.datasets.readers.tables import delimiter_of, is_stored, open_stored, suffix_of
from rankwise.datasets.readers.text_columns import TextColumns, read_cells
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    check_line_ends,
    find_inner_mark,
    open_text,
    read_text,
)
from rankwise.datasets.table_columns import (
    FIRST_ITEM_NAMES,
    ITEM_NAMES,
    ORDER_NAMES,
    PLACE_NAMES,
    PREFERENCE_WEIGHT_NAMES,
    SECOND_ITEM_NAMES,
    WINNER_NAMES,
    list_names,
)
from rankwise.preferences.preference_data import (
    AT_ROW,
    Comparisons,
    Orders,
    Where,
    are_numbers,
    code_ids,
    code_items,
    code_outcomes,
    order_entries,
)
from rankwise.runtime.arrow import pa
from rankwise.runtime.frames import collect_frame, convert_to_array, convert_to_values
from rankwise.runtime.messages import callers_level, setting
from rankwise.typing import Float64Array

Covariate = str | tuple[str, str]


def read_comparisons(
    source: Any,
    *,
    item_a: str | None = None,
    item_b: str | None = None,
    winner: str | None = None,
    covariates: Sequence[Covariate] = (),
    clusters: Sequence[str] = (),
    sample_weight: str | Literal[False] | None = None,
    sep: str | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Comparisons:
    """Read comparisons of two items from a file or a frame with one row per comparison.

    Parameters
    ----------
    source : path or frame
        CSV, TSV, Parquet or JSON-lines file (FastChat's votes), plain or compressed, or a frame of
        pandas, Polars or Arrow.
    item_a, item_b : str, optional
        Columns of the first and the second item (default: item_a, model_a, a, first, left, home,
        player1 and the like; and item_b and so on).
    winner : str, optional
        Column of outcomes (default: winner, preferred, preference, outcome or result). A value is
        the name of an item of the row, "first" or "second" (also "a", "b", "left", "right",
        "model_a", "model_b" or the names of the two columns), "tie" (also "draw", "both",
        "neither", "tie (bothbad)"), "True" if the first item won or "False", or a number: 1 if the
        first item won, 0.5 or 0.
    covariates : sequence of str or (str, str), optional
        Columns of advantages of the first item, or pairs of columns whose difference, first minus
        second, is one: ("length_a", "length_b").
    clusters : sequence of str, optional
        Columns of annotators, prompts and the like.
    sample_weight : str or False, optional
        Column of weights (default, if present: sample_weight or weight); False: no weights.
    sep : str of length 1, optional
        Column separator of text files (default: from the suffix).
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Returns
    -------
    Comparisons
        Ids are text, as written. Rows of weight 0 are left out. Other columns are not read.

    Raises
    ------
    ValueError
        If a column is missing, a value is missing or is not an outcome, or an item is compared with
        itself. The message names the row, or file and line.
    FileNotFoundError
        If the file does not exist.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise.preferences import read_comparisons
    >>> votes = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "z"],
    ...                       "winner": ["model_a", "tie"], "judge": ["ann", "bob"]})
    >>> games = read_comparisons(votes, clusters=["judge"])
    >>> games.items.tolist(), games.outcome.tolist(), games.cluster_names
    (['x', 'y', 'z'], [0, 1], ('judge',))
    """
    clusters = list(clusters)
    with name_file_of(source):
        table = PreferenceTable.of(source, sep, max_decompressed_bytes)
        columns = (
            table.find("first item", item_a, FIRST_ITEM_NAMES),
            table.find("second item", item_b, SECOND_ITEM_NAMES),
        )
        outcomes = table.find("winner", winner, WINNER_NAMES)
        parts = [(name,) if isinstance(name, str) else tuple(name) for name in covariates]
        used = [name for part in parts for name in part]
        weights = table.find_weight(sample_weight, [*used, *clusters])
        table.check("covariates", used)
        table.check("clusters", clusters)
        first, second, items = code_items(
            (table.values(columns[0]), table.values(columns[1])), "items", table.where
        )
        results = table.values(outcomes)
        outcome = code_outcomes(
            results, first, second, items, numbers=are_numbers(results, items), sides=columns,
            where=table.where,
        )  # fmt: skip
        n = len(first)
        weight = (
            np.ones(n) if weights is None else check_weight(table.numbers("weight", weights), n)
        )
        Z = np.zeros((n, len(parts)))
        for column, part in enumerate(parts):
            numbers = [table.numbers("covariates", name) for name in part]
            Z[:, column] = numbers[0] if len(numbers) == 1 else numbers[0] - numbers[1]
        codes = np.zeros((n, len(clusters)), dtype=np.int64)
        for column, name in enumerate(clusters):
            codes[:, column] = code_ids(table.values(name), f"clusters {name!r}", table.where)[0]
        names = tuple(" - ".join(part) for part in parts)
        made = Comparisons(items, first, second, outcome, weight, Z, names, codes, tuple(clusters))
        return made._checked(table.where)


PREFLIB = (".soc", ".soi", ".toc", ".toi")  # strict or with ties, complete or incomplete
_GROUP = r"(?:\d+|\{(?:\d+(?:,\d+)*)?\})"
_COUNTED = re.compile(rf"(\d+):({_GROUP}(?:,{_GROUP})*)?")
_PREFLIB_FORM = "Orders read '12: 1,3,{2,4}': their number, then alternatives, ties in braces"


def read_orders(
    source: Any,
    *,
    order: str | None = None,
    item: str | None = None,
    rank: str | None = None,
    clusters: tuple[str, ...] | list[str] = (),
    sample_weight: str | Literal[False] | None = None,
    sep: str | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Orders:
    """Read orders from a file or a frame.

    Parameters
    ----------
    source : path or frame
        CSV, TSV or Parquet file, plain or compressed, or a frame of pandas, Polars or Arrow, with
        one row per order and item. A text file with any other suffix, unless ``sep`` is given, has
        one order per line: ``a > b = c``, the best first, with equals signs between ties. PrefLib's
        files (.soc, .soi, .toc, .toi) of either version are read with their counts as weights;
        their orders of a single item are left out, with a warning.
    order, item, rank : str, optional
        Columns of the order's id (default: order, order_id, ranking, ballot, race or list), of the
        item (item, model, system, player, team or candidate) and of its rank (rank, place or
        position). Smaller ranks are better, and equal ranks are ties.
    clusters : sequence of str, optional
        Columns of annotators and the like, constant within an order.
    sample_weight : str or False, optional
        Column of weights, constant within an order (default, if present: sample_weight or weight);
        False: no weights.
    sep : str of length 1, optional
        Column separator of text files (default: from the suffix).
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Returns
    -------
    Orders

    Raises
    ------
    ValueError
        If a column or a value is missing, an order has one item or names an item twice, or a
        weight or a cluster differs within an order, or columns are named for lines of text, or the
        header of a PrefLib file does not fit its orders.
    FileNotFoundError
        If the file does not exist.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise.preferences import read_orders
    >>> races = pd.DataFrame({"race": [1, 1, 2, 2, 2], "team": ["x", "y", "y", "z", "x"],
    ...                       "place": [1, 2, 1, 1, 3]})
    >>> orders = read_orders(races)
    >>> orders.items[orders.item].tolist(), orders.stage.tolist()
    (['x', 'y', 'y', 'z', 'x'], [0, 1, 0, 0, 1])
    """
    if isinstance(source, str | Path) and sep is None and suffix_of(Path(source)) not in TABLES:
        given: dict[str, Any] = {"order": order, "item": item, "rank": rank, "clusters": clusters}
        given["sample_weight"] = sample_weight
        named = [name for name, value in given.items() if value not in (None, False) and len(value)]
        if named:
            raise ValueError(
                f"{source} has one order per line (a > b = c) and no columns, got "
                f"{', '.join(named)}. Drop these, or pass a table with one row per order and item: "
                f"a CSV, TSV or Parquet file, or {setting('sep')} for another suffix."
            )
        lines = _read_lines(Path(source), max_decompressed_bytes)
        if is_preflib(Path(source)):
            return _read_preflib(Path(source), lines, weighted=sample_weight is not False)
        with name_file_of(source):
            return _make_orders(Path(source), lines)
    clusters = list(clusters)
    with name_file_of(source):
        table = PreferenceTable.of(source, sep, max_decompressed_bytes)
        order = table.find("order", order, ORDER_NAMES)
        item = table.find("item", item, ITEM_NAMES)
        rank = table.find("rank", rank, PLACE_NAMES)
        weights = table.find_weight(sample_weight, clusters)
        table.check("clusters", clusters)
        codes, _ = code_ids(table.values(order), "order ids", table.where)
        if not len(codes):
            raise ValueError("orders must hold at least one row, got none.")
        columns = [code_ids(table.values(c), f"clusters {c!r}", table.where)[0] for c in clusters]
        if weights is not None:
            columns.append(check_weight(table.numbers("weight", weights), len(codes)))
        first = np.unique(codes, return_index=True)[1]
        for name, column in zip((*clusters, weights), columns, strict=False):
            differs = column != column[first][codes]
            if differs.any():
                raise ValueError(
                    f"{name!r} must be constant within an order, but differs at "
                    f"{table.where(int(differs.argmax()))}."
                )
        weight = None if weights is None else columns.pop()[first]
        ways = np.stack(columns, axis=1)[first] if columns else None
        ranks = table.numbers("ranks", rank)
        found = order_entries(codes, table.values(item), ranks, weight, ways, table.where)
        return replace(found, cluster_names=tuple(clusters))


def is_preflib(path: Path) -> bool:
    """Whether the name of a file is that of PrefLib's orders."""
    return suffix_of(path) in PREFLIB


def _read_lines(path: Path, max_decompressed_bytes: int) -> list[tuple[int, str]]:
    """Lines that are not blank, with their numbers."""
    data = read_text(path, max_decompressed_bytes)
    if b"\0" in data:
        number = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ValueError(f"{path}, line {number}: a NUL character. Is the file damaged?")
    if data.count(b"\r") > data.count(b"\r\n"):
        check_line_ends(path, data)
        raise ValueError(f"{path}: carriage returns stand within lines. Save it with line feeds.")
    if reason := find_inner_mark(data):
        raise ValueError(f"{path}, {reason}")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
    lines = [(row, line) for row, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise ValueError(f"{path} is empty. Write one order per line: a > b = c.")
    return lines


def _make_orders(
    path: Path, lines: list[tuple[int, Any]], sample_weight: list[int] | None = None
) -> Orders:
    return Orders.from_lists(
        [order for _, order in lines],
        sample_weight=sample_weight,
        where=lambda row: f"{path}, line {lines[row][0]}",
    )


def _read_preflib(path: Path, lines: list[tuple[int, str]], *, weighted: bool) -> Orders:
    """Orders of a file of PrefLib, counted by its header."""
    names, n_orders, lines = _read_preflib_header(path, lines)
    if len(lines) != n_orders:
        raise ValueError(
            f"{path} must hold {n_orders} distinct orders, as its header says, got {len(lines)}. "
            "Is the file cut off?"
        )
    orders: list[tuple[int, Any]] = []
    counts, single = [], 0
    for number, line in lines:
        found = _COUNTED.fullmatch(re.sub(r"\s", "", line))
        if found is None or not int(found[1]):
            raise ValueError(
                f"{path}, line {number}: not an order: {line[:60]!r}. {_PREFLIB_FORM}."
            )
        groups = [re.findall(r"\d+", group) for group in re.findall(_GROUP, found[2] or "")]
        items = [item for group in groups for item in group]
        for item in items:
            if item not in names:
                raise ValueError(
                    f"{path}, line {number}: alternative {item} has no name in the header."
                )
        if suffix_of(path).endswith("c") and len(items) != len(names):
            raise ValueError(
                f"{path}, line {number}: an order must have all {len(names)} alternatives, got "
                f"{len(items)}. Name the file .soi or .toi if orders are incomplete."
            )
        if len(items) < 2:
            single += int(found[1])
            continue
        orders.append((number, [[names[item] for item in group] for group in groups if group]))
        counts.append(int(found[1]))
    if single:
        warnings.warn(
            f"{path}: orders of fewer than two alternatives are left out: {single} of "
            f"{single + sum(counts)}.",
            UserWarning,
            stacklevel=callers_level(),
        )
    with name_file_of(path):
        return _make_orders(path, orders, counts if weighted else None)


def _read_preflib_header(
    path: Path, lines: list[tuple[int, str]]
) -> tuple[dict[str, str], int, list[tuple[int, str]]]:
    """Names by number, the number of distinct orders, and lines of the form ``12: 1,2``.

    Files since 2022 have comments; older ones have the number of alternatives, a line for each,
    and the numbers of voters, of their votes and of distinct orders.
    """
    try:
        if lines[0][1].lstrip().startswith("#"):
            words = [line.lstrip()[1:].partition(":") for _, line in lines if _is_comment(line)]
            header = {key.strip().upper(): value.strip() for key, _, value in words}
            names = {
                key.split()[-1]: value
                for key, value in header.items()
                if re.fullmatch(r"ALTERNATIVE NAME \d+", key)
            }
            n, n_orders = (
                int(header[f"NUMBER {what}"]) for what in ("ALTERNATIVES", "UNIQUE ORDERS")
            )
            rest = [(number, line) for number, line in lines if not _is_comment(line)]
        else:
            n = int(lines[0][1])
            pairs = [line.partition(",") for _, line in lines[1 : n + 1]]
            names = {number.strip(): name.strip() for number, _, name in pairs}
            n_orders = int(lines[n + 1][1].split(",")[2])
            rest = [(number, line.replace(",", ":", 1)) for number, line in lines[n + 2 :]]
    except (ValueError, KeyError, IndexError):
        raise ValueError(
            f"{path} must begin with the header of a PrefLib file: the numbers of alternatives and "
            "of distinct orders, and the alternatives' names. Without one, write a > b = c to a "
            "file of another suffix, such as .txt."
        ) from None
    if len(names) != n or len({*names.values()}) != n or "" in names.values():
        raise ValueError(f"{path}: the header must name {n} alternatives, each by another name.")
    return names, n_orders, rest


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


_JSON_LINES = (".jsonl", ".ndjson")


@contextmanager
def name_file_of(source: Any) -> Iterator[None]:
    """Let errors inside the block name the file, if ``source`` is one."""
    try:
        yield
    except ValueError as error:
        if not isinstance(source, str | Path) or str(source) in str(error):
            raise
        raise ValueError(f"{source}: {error}") from None


@dataclass(frozen=True)
class PreferenceTable:
    """Columns of a table by name."""

    columns: list[str]
    source: nw.DataFrame[Any] | TextColumns
    where: Where  # describes a row in messages

    @classmethod
    def of(cls, source: Any, sep: str | None, max_decompressed_bytes: int) -> PreferenceTable:
        """Table of a frame, or of a file by suffix: CSV, TSV, Parquet, JSON lines or ``sep``."""
        if not isinstance(source, str | Path):
            frame = collect_frame(source)
            if frame is None:
                raise TypeError(
                    "preferences must be a path or a frame with named columns, got "
                    f"{type(source).__name__}. Pass a pandas or Polars frame, or arrays to fit."
                )
            return cls(frame.columns, frame, AT_ROW)
        path = Path(source)
        if is_stored(path):
            table = open_stored(path, max_decompressed_bytes).read()
            frame = nw.from_native(table, eager_only=True)
            return cls(frame.columns, frame, f"{path}, row {{}}".format)
        if sep is None and suffix_of(path) in _JSON_LINES:
            frame = nw.from_native(_read_json_lines(path, max_decompressed_bytes), eager_only=True)
            return cls(frame.columns, frame, f"{path}, line {{}}".format)
        if sep is None and suffix_of(path) not in DELIMITERS:
            known = (*DELIMITERS, *_JSON_LINES, *STORED)
            raise ValueError(
                f"path must end in one of {', '.join(known)}, got "
                f"{path.name!r}. Pass {setting('sep')} if it is delimited text."
            )
        file = DelimitedFile.of(path, delimiter_of(path, sep), max_decompressed_bytes)
        with file.name_in_errors():
            names = file.header
        columns = read_cells(file)
        return cls(names, columns, columns.where)

    def find(self, what: str, named: str | None, usual: Sequence[str]) -> str:
        """Name of a column: the named one, or the first that has a usual name."""
        if named is None:
            return find_column(self.columns, usual, what)
        self.check(what, [named])
        return named

    def find_weight(self, named: str | Literal[False] | None, others: Sequence[str]) -> str | None:
        """Name of the column of weights: the named one, or one with a usual name; None without.

        Columns in ``others``, such as covariates, are no weights unless they are named as such. It
        is an error if several columns have a usual name.
        """
        if named is False:
            return None
        if named is not None:
            return self.find("weight", named, ())
        usual = [name for name in self.columns if name.lower() in PREFERENCE_WEIGHT_NAMES]
        found = [name for name in usual if name not in others]
        if len(found) > 1:
            raise ValueError(
                f"columns {list_names(found)} may both be weights. Pass "
                f"{setting('sample_weight', found[0])}, or drop one."
            )
        return found[0] if found else None

    def check(self, what: str, names: Sequence[str]) -> None:
        """Raise ValueError if names are not columns."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise ValueError(
                f"{what} {list_names(missing)} must be columns; there are "
                f"{list_names(self.columns)}."
            )

    def values(self, name: str) -> Any:
        """Column as an array of any type; text from a text file."""
        if isinstance(self.source, TextColumns):
            place = self.columns.index(name)
            try:
                return np.array([token.decode() for token in self.source.columns[place]], object)
            except UnicodeDecodeError:
                return self.source.texts(place)  # raises, and names the line
        return convert_to_array(self.source[name].to_native())

    def numbers(self, what: str, name: str) -> Float64Array:
        """Column of finite numbers."""
        if isinstance(self.source, TextColumns):
            return self.source.reals(self.columns.index(name))
        values = convert_to_values(self.source[name].to_native())
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{what} must hold numbers, column {name!r} holds {values.dtype}.")
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(
                f"{what} must be finite, column {name!r} has {values[row]} at {self.where(row)}. "
                "Drop or fill such rows."
            )
        return values


def _read_json_lines(path: Path, max_decompressed_bytes: int) -> pa.Table:
    """Columns of the texts, numbers and truth values of one object per line; others are left out.

    A column of numbers and texts becomes texts, and a missing value is null.
    """
    text = open_text(path, max_decompressed_bytes)
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.read(text.start, text.stop).splitlines(), start=1):
        if not line.strip():
            raise ValueError(f"{path}, line {number}: an empty line. Remove it.")
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: not a JSON object: {error}.") from None
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {number}: must be a JSON object, as {{...}}.")
        rows.append({k: v for k, v in row.items() if v is None or isinstance(v, str | int | float)})
    if not rows:
        raise ValueError(f"{path} is empty. It must have one JSON object per line.")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # numbers and texts
            columns[name] = pa.array([None if v is None else str(v) for v in values])
    return pa.table(columns)
