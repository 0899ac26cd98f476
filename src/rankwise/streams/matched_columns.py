"""Columns of chunks, matched by name as concatenating frames would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from rankwise.streams.stream_sources import Chunk


def labels_of(X: Any, feature_names: Sequence[str] | None = None) -> list[Any] | None:
    """Names of the columns of a frame, or those that are known of an array; None without names."""
    if hasattr(X, "column_names"):  # an Arrow table, whose ``columns`` are values
        return list(X.column_names)
    if hasattr(X, "columns"):
        return list(X.columns)
    return None if feature_names is None else list(feature_names)


def match_chunk(chunk: Chunk, labels: Sequence[Any] | None, first: str) -> Chunk:
    """The chunk with its columns in the order of ``labels``; unchanged where names are unknown.

    Messages about a missing or an additional column use ``first`` to say what has ``labels``.
    """
    found = labels_of(chunk.X, chunk.feature_names)
    if labels is None or found is None or found == list(labels):
        return chunk
    X = match_columns(chunk.X, found, labels, first)
    names = None if chunk.feature_names is None else [str(label) for label in labels]
    return replace(chunk, X=X, feature_names=names)


def match_columns(X: Any, found: Sequence[Any], labels: Sequence[Any], first: str) -> Any:
    """Columns ``found`` of a frame, array or CSR in the order of ``labels``."""
    missing = [label for label in labels if label not in found]
    extra = [label for label in found if label not in labels]
    if missing or extra or len(found) != len(labels):
        differences = [
            f"{verb} {', '.join(map(repr, names))}"
            for verb, names in (("lacks column", missing), ("has the additional column", extra))
            if names
        ]
        raise ValueError(
            f"X {' and '.join(differences) or 'has a column twice'}, compared with {first}. Give "
            "all of them the same columns."
        )
    order = [list(found).index(label) for label in labels]
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[:, order].to_native()
    return X[:, np.array(order)]


def same_kind_of_ids(kinds: Sequence[tuple[str, str]]) -> None:
    """Raise if some query ids are text and others are not: 1 and "1" would be two queries.

    ``kinds`` holds pairs of a place, which the message names, and "text", "numbers", or "" without
    ids.
    """
    seen: dict[str, str] = {}
    for place, kind in kinds:
        if kind:
            seen.setdefault(kind, place)
    if len(seen) > 1:
        (kind, place), (other, later) = seen.items()
        raise ValueError(
            f"qid must be of one kind, got {kind} in {place} and {other} in {later}: 1 and '1' "
            "would be two queries. Convert them to one kind."
        )


def kind_of_ids(qid: Any) -> str:
    """The kind of query ids: "text", "numbers", or "" without ids or for mixed objects."""
    values = np.asarray(qid)
    if not values.size:
        return ""
    if values.dtype.kind in "biuf":
        return "numbers"
    if values.dtype.kind in "US":
        return "text"
    kinds = {isinstance(value, str | bytes) for value in values.ravel().tolist()}
    return "" if len(kinds) > 1 else "text" if kinds.pop() else "numbers"
