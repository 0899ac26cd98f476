"""Credits of interleaved lists, joined to the clicks on them."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankwise.clicks.readers import CREDIT
from rankwise.datasets.readers.textfiles import read_text

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
    reader = csv.DictReader(io.StringIO(read_text(path).decode("utf-8-sig"), newline=""))
    names = reader.fieldnames or []
    columns = [name for name in names if name.startswith(CREDIT)]
    if not columns or not {"qid", "doc_id", "place"} <= {*names}:
        raise ValueError(
            f"{path} must have the columns qid, doc_id, place and credit_…, got "
            f"{', '.join(names)}. Write it by 'rankwise clicks interleave'."
        )
    worth: dict[tuple[str, str, int], list[float]] = {}
    for number, row in enumerate(reader, 2):
        try:
            key = row["qid"], row["doc_id"], int(row["place"])
            credit = [float(row[name]) for name in columns]
        except (TypeError, ValueError):
            raise ValueError(f"{path}, line {number}: place and credits must be numbers.") from None
        if not np.isfinite(credit).all() or worth.setdefault(key, credit) != credit:
            raise ValueError(
                f"{path}, line {number}: credits must be finite, and the same for every row of "
                f"document {key[1]!r} at place {key[2]}."
            )
    return worth, tuple(name.removeprefix(CREDIT) for name in columns)
