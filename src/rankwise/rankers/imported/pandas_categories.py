"""Columns of the categories that LightGBM lists for data frames.

``pandas_categorical`` has one list for each column of dtype ``category``, in their order but
without their names. Unordered columns are split by sets of codes, and ordered ones by thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwise.rankers.imported.stored_model import BoosterError


def attribute_categories(
    listed: Sequence[list[Any]],
    infos: Sequence[str],
    used: set[int],
    given: Mapping[int, list[Any]],
    names: Sequence[str],
) -> dict[int, list[Any]]:
    """Categories of the columns to which they certainly belong.

    ``listed`` holds the categories of each column of dtype ``category``, in the order of the
    columns. ``infos`` are LightGBM's ``feature_infos``: the codes of columns of categories,
    "[min:max]" of columns of numbers, or "none" for constants. ``used`` are the columns that the
    trees split, and ``given`` the categories that the caller knows.

    A list may belong to a column if it has a category for each code of the column. The columns of
    the lists ascend; so if the first possible column of a list is also its last one, it is certain.
    A list that may belong to several columns of which the trees split one raises BoosterError.
    """
    _check_order(listed, given, names)
    n_sets = sum(_is_nominal(info) for info in infos)
    possible = []
    for values in listed:
        owners = sorted(column for column in given if list(given[column]) == values)
        if len(owners) >= list(listed).count(values):
            possible.append(owners)
            continue
        # Lists of text are most likely those of the columns split by sets: text in another column
        # is refused when rows are scored, but numbers are not.
        all_occur = len(listed) == n_sets and _is_text(values)
        possible.append([
            column
            for column, info in enumerate(infos)
            if column in owners
            or (column not in given and _holds(info, len(values), all_occur=all_occur))
        ])  # fmt: skip
    first = _leftmost(possible)
    mirrored = [[-column for column in reversed(columns)] for columns in reversed(possible)]
    last = [-column for column in reversed(_leftmost(mirrored))]
    if len(first) < len(listed):
        raise BoosterError(
            _describe(listed, "fit no columns of the file", names, used - set(given))
        )
    ends = list(zip(first, last, listed, strict=True))
    found = {a: values for a, b, values in ends if a == b}
    for (a, b, values), columns in zip(ends, possible, strict=True):
        doubtful = [c for c in columns if a <= c <= b and c not in found]
        doubtful = [c for c in doubtful if c in used or _is_text(values)]
        if a != b and doubtful:
            said = f"have {values!r} for one of several columns"
            raise BoosterError(_describe(listed, said, names, doubtful))
    return found


def _check_order(
    listed: Sequence[list[Any]], given: Mapping[int, list[Any]], names: Sequence[str]
) -> None:
    for column, values in given.items():
        same = [known for known in listed if sorted(known, key=repr) == sorted(values, key=repr)]
        if same and list(values) not in same:
            raise BoosterError(
                f"categories of column {names[column]!r} must have the order of the file, "
                f"{same[0]!r}, got {list(values)!r}."
            )


def _is_nominal(info: str) -> bool:
    return info not in ("", "none") and not info.startswith("[")


def _is_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _holds(info: str, n_categories: int, *, all_occur: bool) -> bool:
    """Whether the codes of a column are below the number of categories.

    ``all_occur``: whether the codes of a column of numbers must reach from the first to the last
    category.
    """
    if info in ("", "none"):
        return True
    if _is_nominal(info):
        return max(int(code) for code in info.split(":")) < n_categories
    low, high = (float(end) for end in info.strip("[]").split(":"))
    if all_occur:
        return (low, high) == (0.0, n_categories - 1.0)
    return low.is_integer() and high.is_integer() and 0 <= low <= high < n_categories


def _leftmost(possible: list[list[int]]) -> list[int]:
    """First possible column of each list behind that of the list before; fewer if none is left."""
    chosen: list[int] = []
    for columns in possible:
        column = next((c for c in columns if not chosen or c > chosen[-1]), None)
        if column is None:
            break
        chosen.append(column)
    return chosen


def _describe(listed: Any, said: str, names: Sequence[str], columns: Any) -> str:
    called = [names[column] for column in sorted(columns)]
    return (
        f"the LightGBM model lists categories of {len(listed)} columns of a data frame without "
        f"their names, and these {said}. Pass categories={{column: list}} for those of the columns "
        f"{called} that had the dtype category, in the order of pandas."
    )
