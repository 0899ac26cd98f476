"""Ids of items and clusters as text and as numbers from 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankwise.checks.ids import id_texts, warn_of_missing_words
from rankwise.runtime.column_values import (
    convert_to_array,
    convert_to_values,
    first_merged,
    text_array,
)
from rankwise.typing import Int64Array

Where = Callable[[int], str]
AT_ROW: Where = "row {}".format


def code_ids(values: Any, name: str, where: Where = AT_ROW) -> tuple[Int64Array, list[str]]:
    """Code of each id, and the text of each code in the order of first appearance.

    Each id is text or a whole number.
    """
    array = convert_to_array(values)
    texts: list[str] = []
    try:
        encoded = pa.array(array, from_pandas=True).dictionary_encode()
        # Of one type, so their texts differ as they do.
        texts = id_texts(encoded.dictionary.to_pylist(), name, limit=first_merged(array))
    except (pa.ArrowException, TypeError, ValueError):
        encoded = None
    if encoded is None or encoded.null_count:
        # All ids one by one: a message then names the row.
        encoded = pa.array(id_texts(array, name, where), pa.string()).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy().astype(np.int64)
    warn_of_missing_words(texts, name, np.bincount(codes, minlength=len(texts)).tolist())
    return codes, texts


def code_items(
    columns: tuple[Any, Any], name: str, where: Where = AT_ROW
) -> tuple[Int64Array, Int64Array, NDArray[np.str_]]:
    """Places of two columns of items in the sorted array of their names, and this array."""
    (first, first_texts), (second, second_texts) = (
        code_ids(column, name, where) for column in columns
    )
    if len(first) != len(second):
        raise ValueError(
            f"{name} must come in pairs, got {len(first)} first and {len(second)} second items."
        )
    items = sorted({*first_texts, *second_texts})
    place = {text: number for number, text in enumerate(items)}
    codes = []
    for column, texts in ((first, first_texts), (second, second_texts)):
        found = np.array([place[text] for text in texts], dtype=np.int64)
        codes.append(found[column] if len(column) else np.zeros(0, dtype=np.int64))
    return codes[0], codes[1], text_array(items)


def code_clusters(values: Any, name: str, where: Where = AT_ROW) -> Int64Array:
    """Code of each cluster id."""
    return code_ids(values, name, where)[0]


def split_pairs(pairs: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two columns of a table of pairs."""
    if isinstance(pairs, Sequence):  # NumPy would turn numbers beside text into text
        table = np.empty((len(pairs), 2), dtype=object)
        for row, pair in enumerate(pairs):
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise ValueError(f"pairs must hold two items per row, got {pair!r} at row {row}.")
            table[row] = list(pair)
    else:
        table = convert_to_values(pairs)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"pairs must have shape (n_comparisons, 2), got {table.shape}. Pass one row with two "
            "items per comparison."
        )
    return table[:, 0], table[:, 1]


def code_known_items(pairs: Any, items: NDArray[np.str_]) -> tuple[Int64Array, Int64Array]:
    """Places of pairs of items in ``items``, which must contain them."""
    first, second, names = code_items(split_pairs(pairs), "items")
    known = {name: place for place, name in enumerate(items.tolist())}
    missing = [name for name in names.tolist() if name not in known]
    if missing:
        raise ValueError(
            f"X must name items of the fit, got {missing[0]!r}. Known: "
            f"{', '.join(items[:12].tolist())}{', ...' if len(items) > 12 else ''}."
        )
    places = np.array([known[name] for name in names.tolist()], dtype=np.int64)
    return places[first], places[second]
