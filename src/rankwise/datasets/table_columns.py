"""Columns of a table by role: their usual names, what they hold, and their values.

Label and query have usual names, so most tables need no options. Every remaining column of numbers
is a feature.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankwise.checks.exact_values import (
    LARGEST_EXACT,
    RowError,
    check_unjudged,
    exact_float64,
    id_texts,
    warn_of_missing_words,
)
from rankwise.checks.exact_values import (
    MissingWordsWarning as MissingWordsWarning,  # exported by datasets
)
from rankwise.checks.text_categories import (
    DECIMAL_COMMAS,
    NUMBERS_AS_TEXT,
    SAMPLE_ROWS,
    UNITS,
    encode_texts,
    kind_of_text,
    share_codes_inplace,
)
from rankwise.runtime.frames import (
    MOSTLY_NUMBERS,
    TIMES,
    FrameColumns,
    check_one_type,
    convert_to_array,
    convert_to_values,
    first_merged,
    is_missing,
    kind_of,
    numbers_of,
    text_array,
)
from rankwise.runtime.messages import LISTS, callers_level, did_you_mean, setting
from rankwise.typing import Float64Array

# Two of these in one table of features are refused as ambiguous; elsewhere, the first one counts.
QUERY_NAMES = ("qid", "query_id", "q_id", "query-id", "queryid", "query", "q")
DOCUMENT_NAMES = (
    "doc_id", "docno", "docid", "corpus-id", "corpus_id", "doc-id", "document_id", "document-id",
)  # fmt: skip
LABEL_NAMES = (
    "relevance", "label", "grade", "rel", "rating", "judgement", "judgment", "y", "target",
)  # fmt: skip
WEIGHT_NAMES = ("sample_weight",)
SCORE_NAMES = ("score",)

# Names that may also be those of texts or features: they count if none of the names above is there.
QUERY_LAST = ("topic",)
DOCUMENT_LAST = (
    "pid", "doc", "document", "product_id", "product-id", "item_id", "item-id", "sku", "asin",
)  # fmt: skip

# Columns with these names are ids, no features, if they have no other role.
ID_NAMES = (
    "id", "_id", "uuid", "guid", "uid", "rowid", "row_id", "row-id", "row_number", "record_id",
    *(name for name in (*DOCUMENT_NAMES, *DOCUMENT_LAST) if name not in ("doc", "document")),
)  # fmt: skip

# In files of judgements and runs, which have no other columns. BEIR calls its grades score.
ALL_QUERY_NAMES = (*QUERY_NAMES, *QUERY_LAST)
ALL_DOCUMENT_NAMES = (*DOCUMENT_NAMES, *DOCUMENT_LAST)
GRADE_NAMES = (*LABEL_NAMES, *SCORE_NAMES)
# Beside a score, they tell a run from judgements.
RUN_ONLY_NAMES = ("rank", "q0", "tag", "run_id", "run-id", "run_name")

# In tables of preferences between two items, and of orders of several.
FIRST_ITEM_NAMES = (
    "item_a", "model_a", "system_a", "player_a", "team_a", "a", "item1", "model1", "player1",
    "team1", "item_1", "model_1", "player_1", "team_1", "first", "left", "home", "home_team",
)  # fmt: skip
SECOND_ITEM_NAMES = (
    "item_b", "model_b", "system_b", "player_b", "team_b", "b", "item2", "model2", "player2",
    "team2", "item_2", "model_2", "player_2", "team_2", "second", "right", "away", "away_team",
)  # fmt: skip
PREFERENCE_WEIGHT_NAMES = (*WEIGHT_NAMES, "weight")
WINNER_NAMES = ("winner", "preferred", "preference", "outcome", "result")
ORDER_NAMES = ("order", "order_id", "ranking", "ballot", "race", "list")
ITEM_NAMES = ("item", "model", "system", "player", "team", "candidate")
PLACE_NAMES = ("rank", "place", "position")

# In files of texts, where "query" and "document" are texts, and where BEIR's ids are "_id".
TEXT_QUERY_IDS = (
    *(name for name in QUERY_NAMES if name not in ("query", "q")),
    "_id",
    "id",
)
TEXT_DOCUMENT_IDS = (*DOCUMENT_NAMES, "pid", "_id", "id")


MOST_LISTED = 12
TIMES_FIX = "Replace them by numbers, such as days since a fixed day."
_UNITS_FIX = "Write plain numbers with a decimal point, without units and marks for thousands"
_COMMAS_FIX = (
    "Write decimal points: pandas.read_csv(…, decimal=',') reads the commas, and to_csv writes "
    "points."
)
# What columns hold that may be categories.
TEXTS = ("text", "categories")
# Why columns are no features, in RankingData.left_out, beside what they hold.
IGNORED, IDS, FREE_TEXT = "ignored", "ids", "text that hardly repeats"
_INDEX, _ROW_NUMBERS, _UNNAMED = "an index of pandas", "row numbers", "not named as a feature"
# Names that pandas makes up, for an index that was written as a column, in CSV without a name.
_PANDAS_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
_BLANKS = re.compile(r"\s")

# Name of a column; None: the usual name; False: no such column.
Role = str | Literal[False] | None
# Name of each column, and the type of its values if they are not numbers.
Kinds = Mapping[str, str | None]
# Columns of text that are categories; True: those whose values repeat.
CategoryRole = bool | Sequence[str]


class IgnoredColumnsWarning(UserWarning):
    """Warning that columns of a table are not used as features, or perhaps should not be."""


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
    ignore: Sequence[str] = ()

    @property
    def chooses_texts(self) -> bool:
        """Whether columns of text are features if their values repeat, not because of a name."""
        return self.features is None and self.categories is True


class ColumnSource(Protocol):
    """Table whose columns come into memory when they are asked for."""

    columns: list[str]

    def __len__(self) -> int: ...

    def get_column(self, name: str) -> nw.Series[Any]: ...


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
    def join(cls, parts: Sequence[TableRows], X: NDArray[Any]) -> TableRows:
        """Rows of several files, one after the other, whose features are parts of ``X``."""
        if len(parts) == 1:
            return parts[0]
        if parts[0].qid is not None and len({part.qid.dtype.kind for part in parts}) > 1:  # type: ignore[union-attr]
            # Signed and unsigned integers together would become floats; ids keep their values.
            parts = [part._replace(qid=part.qid.astype(object)) for part in parts]  # type: ignore[union-attr]
        categories = share_codes_inplace([(part.X, part.categories) for part in parts])
        _, *columns, scores, _ = zip(*parts, strict=True)
        joined: Any = [None if c[0] is None else np.concatenate(c) for c in columns]
        named = {name: np.concatenate([part[name] for part in scores]) for name in scores[0]}
        return cls._make([X, *joined, named, categories])


@dataclass(frozen=True)
class Columns:
    """Columns of a table by role; None if there is no such column.

    ``flags`` are features written as true and false in a text file. ``may_miss_labels``: whether
    missing labels are NaN instead of an error. ``categories`` are features that hold text, which
    become codes; ``declared`` those whose dtype is one of categories. ``left_out``: columns that
    are no features, and why.
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
    left_out: Mapping[str, str] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()

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
        ignore: Sequence[str] = (),
        *,
        sample: Callable[[str], Iterable[Any]] | None = None,
    ) -> Columns:
        """Assign columns by name; None: the usual name; False: no such column.

        ``categories``: columns that are categories, and features unless ``features`` leaves them
        out; True: features that hold text. ``ignore``: columns that are neither features nor found
        by a usual name; those of labels and queries are refused. ``sample``: values of a column, by
        which warnings say whether text is dates or numbers to people. A column that is missing or
        has an ambiguous role raises ValueError. IgnoredColumnsWarning: ``features`` is None and
        columns without numbers, or an index of pandas, are left out.
        """
        columns = list(kinds)
        _check_columns("score_columns", score_columns, columns)
        _check_columns("ignore", ignore, columns)
        named = () if isinstance(categories, bool) else categories
        # A feature of a usual name, such as product_id, is not the id of the documents, too.
        chosen = [name for name in (*(features or ()), *named) if name.lower() in DOCUMENT_LAST]
        no_ids = (*ignore, *chosen) if doc_id is None else ignore
        usual = {"label": LABEL_NAMES, "qid": (*QUERY_NAMES, *QUERY_LAST)}
        if label is None and qid is None:
            known = {name.lower() for name in columns}
            if known.isdisjoint((*usual["label"], *usual["qid"])):
                names = "; ".join(f"{what}: {', '.join(n)}" for what, n in usual.items())
                raise ValueError(
                    f"label and qid need columns, but none has a usual name ({names}); there are "
                    f"{list_names(columns)}. Pass {setting('label')} and {setting('qid')}"
                    f"{_suggest_one_query()}."
                )
        roles = (
            _choose("label", label, LABEL_NAMES, columns, (), ignore, features or ()),
            _choose("qid", qid, QUERY_NAMES, columns, QUERY_LAST, ignore, features or ()),
            _choose_if_there("doc_id", doc_id, DOCUMENT_NAMES, columns, DOCUMENT_LAST, no_ids),
            _choose_if_there("sample_weight", sample_weight, WEIGHT_NAMES, columns, (), ignore),
        )
        _check_role_of_label(roles)
        for name in named:
            if (kind := kinds.get(name) or "") in TIMES:
                raise ValueError(
                    f"column {name!r} holds {kind}, which are no categories. Replace it by a "
                    f"number, such as {TIMES[kind]}."
                )
        left_out = dict.fromkeys(ignore, IGNORED)
        twice = [name for name in ignore if name in (*(features or ()), *named)]
        if twice:
            raise ValueError(
                f"column {twice[0]!r} is to be ignored and to be a feature. Name it once: drop it "
                f"from {setting('ignore')}, or from {setting('features')}."
            )
        if features is None:
            left = [name for name in columns if name not in (*roles, *ignore)]
            queries = [name for name in left if qid is False and name.lower() in QUERY_NAMES]
            if queries:
                raise ValueError(
                    f"all rows are to be one query, but column {queries[0]!r} would become a "
                    f"feature. Pass {setting('qid', queries[0])}, or "
                    f"{setting('ignore', [queries[0]])}."
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
            used = {*named, *score_columns}
            ids = [name for name in kept if name.lower() in ID_NAMES and name not in used]
            _warn_of_ids(ids, roles[2] is None and doc_id is None)
            kept = {name: kind for name, kind in kept.items() if name not in ids}
            left_out |= dict.fromkeys(index, _INDEX) | dict.fromkeys(ids, IDS)
            if sample is not None and categories is not True:
                for name in [name for name, kind in kept.items() if kind in TEXTS]:
                    texts = (v for v in sample(name) if isinstance(v, str) and v.strip())
                    found = kind_of_text(Counter(texts))
                    kept[name] = kept[name] if found == "text" else found
            features, others = choose_features(kept, with_text=categories is True)
            left_out |= others
        elsewhere = {name for name in score_columns if name not in features}
        left_out = dict.fromkeys(sorted(elsewhere), _UNNAMED) | left_out
        _check_columns("features", features, columns)
        may_miss = unjudged is not None and check_unjudged(unjudged) is None
        if isinstance(categories, bool):
            texts = [name for name in features if kinds[name] in TEXTS]
            categories = texts if categories else ()
        _check_columns("categories", categories, columns)
        return cls(
            *roles, list(features), tuple(score_columns), may_miss_labels=may_miss,
            categories=frozenset(categories) & {*features}, left_out=left_out,
            declared=frozenset(name for name in features if kinds[name] == "categories"),
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
        ignore: Sequence[str] = (),
        fitted: bool = False,
        sample: Callable[[str], Iterable[Any]] | None = None,
    ) -> Columns:
        """Columns of rows to score; the query is optional, and labels and weights are not read.

        ``fitted``: whether the features are those of a fitted model; only used in messages.
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
        found = _choose_if_there("qid", qid, QUERY_NAMES, columns, QUERY_LAST, ignore)
        return cls.of(
            kinds, False, found or False, doc_id, False, features, categories=categories,
            ignore=ignore, sample=sample,
        )  # fmt: skip

    def names(self) -> list[str]:
        """Columns to read, each once."""
        roles = (self.label, self.qid, self.doc_id, self.sample_weight)
        named = (name for name in roles if name is not None)
        return list(dict.fromkeys([*self.features, *self.score_columns, *named]))

    def allocate(self, n_rows: int, dtype: DTypeLike) -> NDArray[Any]:
        """Array for the features of some rows."""
        if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype).name}.")
        return np.empty((n_rows, len(self.features)), dtype=dtype)

    def read(
        self,
        table: nw.DataFrame[Any] | ColumnSource,
        dtype: DTypeLike,
        X: NDArray[Any] | None = None,
        large: LargeNumbers | None = None,
    ) -> TableRows:
        """Read the values of the columns; ValueError is raised if they are of the wrong kind.

        ``X`` (n_rows, n_features) receives the features; None: a new array. ``large`` collects
        numbers of parts of a table for :func:`warn_of_merged`; None: the rows are the table.
        """
        original = dict(zip(map(str, table.columns), table.columns, strict=True))

        def column(named: str) -> nw.Series[Any]:
            return table.get_column(original[named])

        X = self.allocate(len(table), dtype) if X is None else X
        categories, found = {}, {} if large is None else large
        for j, feature in enumerate(self.features):
            if feature in self.categories:
                X[:, j], categories[j] = encode_texts(column(feature))
                continue
            values = read_numbers("features", feature, column(feature))
            with np.errstate(over="ignore"):  # checked below
                X[:, j] = values
            check_fits(feature, values, X[:, j], found)
        if large is None:
            warn_of_merged(found, dtype)
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

    def without_unusable(self, rows: TableRows, roles: Roles) -> tuple[Columns, TableRows]:
        """The columns and rows without those that their values rule out as features; it warns.

        Only features that nobody named are looked at: text that is dates or numbers with units, or
        hardly repeats, and numbers of the rows. Text files, Parquet files and frames of the same
        rows thus have the same features.
        """
        if roles.features is not None:
            return self, rows
        left: dict[str, str] = {}
        if roles.chooses_texts:
            for j, known in rows.categories.items():
                codes = rows.X[:, j]
                filled = codes[~np.isnan(codes)].astype(np.int64)
                counts = np.bincount(filled, minlength=len(known)).tolist()
                kind = kind_of_text(dict(zip(known.tolist(), counts, strict=True)))
                is_declared = self.features[j] in self.declared
                if kind == "text" and not is_declared and hardly_repeats(known, len(filled)):
                    kind = IDS if _resemble_document_ids(codes, known, rows.qid) else FREE_TEXT
                if kind != "text":
                    left[self.features[j]] = kind
        kinds = {name: kind for name, kind in left.items() if kind not in (FREE_TEXT, IDS)}
        _warn_of_kinds(kinds, with_text=True)
        ids = [name for name, kind in left.items() if kind == IDS]
        if ids:
            named = setting("doc_id", ids[0]) if self.doc_id is None else setting("ignore", ids)
            warnings.warn(
                "columns of text whose values differ within queries, as ids of documents do, are "
                f"not used as features: {list_names(ids)}. If they are ids, pass {named}.",
                IgnoredColumnsWarning,
                stacklevel=callers_level(),
            )
        free = [name for name, kind in left.items() if kind == FREE_TEXT]
        listed = self.features if len(self.features) <= MOST_LISTED else ...
        fix = f"Name the columns to use them as categories: {setting('features', listed)}."
        warn_of_free_text(free, fix)
        left |= dict.fromkeys(self._row_numbers(rows), _ROW_NUMBERS)
        if not left:
            return self, rows
        kept = [j for j, name in enumerate(self.features) if name not in left]
        categories = {kept.index(j): known for j, known in rows.categories.items() if j in kept}
        columns = replace(
            self,
            features=[self.features[j] for j in kept],
            categories=self.categories - {*left},
            left_out={**self.left_out, **left},
        )
        return columns, rows._replace(X=_keep_columns(rows.X, kept), categories=categories)

    def _row_numbers(self, rows: TableRows) -> list[str]:
        """Features that number the rows of several queries; warns of them, and of likely ids."""
        if not len(rows.X) or rows.qid is None or (rows.qid == rows.qid[0]).all():
            return []
        numbers, ids, named = [], [], []
        for j, name in enumerate(self.features):
            values = rows.X[:, j]
            if j in rows.categories or name in self.score_columns:
                continue
            if resemble_ids(values):
                (numbers if (np.abs(np.diff(values)) == 1).all() else ids).append(name)
            elif names_ids(name, values[:1000]):
                named.append(name)
        if numbers:
            warnings.warn(
                f"columns that number the rows are not used as features: {list_names(numbers)}. "
                f"Name the columns to use them: {setting('features')}.",
                IgnoredColumnsWarning,
                stacklevel=callers_level(),
            )
        for names, why in (
            (ids, "hold another whole number in every row, as ids do"),
            (named, "hold whole numbers and have names of ids, whose order means nothing"),
        ):
            if names:
                warnings.warn(
                    f"columns {why}, and are used as features: {list_names(names)}. Leave them out "
                    f"if they are ids: {setting('ignore', names)}.",
                    IgnoredColumnsWarning,
                    stacklevel=callers_level(),
                )
        return numbers

    def _labels(self, name: str, column: nw.Series[Any]) -> Float64Array:
        """Labels, NaN where one may be missing."""
        if not self.may_miss_labels:
            return read_finite("label", name, column)
        values = read_exact("label", name, column)
        if np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise RowError(f"label must be finite, column {name!r} has {values[row]}", row, ".")
        return values


def hardly_repeats(categories: Collection[Any], n_filled: int) -> bool:
    """Whether text is no categories: its values are in fewer than two rows on average."""
    return 2 * sum(value != "" for value in categories) > n_filled


def warn_of_free_text(names: Sequence[str], fix: str) -> None:
    """Warn of columns of text that hardly repeats, if there are any."""
    if names:
        warnings.warn(
            "columns of text whose values hardly repeat are not used as features: "
            f"{list_names(names)}. {fix}",
            IgnoredColumnsWarning,
            stacklevel=callers_level(),
        )


def _resemble_document_ids(
    codes: NDArray[Any], known: NDArray[Any], qid: NDArray[Any] | None
) -> bool:
    """Whether text is words without blanks, in every row, that differ within queries.

    A few documents that come twice in a query, which ``lint`` reports, change nothing.
    """
    if qid is None or np.isnan(codes).any() or any(map(_BLANKS.search, known.tolist())):
        return False
    pairs = np.unique(np.column_stack([np.unique(qid, return_inverse=True)[1], codes]), axis=0)
    return len(pairs) >= 0.95 * len(codes)


KEPT_ROWS = 4096  # moved at a time


def _keep_columns(X: NDArray[Any], kept: list[int]) -> NDArray[Any]:
    """Some columns of X, moved to the front of its memory: a copy would need as much again."""
    flat, width = X.reshape(-1), len(kept)
    for start in range(0, len(X), KEPT_ROWS):
        block = X[start : start + KEPT_ROWS, kept]
        flat[start * width : start * width + block.size] = block.ravel()
    return flat[: len(X) * width].reshape(len(X), width)


def read_frame(frame: Any, roles: Roles, dtype: DTypeLike) -> tuple[Columns, TableRows]:
    """Columns of a frame of any library supported by narwhals, and their values.

    TypeError is raised for anything else, and ValueError for a column that is missing, has an
    ambiguous role or holds values of the wrong kind.
    """
    source = FrameColumns.of(frame)
    if source.frame is None:
        raise TypeError(
            f"frame must be a data frame, got {type(frame).__name__}. Pass arrays to RankingData."
        )
    columns = Columns.of(
        source.kinds, *roles, sample=lambda name: source.first_values(name, SAMPLE_ROWS)
    )
    table = source.frame
    if isinstance(table, nw.LazyFrame):
        table = table.select(columns.names()).collect()
    return columns.without_unusable(columns.read(table, dtype), roles)


def is_frame(data: Any) -> bool:
    """Whether ``data`` is a frame of narwhals or of a library that it supports."""
    return FrameColumns.of(data).frame is not None


def choose_features(kinds: Kinds, *, with_text: bool = False) -> tuple[list[str], dict[str, str]]:
    """Columns that hold numbers and, with ``with_text``, text; and what the others hold.

    A warning names the others. A column that holds numbers with few exceptions raises ValueError.
    """
    texts = TEXTS if with_text else ()
    chosen_names = [name for name, kind in kinds.items() if kind is None or kind in texts]
    chosen = setting("features", chosen_names if len(chosen_names) <= MOST_LISTED else ...)
    left = {name: kind for name, kind in kinds.items() if not (kind is None or kind in texts)}
    for name, kind in left.items():
        if kind.startswith(MOSTLY_NUMBERS) or ", but numbers in " in kind:
            raise ValueError(
                f"column {name!r} holds {kind}. Correct it, or leave the column out: "
                f"{setting('ignore', [name])}, or {chosen}."
            )
    _warn_of_kinds(left, with_text)
    return chosen_names, left


def _warn_of_kinds(kinds: Mapping[str, str], with_text: bool) -> None:
    """Warn about columns that are left out for what they hold, with a fix for each kind."""
    units = _UNITS_FIX + ", or name the columns to use them as categories" * with_text
    by_kind = _FIXES | dict.fromkeys((UNITS, NUMBERS_AS_TEXT), f"{units}.")
    fixes: dict[str | None, dict[str, str]] = {}
    for name, kind in kinds.items():
        what = kind.partition(",")[0]
        fix = by_kind.get(what)
        fixes.setdefault(fix, {})[name] = kind
    for fix, found in fixes.items():
        warn_of_ignored(found, fix)


_FIXES = {
    **dict.fromkeys(TIMES, TIMES_FIX),
    DECIMAL_COMMAS: _COMMAS_FIX,
}


def _warn_of_ids(names: Sequence[str], may_be_documents: bool) -> None:
    if not names:
        return
    document = f"{setting('doc_id', names[0])} for the documents' ids, or " * may_be_documents
    warnings.warn(
        f"columns with names of ids are not used as features: {list_names(names)}. Pass {document}"
        f"{setting('features')} to use them.",
        IgnoredColumnsWarning,
        stacklevel=callers_level(),
    )


def warn_of_ignored(kinds: Mapping[str, str], fix: str | None = None) -> None:
    """Warn about columns without numbers that are left out, if there are any.

    ``fix`` says how to use them; None: with the setting of a table's columns.
    """
    if kinds:
        shown = list_names([f"{name} ({kind})" for name, kind in kinds.items()], quote=str)
        fix = fix or (
            "Encode them as numbers to use them, or leave them out: "
            f"{setting('ignore', [*kinds] if len(kinds) <= MOST_LISTED else ...)}."
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
        torn = [n for n in columns if "," in n and {*map(str.strip, n.split(","))} <= {*missing}]
        hint = did_you_mean(str(missing[0]), columns, "")
        hint = f"Pass {setting(what, torn)}." if torn and what in LISTS else hint
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(
            f"{what} must be columns, but {list_names(missing)} {verb} not; there are "
            f"{list_names(columns)}.{' ' * bool(hint)}{hint}"
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


def _suggest_one_query() -> str:
    """How to treat all rows as one query, if the user's command can."""
    fix = setting("qid", False)
    return f", or {fix} if all rows are one query" if fix else ""


def _choose(
    what: str,
    named: Role,
    usual: tuple[str, ...],
    columns: list[str],
    last: tuple[str, ...] = (),
    ignore: Sequence[str] = (),
    features: Sequence[str] = (),
) -> str | None:
    found = _choose_if_there(what, named, usual, columns, last, ignore, features)
    if found is not None and found in ignore:
        raise ValueError(
            f"column {found!r} is to be ignored, but it is that of {what}. Drop it from "
            f"{setting('ignore')}, or pass {setting(what)}."
        )
    if found is None and named is not False:
        one_query = _suggest_one_query() if what == "qid" else ""
        raise ValueError(
            f"{what} needs a column, but none is called {', '.join((*usual, *last))}; there are "
            f"{list_names(columns)}. Pass {setting(what)}{one_query}."
        )
    return found


def _choose_if_there(
    what: str,
    named: Role,
    usual: tuple[str, ...],
    columns: list[str],
    last: tuple[str, ...] = (),
    ignore: Sequence[str] = (),
    features: Sequence[str] = (),
) -> str | None:
    if named is False:
        return None
    if named is not None:
        if named in ignore:
            raise ValueError(
                f"column {named!r} is to be ignored, but it is that of {what}. Drop it from "
                f"{setting('ignore')}."
            )
        if named not in columns:
            hint = did_you_mean(str(named), map(str, columns), "")
            raise ValueError(
                f"{setting(what, named)} is not a column; there are {list_names(columns)}."
                f"{' ' * bool(hint)}{hint}"
            )
        return named
    found = [column for column in columns if column.lower() in usual]
    found = found or [column for column in columns if column.lower() in last]
    # A column that may have a role without being needed, and that is ignored, has none.
    if what in ("doc_id", "sample_weight") or len(found) > 1:
        found = [name for name in found if name not in ignore]
    if len(found) > 1:  # those that are features are hardly meant
        found = [name for name in found if name not in features] or found
    if len(found) > 1:
        raise ValueError(
            f"{what} could be any of the columns {list_names(found)}. Pass {setting(what)}, and "
            f"{setting('ignore', found[1:])} if the others are not features."
        )
    return found[0] if found else None


def label_fix() -> str:
    """What to do about labels that are not numbers."""
    return (
        "Write the grades as numbers in rank order, such as 0 for the lowest, or name a column of "
        f"numbers: {setting('label')}."
    )


def read_numbers(what: str, name: str, column: nw.Series[Any]) -> Float64Array:
    """One number per row; NaN if it is missing."""
    kind = kind_of(column)
    if kind is None:
        return numbers_of(column)
    if kind == "categories":
        categories = convert_to_values(column.to_native())
        if categories.dtype.kind in "biuf":
            return categories.astype(np.float64)
    fix = f"Encode it as numbers, or leave it out of {setting('features')}."
    if what == "label":
        fix = label_fix()
    if what == "scores":
        fix = "Name a column of numbers."
    if kind in TIMES:
        fix = f"Replace it by a number, such as {TIMES[kind]}."
    raise ValueError(f"{what} must hold numbers, column {name!r} holds {kind}. {fix}")


# By column: whole numbers of its parts that may become equal to others.
LargeNumbers = dict[str, list[Float64Array]]


def check_fits(name: str, values: Float64Array, stored: NDArray[Any], large: LargeNumbers) -> None:
    """Raise ValueError if a finite number has become infinite; collect large whole numbers."""
    if values.dtype == stored.dtype:
        return
    lost = np.isinf(stored) & ~np.isinf(values)
    if lost.any():
        row = int(lost.argmax())
        raise RowError(
            f"features must fit {stored.dtype}, column {name!r} has {values[row]:g}",
            row,
            ". Scale the column, or read it in Python with dtype=np.float64.",
        )
    found = values[np.abs(values) >= first_merged(stored.dtype)]
    if len(found):
        large.setdefault(name, []).append(np.unique(found[np.floor(found) == found]))


def warn_of_merged(large: LargeNumbers, dtype: DTypeLike) -> None:
    """Warn of whole numbers that become equal."""
    for name, parts in large.items():
        whole = np.unique(np.concatenate(parts))
        stored = whole.astype(dtype)
        if len(np.unique(stored)) < len(whole):
            warnings.warn(
                f"column {name!r} holds whole numbers that {stored.dtype} makes equal, such as "
                f"{whole[int((stored != whole).argmax())]:.0f}. Subtract a common offset, or read "
                "it in Python with dtype=np.float64.",
                UserWarning,
                stacklevel=callers_level(),
            )


def read_finite(what: str, name: str, column: nw.Series[Any]) -> Float64Array:
    """One finite number per row, exact in float64; weights are >= 0."""
    values = read_exact(what, name, column)
    bad = ~np.isfinite(values)
    if bad.any():
        row, fix = int(bad.argmax()), ". Drop or fill such rows."
        if what == "label":
            fix += (
                " Comparisons and evaluations also take rows without a judgement: "
                f"{setting('unjudged', 'missing')}."
            )
        raise RowError(f"{what} must be finite, column {name!r} has {values[row]}", row, fix)
    if what == "sample_weight" and (values < 0).any():
        row = int((values < 0).argmax())
        raise RowError(
            f"{what} must be >= 0, column {name!r} has {values[row]}",
            row,
            ". Use 0 to leave a row out.",
        )
    return values


def read_exact(what: str, name: str, column: nw.Series[Any]) -> Float64Array:
    """One number per row, NaN if it is missing; float64 must keep whole numbers."""
    values = read_numbers(what, name, column).astype(np.float64, copy=False)
    rows = np.flatnonzero(np.abs(values) >= LARGEST_EXACT)
    if len(rows) and not column.dtype.is_float():
        # Without the missing ones, with which Arrow would convert integers to floats.
        large = convert_to_array(column[rows.tolist()].to_native())
        exact_float64(large, f"{what} in column {name!r}", lambda at: f"row {rows[at]}")
    return values


def read_document_ids(name: str, column: nw.Series[Any]) -> NDArray[Any]:
    """Ids as text."""
    found = read_present_ids("doc_id", name, column)
    ids = list(found) if found.dtype.kind in "mM" else found.tolist()  # not as numbers
    odd = next((row for row, value in enumerate(ids) if isinstance(value, bytes)), None)
    if odd is not None:
        raise RowError(
            f"doc_id must hold text or numbers, column {name!r} has {ids[odd]!r}",
            odd,
            ". Decode the bytes.",
        )
    return text_array(id_texts(ids, f"doc_id (column {name!r})"))


def read_present_ids(what: str, name: str, column: nw.Series[Any]) -> NDArray[Any]:
    """Ids of all rows, none of them missing; whole floats and decimals are integers.

    Libraries store integers as floats once a column has had missing values, and databases as
    decimals.
    """
    ids = convert_to_array(column.to_native())
    missing = np.zeros(len(ids), dtype=bool)
    if ids.dtype.kind in "fmM":
        missing = np.isnan(ids)
    elif ids.dtype.kind in "OU":
        listed = ids.tolist()
        missing[:] = [is_missing(value) or value == "" for value in listed]
    if missing.any():
        row = int(missing.argmax())
        fix = ". Drop such rows"
        if what != "qid":
            fix += f", or name the column in {setting('features')} if it holds no ids of documents"
        raise RowError(f"{what} must not be missing, column {name!r} is empty", row, f"{fix}.")
    if ids.dtype.kind in "OU":
        texts = [value for value in ids.tolist() if isinstance(value, str)]
        warn_of_missing_words(texts, f"column {name!r}")
    if ids.dtype.kind == "O":
        check_one_type(ids, map(str, ids), f"{what} (column {name!r})", "row {}".format)
    numbers = convert_to_values(ids)
    limit = first_merged(ids.dtype)
    beyond = numbers.dtype.kind == "f" and (np.isfinite(numbers) & (np.abs(numbers) >= limit))
    if ids.dtype.kind == "f" and np.any(beyond):
        row = int(np.argmax(beyond))
        raise RowError(
            f"{what} must be text or whole numbers that {ids.dtype} holds exactly, column {name!r} "
            f"has {ids[row]:.17g}",
            row,
            ". Read the column as text or integers.",
        )
    if numbers.dtype.kind != "f" or not (np.abs(numbers) < limit).all():
        return ids
    return numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else ids


# seller_id, seller id, sellerId, but not paid.
_ID_NAME = re.compile(r"(?:^|[_\W])(?i:id)$|[a-z](?:Id|ID)$")


def names_ids(name: str, values: NDArray[Any]) -> bool:
    """Whether a column of whole numbers has a name as of ids, which may recur."""
    known = values[~np.isnan(values)]
    return _ID_NAME.search(name) is not None and bool((np.floor(known) == known).all())


def resemble_ids(values: NDArray[Any]) -> bool:
    """Whether numbers are whole and differ in all rows, though they should repeat by chance.

    As many numbers drawn from the same range would repeat ten times or more on average; so prices
    in cents that all differ are no ids, and fewer than 20 rows have none.
    """
    n, first = len(values), values[:1000]  # settles most columns without reading all rows
    if n < 20 or (np.floor(first) != first).any() or len(np.unique(first)) < len(first):
        return False
    reach = float(values.max()) - float(values.min()) + 1.0
    if not n <= reach <= max(n, n * (n - 1) / 20) or (np.floor(values) != values).any():
        return False
    return len(np.unique(values)) == n
