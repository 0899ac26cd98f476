"""Roles of the columns of a table: label, query, document id, weight and features.

Label and query have usual names, so most tables need no options. Every remaining column of numbers
is a feature.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankwise.checks.frames import (
    TIMES,
    check_unique,
    kind_of,
    kind_of_dtype,
    wrap_frame,
)
from rankwise.checks.row_errors import RowError
from rankwise.checks.unjudged_label import check_unjudged
from rankwise.datasets.category_columns import (
    are_categories,
    are_dates,
    encode_texts,
    join_coded,
)
from rankwise.datasets.column_names import (
    DOCUMENT_LAST,
    DOCUMENT_NAMES,
    LABEL_NAMES,
    QUERY_LAST,
    QUERY_NAMES,
    WEIGHT_NAMES,
    find_usual_names,
)
from rankwise.datasets.role_values import (
    check_fits,
    check_float_type,
    read_document_ids,
    read_exact,
    read_finite,
    read_numbers,
    read_present_ids,
)
from rankwise.runtime.callers import callers_level
from rankwise.runtime.vocabulary import setting
from rankwise.typing import Float64Array

MOST_LISTED = 12
TIMES_FIX = "Replace them by numbers, such as days since a fixed day."
# What columns hold that may be categories.
_TEXTS = ("text", "categories")
# Names that pandas makes up, for an index that was written as a column, in CSV without a name.
_PANDAS_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")

# Name of a column; None: the usual name; False: no such column.
Role = str | Literal[False] | None
# Name of each column, and the type of its values if they are not numbers.
Kinds = Mapping[str, str | None]
# Columns of text that are categories; True: those whose values repeat.
CategoryRole = bool | Sequence[str]


class IgnoredColumnsWarning(UserWarning):
    """Warning that columns without numbers are not used as features."""


class Roles(NamedTuple):
    """Roles of columns as named by the caller, see :meth:`Columns.of`."""

    label: Role = None
    qid: Role = None
    doc_id: Role = None
    sample_weight: Role = None
    features: Sequence[str] | None = None
    score_columns: tuple[str, ...] = ()
    unjudged: Any = None
    categories: CategoryRole = False

    @property
    def chooses_texts(self) -> bool:
        """Whether columns of text are features if their values repeat, not because of a name."""
        return self.features is None and self.categories is True


class TableRows(NamedTuple):
    """Values of the columns of a table; None if there is no such column.

    ``categories`` are those of the columns of X that hold codes.
    """

    X: NDArray[Any]
    y: Float64Array | None
    qid: NDArray[Any] | None
    sample_weight: Float64Array | None
    doc_ids: NDArray[Any] | None
    score_columns: dict[str, Float64Array]
    categories: dict[int, NDArray[Any]]

    @classmethod
    def join(cls, parts: Sequence[TableRows]) -> TableRows:
        """Rows of several files, one after the other; ids keep their values."""
        if len(parts) == 1:
            return parts[0]
        if parts[0].qid is not None and len({part.qid.dtype.kind for part in parts}) > 1:  # type: ignore[union-attr]
            # Signed and unsigned integers together would become floats.
            parts = [part._replace(qid=part.qid.astype(object)) for part in parts]  # type: ignore[union-attr]
        X, categories = join_coded([(part.X, part.categories) for part in parts])
        _, *columns, scores, _ = zip(*parts, strict=True)
        joined: Any = [None if c[0] is None else np.concatenate(c) for c in columns]
        named = {name: np.concatenate([part[name] for part in scores]) for name in scores[0]}
        return cls._make([X, *joined, named, categories])


@dataclass(frozen=True)
class Columns:
    """Columns of a table by role; None if there is no such column.

    ``flags`` are features written as true and false in a text file. ``may_miss_labels``: whether
    missing labels are NaN instead of an error. ``categories`` are features that hold text, which
    become codes.
    """

    label: str | None
    qid: str | None
    doc_id: str | None
    sample_weight: str | None
    features: list[str]
    score_columns: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    may_miss_labels: bool = False
    categories: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        kinds: Kinds,
        label: Role = None,
        qid: Role = None,
        doc_id: Role = None,
        sample_weight: Role = None,
        features: Sequence[str] | None = None,
        score_columns: Sequence[str] = (),
        unjudged: Any = None,
        categories: CategoryRole = False,
    ) -> Columns:
        """Assign columns by name; None: the usual name; False: no such column.

        ``categories``: columns that are categories, and features unless ``features`` leaves them
        out; True: features that hold text.

        Raises
        ------
        ValueError
            If a column is missing or has an ambiguous role.

        Warns
        -----
        IgnoredColumnsWarning
            If ``features`` is None and columns without numbers, or an index of pandas, are left
            out.
        """
        columns = list(kinds)
        _check_columns("score_columns", score_columns, columns)
        roles = (
            _choose("label", label, LABEL_NAMES, columns),
            _choose("qid", qid, QUERY_NAMES, columns, QUERY_LAST),
            _choose_if_there("doc_id", doc_id, DOCUMENT_NAMES, columns, DOCUMENT_LAST),
            _choose_if_there("sample_weight", sample_weight, WEIGHT_NAMES, columns),
        )
        _check_role_of_label(roles)
        named = () if isinstance(categories, bool) else categories
        _refuse_times(named, kinds)
        if features is None:
            left = [column for column in columns if column not in (*roles, *score_columns)]
            queries = [name for name in left if qid is False and name.lower() in QUERY_NAMES]
            if queries:
                raise ValueError(
                    f"all rows are to be one query, but column {queries[0]!r} would become a "
                    f"feature. Pass {setting('qid', queries[0])}, or {setting('features')}."
                )
            index = [name for name in left if _PANDAS_INDEX.fullmatch(name)]
            if index:
                warnings.warn(
                    f"columns {list_names(index)} are left out: pandas gives these names to row "
                    "numbers, and to columns without a name. Name the columns to use them: "
                    f"{setting('features')}.",
                    IgnoredColumnsWarning,
                    stacklevel=callers_level(),
                )
            kept = {name: kinds[name] for name in left if name not in index}
            # What a column holds does not matter once it is named.
            kept |= {name: None for name in named if name in kept}
            features = choose_features(kept, with_text=categories is True)
        _check_columns("features", features, columns)
        may_miss = unjudged is not None and check_unjudged(unjudged) is None
        if isinstance(categories, bool):
            texts = [name for name in features if kinds[name] in _TEXTS]
            categories = texts if categories else ()
        _check_columns("categories", categories, columns)
        return cls(
            *roles, list(features), tuple(score_columns), may_miss_labels=may_miss,
            categories=frozenset(categories) & {*features},
        )  # fmt: skip

    @classmethod
    def unjudged(
        cls,
        kinds: Kinds,
        qid: str | None = None,
        doc_id: str | None = None,
        features: Sequence[str] | None = None,
        *,
        categories: Sequence[str] = (),
        fitted: bool = False,
    ) -> Columns:
        """Columns of rows to score; the query is optional, and labels and weights are not read.

        Parameters
        ----------
        kinds : mapping
            Kind of each column.
        qid, doc_id : str, optional
            Columns of queries and document ids.
        features : sequence of str, optional
            Feature columns.
        categories : sequence of str
            Features that hold text.
        fitted : bool
            Whether the features are those of a fitted model; only used in messages.

        Raises
        ------
        ValueError
            If a column is missing or has an ambiguous role.
        """
        columns = list(kinds)
        missing = [name for name in features or () if name not in kinds]
        if missing and fitted:
            raise ValueError(
                f"the model was fitted on columns that are missing: {list_names(missing)}; "
                f"there are {list_names(columns)}."
            )
        if features is None:
            unread = {*LABEL_NAMES, *WEIGHT_NAMES}
            kinds = {name: kind for name, kind in kinds.items() if name.lower() not in unread}
        found = _choose_if_there("qid", qid, QUERY_NAMES, columns, QUERY_LAST)
        return cls.of(kinds, False, found or False, doc_id, False, features, categories=categories)

    def names(self) -> list[str]:
        """Columns to read, each once."""
        roles = (self.label, self.qid, self.doc_id, self.sample_weight)
        named = (name for name in roles if name is not None)
        return list(dict.fromkeys([*self.features, *self.score_columns, *named]))

    def read(self, table: nw.DataFrame[Any], dtype: DTypeLike) -> TableRows:
        """Read the values of the columns.

        Raises
        ------
        ValueError
            If a column holds values of the wrong kind.
        """
        original = dict(zip(map(str, table.columns), table.columns, strict=True))

        def column(named: str) -> nw.Series[Any]:
            return table.get_column(original[named])

        X = np.empty((len(table), len(self.features)), dtype=check_float_type(dtype))
        categories = {}
        for j, feature in enumerate(self.features):
            if feature in self.categories:
                X[:, j], categories[j] = encode_texts(column(feature))
                continue
            values = read_numbers("features", feature, column(feature))
            with np.errstate(over="ignore"):  # checked below
                X[:, j] = values
            check_fits(feature, values, X[:, j])
        label, weight = self.label, self.sample_weight
        return TableRows(
            X,
            None if label is None else self._labels(label, column(label)),
            None if self.qid is None else read_present_ids("qid", self.qid, column(self.qid)),
            None if weight is None else read_finite("sample_weight", weight, column(weight)),
            None if self.doc_id is None else read_document_ids(self.doc_id, column(self.doc_id)),
            {name: read_finite("scores", name, column(name)) for name in self.score_columns},
            categories,
        )

    def without_free_text(self, rows: TableRows) -> tuple[Columns, TableRows]:
        """The columns and rows without dates as text, and text that hardly repeats; it warns.

        A text file and a Parquet file of the same rows have the same features: in the former, dates
        and text are told apart by their cells, too.
        """
        dates = [j for j, known in rows.categories.items() if are_dates(rows.X[:, j], known)]
        warn_of_ignored({self.features[j]: "dates" for j in dates}, TIMES_FIX)
        free = [
            j
            for j, known in rows.categories.items()
            if j not in dates and not are_categories(rows.X[:, j], known)
        ]
        if free:
            listed = self.features if len(self.features) <= MOST_LISTED else ...
            warnings.warn(
                "columns of text whose values hardly repeat are not used as features: "
                f"{list_names([self.features[j] for j in free])}. Name the columns to use them as "
                f"categories: {setting('features', listed)}.",
                IgnoredColumnsWarning,
                stacklevel=callers_level(),
            )
        if not (dates or free):
            return self, rows
        names = [self.features[j] for j in (*dates, *free)]
        kept = [j for j in range(len(self.features)) if self.features[j] not in names]
        categories = {kept.index(j): known for j, known in rows.categories.items() if j in kept}
        columns = replace(
            self,
            features=[self.features[j] for j in kept],
            categories=self.categories - {*names},
        )
        return columns, rows._replace(X=rows.X[:, kept], categories=categories)

    def _labels(self, name: str, column: nw.Series[Any]) -> Float64Array:
        """Labels, NaN where one may be missing."""
        if not self.may_miss_labels:
            return read_finite("label", name, column)
        values = read_exact("label", name, column)
        if np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise RowError(f"label must be finite, column {name!r} has {values[row]}", row, ".")
        return values


def read_frame(frame: Any, roles: Roles, dtype: DTypeLike) -> tuple[Columns, TableRows]:
    """Columns of a frame of any library supported by narwhals, and their values.

    Raises
    ------
    TypeError
        If ``frame`` is not a frame.
    ValueError
        If a column is missing, has an ambiguous role, or holds values of the wrong kind.
    """
    table = wrap_frame(frame)
    if table is None:
        raise TypeError(
            f"frame must be a data frame, got {type(frame).__name__}. Pass arrays to RankingData."
        )
    columns = Columns.of(frame_kinds(table), *roles)
    if isinstance(table, nw.LazyFrame):
        table = table.select(columns.names()).collect()
    rows = columns.read(table, dtype)
    return columns.without_free_text(rows) if roles.chooses_texts else (columns, rows)


def is_frame(data: Any) -> bool:
    """Whether ``data`` is a frame of narwhals or of a library that it supports."""
    return wrap_frame(data) is not None


def frame_kinds(table: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> dict[str, str | None]:
    """Kinds of the columns of a frame; of a lazy one, columns of unknown type are collected."""
    schema = table.collect_schema()
    check_unique([str(name) for name in schema])
    kinds = {name: kind_of_dtype(dtype) for name, dtype in schema.items()}
    if isinstance(table, nw.LazyFrame):
        unknown = [name for name, kind in kinds.items() if kind == ""]
        kinds |= frame_kinds(table.select(unknown).collect()) if unknown else {}
    else:
        kinds = {name: kind_of(table.get_column(name)) for name in schema}
    return {str(name): kind for name, kind in kinds.items()}


def _refuse_times(names: Sequence[str], kinds: Kinds) -> None:
    """Raise ValueError if columns that are to be categories hold dates or times."""
    for name in names:
        if (kind := kinds.get(name) or "") in TIMES:
            fix = f"Replace it by a number, such as {TIMES[kind]}."
            raise ValueError(f"column {name!r} holds {kind}, which are no categories. {fix}")


def choose_features(kinds: Kinds, *, with_text: bool = False) -> list[str]:
    """Columns that hold numbers and, with ``with_text``, text; a warning names the others.

    Raises
    ------
    ValueError
        If a column holds numbers with few exceptions.
    """
    texts = _TEXTS if with_text else ()
    chosen_names = [name for name, kind in kinds.items() if kind is None or kind in texts]
    chosen = setting("features", chosen_names if len(chosen_names) <= MOST_LISTED else ...)
    times = {name: kind for name, kind in kinds.items() if kind in TIMES}
    warn_of_ignored({name: str(kind) for name, kind in times.items()}, TIMES_FIX)
    kinds = {name: kind for name, kind in kinds.items() if name not in times}
    for name, kind in kinds.items():
        if kind is not None and ", but " in kind:
            raise ValueError(
                f"column {name!r} holds {kind}. Correct it, or leave the column out: {chosen}."
            )
    warn_of_ignored(
        {name: kind for name, kind in kinds.items() if kind is not None and kind not in texts}
    )
    return chosen_names


def warn_of_ignored(kinds: Mapping[str, str], fix: str | None = None) -> None:
    """Warn about columns without numbers that are left out, if there are any.

    ``fix`` says how to use them; None: with the setting of a table's columns.
    """
    if kinds:
        shown = list_names([f"{name} ({kind})" for name, kind in kinds.items()], quote=str)
        fix = fix or (
            "Encode them as numbers to use them, or name the columns to use: "
            f"{setting('features')}."
        )
        warnings.warn(
            f"columns that hold no numbers are not used as features: {shown}. {fix}",
            IgnoredColumnsWarning,
            stacklevel=callers_level(),
        )


def list_names(names: Sequence[str], most: int = MOST_LISTED, quote: Any = repr) -> str:
    """Names separated by commas; of many, the first ones and the number of the others."""
    shown = ", ".join(quote(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _check_columns(what: str, names: Sequence[str], columns: list[str]) -> None:
    if isinstance(names, str):
        raise ValueError(f"{what} must be a list of columns, got {names!r}.")
    missing = sorted({*names} - {*columns})
    if missing:
        raise ValueError(
            f"{what} must be columns, but {list_names(missing)} are not; there are "
            f"{list_names(columns)}."
        )


def _check_role_of_label(roles: Sequence[str | None]) -> None:
    """Raise ValueError if the column of labels has another role; ids may share a column."""
    label, *others = roles
    for what, column in zip(("qid", "doc_id", "sample_weight"), others, strict=True):
        if label is not None and column == label:
            raise ValueError(
                f"label and {what} must be different columns, got {label!r} for both. Name the "
                f"column of the labels, {setting('label')}, or another one for {what}."
            )


def _choose(
    what: str,
    named: Role,
    usual: tuple[str, ...],
    columns: list[str],
    last: tuple[str, ...] = (),
) -> str | None:
    found = _choose_if_there(what, named, usual, columns, last)
    if found is None and named is not False:
        one_query = f", or {setting('qid', False)} if all rows are one query"
        raise ValueError(
            f"{what} needs a column, but none is called {', '.join((*usual, *last))}; there are "
            f"{list_names(columns)}. Pass {setting(what)}{one_query if what == 'qid' else ''}."
        )
    return found


def _choose_if_there(
    what: str,
    named: Role,
    usual: tuple[str, ...],
    columns: list[str],
    last: tuple[str, ...] = (),
) -> str | None:
    if named is False:
        return None
    if named is not None:
        if named not in columns:
            raise ValueError(
                f"{setting(what, named)} is not a column; there are {list_names(columns)}."
            )
        return named
    found = find_usual_names(columns, usual, last)
    if len(found) > 1:
        raise ValueError(
            f"{what} could be any of the columns {list_names(found)}. Pass {setting(what)}, and "
            f"{setting('features')} if the others are not features."
        )
    return found[0] if found else None
