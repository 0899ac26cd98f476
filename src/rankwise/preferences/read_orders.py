"""Orders from files of text, one per line, and from tables with one row per order and item."""

from __future__ import annotations

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
from rankwise.runtime.vocabulary import setting


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
        one order per line: ``a > b = c``, the best first, with equals signs between ties.
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
        weight or a cluster differs within an order, or columns are named for lines of text.
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
        return _read_lines(Path(source), max_decompressed_bytes)
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


def _refuse_columns(path: str | Path, given: dict[str, Any]) -> None:
    """Raise ValueError if columns are named for a file that has none."""
    named = [name for name, value in given.items() if value not in (None, False) and len(value)]
    if named:
        raise ValueError(
            f"{path} has one order per line (a > b = c) and no columns, got {', '.join(named)}. "
            "Drop these, or pass a table with one row per order and item: a CSV, TSV or Parquet "
            f"file, or {setting('sep')} for another suffix."
        )


def _read_lines(path: Path, max_decompressed_bytes: int) -> Orders:
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
    numbers = [number for number, _ in lines]
    with name_file_of(path):
        return Orders.from_lists(
            [line for _, line in lines], where=lambda row: f"{path}, line {numbers[row]}"
        )
