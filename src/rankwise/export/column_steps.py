"""Steps of scikit-learn that work column by column, as maps: encoders, imputers, and their tables.

Every column that such a step makes comes from one column: its value, filled where it is missing; 1
where it is one category, else 0; or 1 where it is missing. So the steps of one column compose, and
formats without encoders name the columns that their engine has to offer, such as ``meal_lunch``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from rankwise.export.maps import NEVER, Chain, Column, ExportError, MadeColumns, Scaled
from rankwise.runtime.frames import is_missing


def encode_one_hot(encoder: Any) -> Chain:
    """One column for each category that is not dropped."""
    if any(rare is not None for rare in getattr(encoder, "infrequent_categories_", ())):
        raise ExportError(
            "OneHotEncoder joins infrequent categories in one column, which cannot be exported. "
            "Fit it without min_frequency and max_categories."
        )
    dropped = encoder.drop_idx_
    columns = [
        Column(source, *_key(category))
        for source, categories in enumerate(encoder.categories_)
        for place, category in enumerate(categories.tolist())
        if dropped is None or dropped[source] != place
    ]
    return (MadeColumns(tuple(columns)),)


def _key(category: Any) -> tuple[Any, float]:
    """What rows of the category hold, and whether missing values are of it."""
    if is_missing(category):
        return NEVER, 1.0
    if isinstance(category, str):
        return str(category), 0.0
    if isinstance(category, Real):
        return float(category), 0.0
    raise ExportError(
        f"categories of OneHotEncoder must be text or numbers, got {category!r}. Convert them to "
        "text before training."
    )


def fill_columns(imputer: Any) -> Chain:
    """Columns with a value in place of missing ones, and then indicators."""
    if not is_missing(imputer.missing_values):
        raise ExportError(
            f"SimpleImputer(missing_values={imputer.missing_values!r}) cannot be exported: missing "
            "values of exported files are NaN. Replace them before training."
        )
    columns = [
        Column(source, fill=value)
        for source, value in enumerate(imputer.statistics_.tolist())
        if imputer.keep_empty_features or not is_missing(value)
    ]
    if imputer.indicator_ is not None:
        columns += mark_missing(imputer.indicator_)[0].columns
    return (MadeColumns(tuple(columns)),)


def mark_missing(indicator: Any) -> tuple[MadeColumns]:
    """Columns that are 1 where a value is missing."""
    sources = indicator.features_.tolist()
    return (MadeColumns(tuple(Column(source, NEVER, 1.0) for source in sources)),)


def keep_columns(transformer: Any) -> Chain:
    """``passthrough``, which a fitted ColumnTransformer stores as a function."""
    if transformer.func is None:
        return ()
    raise ExportError(
        "FunctionTransformer depends on a function that cannot be written to a file. Compute its "
        "columns before training."
    )


def join_parts(table: Any, maps_of: Callable[[Any], Chain]) -> Chain:
    """Columns of a ColumnTransformer, followed by the scalers of each part."""
    names = getattr(table, "feature_names_in_", None)
    columns: list[Column] = []
    scalers: list[tuple[int, Scaled]] = []
    for name, step, chosen in table.transformers_:
        sources = _positions(chosen, names, table.n_features_in_)
        if not sources or (isinstance(step, str) and step == "drop"):
            continue
        chain = () if isinstance(step, str) else maps_of(step)
        part = MadeColumns(tuple(map(Column, sources)))
        if chain and isinstance(chain[0], MadeColumns):
            part, chain = part.then(chain[0]), chain[1:]
        for scaler in chain:
            if not isinstance(scaler, Scaled):
                raise ExportError(
                    f"the part {name!r} of the ColumnTransformer cannot be exported. Parts may be "
                    "OneHotEncoder, SimpleImputer, MissingIndicator, scalers, 'passthrough', and "
                    "pipelines in which scalers come last."
                )
            scalers.append((len(columns), scaler))
        columns += part.columns
    return MadeColumns(tuple(columns)), *(_widen(*part, len(columns)) for part in scalers)


def _positions(chosen: Any, names: Any, n: int) -> list[int]:
    """Numbers of the columns that a part of a ColumnTransformer reads."""
    place = {} if names is None else {str(name): number for number, name in enumerate(names)}
    if isinstance(chosen, slice):
        first, last = (
            place[end] if isinstance(end, str) else end for end in (chosen.start, chosen.stop)
        )
        if isinstance(chosen.stop, str):  # the last column is part of it
            last += 1
        return list(range(n))[slice(first, last, chosen.step)]
    listed = [place[key] if isinstance(key, str) else key for key in np.atleast_1d(chosen).tolist()]
    found: list[int] = np.arange(n)[listed].tolist() if listed else []
    return found


def _widen(start: int, scaler: Scaled, n: int) -> Scaled:
    """The scaler for columns from ``start`` on, of n columns whose others stay as they are."""

    def place(values: Any, default: float) -> Any:
        if values is None:
            return None
        out = np.full(n, default)
        out[start : start + len(values)] = values
        return out

    return Scaled(
        place(scaler.center, 0.0), place(scaler.spread, 1.0), scaler.to_unit,
        place(scaler.factor, 1.0), place(scaler.shift, 0.0),
    )  # fmt: skip


def column_names(columns: MadeColumns, names: Sequence[str]) -> list[str]:
    """Distinct names of the columns made of those with the given names, as scikit-learn's."""
    found: list[str] = []
    for made in columns.columns:
        name = names[made.source]
        if made.key is not None:
            is_gap = made.key == NEVER
            name = f"missingindicator_{name}" if is_gap else f"{name}_{made.key}"
        while name in found:  # a column that two parts read
            name += "_"
        found.append(name)
    return found
