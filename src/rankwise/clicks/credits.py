"""Credits of interleaved lists, joined to the clicks on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankwise.clicks.readers import CREDIT
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.text_columns import read_cells
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog


def join_credit(log: ClickLog, path: Path) -> ClickLog:
    """Credit of every row of a log, from a table that ``rankwise clicks interleave`` wrote."""
    worth, systems = _read(path)
    query, document = log.query.names[log.query.codes], log.document.names[log.document.codes]
    credit = []
    for key in zip(query.tolist(), document.tolist(), log.place.tolist(), strict=True):
        if key not in worth:
            raise ValueError(
                f"{path} does not show {key[1]!r} of query {key[0]!r} at place {key[2]}, but the "
                "log does. Pass the file of the lists that were served, or keep their rows."
            )
        credit.append(worth[key])
    return replace(log, credit=np.array(credit), systems=systems)


def _read(path: Path) -> tuple[dict[tuple[str, str, int], list[float]], tuple[str, ...]]:
    """Credits by query, document and place, and the names of their systems."""
    file = DelimitedFile.of(path, ",", MAX_DECOMPRESSED_BYTES)
    with file.name_in_errors():
        names = file.header()
    columns = [name for name in names if name.startswith(CREDIT)]
    if not columns or not {"qid", "doc_id", "place"} <= {*names}:
        raise ValueError(
            f"{path} must have the columns qid, doc_id, place and credit_…, got "
            f"{', '.join(names)}. Write it by 'rankwise clicks interleave'."
        )
    table = read_cells(file)
    queries, documents = (table.texts(names.index(name)).tolist() for name in ("qid", "doc_id"))
    places = table.integers(names.index("place")).tolist()
    credits = zip(*(table.reals(names.index(name)).tolist() for name in columns), strict=True)
    worth: dict[tuple[str, str, int], list[float]] = {}
    keys = zip(queries, documents, places, strict=True)
    for row, (key, credit) in enumerate(zip(keys, map(list, credits), strict=True)):
        if worth.setdefault(key, credit) != credit:
            raise ValueError(
                f"{table.where(row)}: credits must be the same for every row of document "
                f"{key[1]!r} at place {key[2]}."
            )
    return worth, tuple(name.removeprefix(CREDIT) for name in columns)
