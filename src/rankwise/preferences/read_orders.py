"""Orders from files of text, one per line, and from tables with one row per order and item.

References
----------
.. [1] Mattei & Walsh, "PrefLib: a library for preferences", ADT 2013; formats at preflib.org.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rankwise.checks.rows import check_weight
from rankwise.datasets.column_names import ITEM_NAMES, ORDER_NAMES, PLACE_NAMES
from rankwise.datasets.readers.tables import TABLES, suffix_of
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    check_line_ends,
    find_inner_mark,
    read_text,
)
from rankwise.preferences.item_codes import code_clusters, code_ids
from rankwise.preferences.orders import Orders, order_entries
from rankwise.preferences.preference_tables import PreferenceTable, name_file_of
from rankwise.runtime.callers import callers_level
from rankwise.runtime.vocabulary import setting

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
        If there is no such file.

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
        given = {"order": order, "item": item, "rank": rank, "clusters": clusters}
        _refuse_columns(source, given | {"sample_weight": sample_weight})
        lines = _read_lines(Path(source), max_decompressed_bytes)
        if is_preflib(Path(source)):
            return _read_preflib(Path(source), lines, weighted=sample_weight is not False)
        with name_file_of(source):
            return _make_orders(Path(source), lines)
    named = (order, item, rank, sample_weight)
    with name_file_of(source):
        table = PreferenceTable.of(source, sep=sep, max_decompressed_bytes=max_decompressed_bytes)
        return _read_table(table, named, list(clusters))


def _read_table(
    table: PreferenceTable,
    named: tuple[str | None, str | None, str | None, str | Literal[False] | None],
    clusters: list[str],
) -> Orders:
    order, item, rank, sample_weight = named
    order = table.find("order", order, ORDER_NAMES)
    item = table.find("item", item, ITEM_NAMES)
    rank = table.find("rank", rank, PLACE_NAMES)
    weights = table.find_weight(sample_weight, clusters)
    table.check("clusters", clusters)
    codes, _ = code_ids(table.values(order), "order ids", table.where)
    if not len(codes):
        raise ValueError("orders must hold at least one row, got none.")
    columns = [code_clusters(table.values(c), f"clusters {c!r}", table.where) for c in clusters]
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


def _refuse_columns(path: str | Path, given: dict[str, Any]) -> None:
    """Raise ValueError if columns are named for a file that has none."""
    named = [name for name, value in given.items() if value not in (None, False) and len(value)]
    if named:
        raise ValueError(
            f"{path} has one order per line (a > b = c) and no columns, got {', '.join(named)}. "
            "Drop these, or pass a table with one row per order and item: a CSV, TSV or Parquet "
            f"file, or {setting('sep')} for another suffix."
        )


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
