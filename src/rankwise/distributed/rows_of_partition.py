"""Checks of the rows of one partition; errors name the partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import narwhals as nw

from rankwise.streams.matched_columns import labels_of, match_columns


@contextmanager
def naming_partition(number: int | None) -> Iterator[None]:
    """Errors inside the block say which partition they are about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        place = "a partition" if number is None else f"partition {number}"
        raise kind(f"In {place}: {error}") from None


def reorder_columns(frame: Any, columns: Sequence[Any], number: int | None = None) -> Any:
    """A partition of a frame with the columns of the whole frame, matched by name."""
    found = labels_of(frame)
    if found is None or found == list(columns):
        return frame
    with naming_partition(number):
        return match_columns(frame, found, columns, "the whole frame")


def refuse_categories(X: Any) -> None:
    """Raise if a column is categorical: partitions number the categories differently."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    for position, series in enumerate(frame.iter_columns()):
        if series.dtype in (nw.Categorical, nw.Enum):
            raise ValueError(
                f"X must not have categorical columns on a cluster, got column "
                f"{frame.columns[position]!r}. Encode the categories as numbers, or fit on one "
                "machine."
            )
