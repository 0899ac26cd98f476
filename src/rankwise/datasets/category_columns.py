"""Columns of text as categories: codes among the numbers of rows, and frames with the text.

Rows of a table are a matrix of numbers. A column of categories holds codes there, positions in a
list of its categories. Estimators that take categories get a frame with the text, as they would
from a user, so that a saved model knows its categories by their text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.column_values import convert_to_array, is_missing
from rankwise.typing import Float64Array

if TYPE_CHECKING:
    import narwhals as nw

# Categories of each nominal column, by its number.
Categories = Mapping[int, NDArray[Any]]


def encode_texts(column: nw.Series[Any]) -> tuple[Float64Array, NDArray[Any]]:
    """Codes of a column of text, and its distinct values, ascending.

    Missing values and empty text are NaN.
    """
    values = convert_to_array(column.to_native()).tolist()
    known, code_of = _number_categories({v for v in values if not (is_missing(v) or v == "")})
    codes = np.fromiter((code_of.get(value, np.nan) for value in values), float, len(values))
    return codes, known


def _number_categories(values: Collection[Any]) -> tuple[NDArray[Any], dict[Any, float]]:
    """Categories of these values, ascending, and the code of each value.

    Values that are not all numbers count as text, such as intervals and a mixture of numbers and
    text: a column of Arrow has one type.
    """
    are_numbers = all(isinstance(value, int | float) for value in values)
    category_of = {value: value if are_numbers else str(value) for value in values}
    known = sorted({*category_of.values()})
    place_of = {category: float(place) for place, category in enumerate(known)}
    codes = {value: place_of[category] for value, category in category_of.items()}
    return np.array(known, dtype=object), codes


def are_categories(codes: NDArray[Any], known: NDArray[Any]) -> bool:
    """Whether text repeats enough to be categories: each value in two rows on average."""
    return 2 * len(known) <= len(codes) - int(np.isnan(codes).sum())


def check_codes(X: Any, names: Sequence[str] | None, categories: Categories) -> None:
    """Raise ValueError if columns of categories lack a name, or hold anything but places and NaN.

    X is the matrix of rows, and ``names`` are those of its columns.
    """
    if names is None or not isinstance(X, np.ndarray):
        raise ValueError(
            "categories need feature_names and an array X. Make them by "
            "RankingData.from_frame(frame, categories=True)."
        )
    for j, known in categories.items():
        if not 0 <= j < X.shape[1]:
            raise ValueError(
                f"categories must be of columns below n_features={X.shape[1]}, got {j}. Number "
                "columns from 0."
            )
        column = X[:, j]
        is_place = (column >= 0) & (column < len(known)) & (column % 1 == 0)
        is_place |= np.isnan(column)
        if not is_place.all():
            row = int(is_place.argmin())
            raise ValueError(
                f"column {j} of X must hold places in its {len(known)} categories, or NaN, got "
                f"{column[row]} at row {row}. Encode the text as such places."
            )


def join_coded(
    parts: Sequence[tuple[NDArray[Any], Categories]],
) -> tuple[NDArray[Any], dict[int, NDArray[Any]]]:
    """Rows of several tables with the same columns, and their categories together."""
    joined = np.concatenate([X for X, _ in parts])
    together: dict[int, NDArray[Any]] = {}
    for j in parts[0][1]:
        values = {value for _, categories in parts for value in categories[j].tolist()}
        together[j], code_of = _number_categories(values)
        start = 0
        for X, categories in parts:
            # The last entry is the code of missing values, which have no place.
            places = [*(code_of[value] for value in categories[j].tolist()), np.nan]
            codes = np.nan_to_num(X[:, j], nan=len(places) - 1).astype(np.int64)
            joined[start : start + len(X), j] = np.array(places)[codes]
            start += len(X)
    return joined, together


def category_frame(X: NDArray[Any], names: Sequence[str], categories: Categories) -> Any:
    """Arrow table of rows, with the text of the categories in place of codes."""
    import pyarrow as pa

    columns = []
    for j in range(len(names)):
        values = np.ascontiguousarray(X[:, j])
        if j not in categories:
            columns.append(pa.array(values))
            continue
        missing = np.isnan(values)
        codes = pa.array(np.where(missing, 0, values).astype(np.int32), mask=missing)
        known = categories[j].tolist()
        dictionary = pa.array(known) if known else pa.array(known, pa.string())
        columns.append(pa.DictionaryArray.from_arrays(codes, dictionary))
    return pa.table(columns, names=list(names))
