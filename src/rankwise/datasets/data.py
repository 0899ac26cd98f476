"""Judged data in memory: a table with its queries, and folds of training, validation and test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from rankwise.checks.exact_values import check_unjudged
from rankwise.checks.text_categories import check_codes, join_coded
from rankwise.groups import QueryGroups
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import convert_to_array, convert_to_values
from rankwise.runtime.messages import did_you_mean, escape_hidden, setting
from rankwise.runtime.result import NotebookTable
from rankwise.typing import Float64Array, Matrix, is_sparse, join_rows

# Number of folds that a repr names; an ellipsis stands for the rest.
MOST_NAMES = 5
_FEATURES_SHOWN = 8


@names_its_class
@dataclass(frozen=True, eq=False)
class RankingData(NotebookTable):
    """Rows with labels and queries.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), float64
        Relevance grades or real-valued targets; larger is better.
    qid : ndarray of shape (n_samples,)
        Query id of every row.
    doc_ids : ndarray of shape (n_samples,) of str, or None
    feature_names : list of str, or None
    comments : ndarray of shape (n_samples,) of str, or None
        Text after ``#`` in the file.
    sample_weight : ndarray of shape (n_samples,), or None
        Not negative.
    name : str
        Name for tables and reports.
    first_feature : int
        Number of the first column, from which reports number unnamed columns: 1 for LETOR text that
        counts from 1, else 0.
    score_columns : dict of str to ndarray of shape (n_samples,), or None
        Scores of existing systems by name. They are not features; pass "column:NAME" to compare
        them.
    missed : RankingData or None
        Judged documents of these queries that are not rows, such as documents that a search did not
        retrieve; its X has no columns. Measures that read a ranking from its top count them as
        never found (:func:`rankwise.compare`).
    judged : ndarray of shape (n_samples,), bool, or None
        False for rows without a judgement, whose ``y`` becomes NaN. They are ranked and count as
        not relevant where scores are evaluated, and are left out where rankers are fitted
        (:func:`rankwise.compare`). None: every row is judged.
    categories : dict of int to ndarray, or None
        Categories of columns of text, by column. The column of X holds their places in this list,
        NaN for missing ones. Estimators that take categories get a frame with the text; the others
        get X without these columns (:func:`rankwise.compare`).
    left_out : dict of str to str
        Columns of the table that are not features, and why: "ignored", or what they hold.
    """

    _most_rows = 10
    _rest = ""

    X: Matrix
    y: Float64Array
    _: KW_ONLY
    qid: np.ndarray[Any, Any]
    doc_ids: np.ndarray[Any, Any] | None = None
    feature_names: list[str] | None = None
    comments: np.ndarray[Any, Any] | None = None
    sample_weight: Float64Array | None = None
    name: str = ""
    first_feature: int = 0
    score_columns: dict[str, Float64Array] | None = None
    missed: RankingData | None = None
    judged: np.ndarray[Any, Any] | None = None
    categories: dict[int, np.ndarray[Any, Any]] | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = getattr(self.X, "shape", None)
        if hasattr(self.X, "columns"):
            raise TypeError(
                f"X must be a matrix of one row per document, got a {type(self.X).__name__} with "
                "named columns. Pass the whole table to RankingData.from_frame, or X.to_numpy()."
            )
        if shape is None or len(shape) != 2:
            found = type(self.X).__name__ if shape is None else f"an array of shape {shape}"
            raise TypeError(
                f"X must be a matrix of one row per document, got {found}. Pass numpy.asarray(X), "
                "or a table to RankingData.from_frame."
            )
        self._read_columns()
        if self.categories:
            check_codes(self.X, self.feature_names, self.categories)
        if self.judged is not None:
            self._blank_unjudged(np.asarray(self.judged))
        if self.sample_weight is not None:
            negative = np.asarray(self.sample_weight) < 0
            if negative.any():
                row = int(negative.argmax())
                raise ValueError(
                    f"sample_weight must be >= 0, got {self.sample_weight[row]} at row {row}. "
                    "Use 0 to leave a row out."
                )
        if self.missed is not None and not (has_rows := np.isin(self.missed.qid, self.qid)).all():
            raise ValueError(
                f"missed must hold documents of queries that have rows, got query "
                f"{str(self.missed.qid[int(np.argmin(has_rows))])!r}. Leave out its documents."
            )

    def _blank_unjudged(self, judged: np.ndarray[Any, Any]) -> None:
        """Replace the labels of unjudged rows by NaN, so that nothing takes them for grades."""
        if judged.dtype != bool:
            raise ValueError(
                f"judged must hold truth values, got dtype {judged.dtype}. Pass for example y >= 0."
            )
        y = np.where(judged, self.y, np.nan)
        object.__setattr__(self, "judged", judged)
        object.__setattr__(self, "y", y)

    def _read_columns(self) -> None:
        """Check the columns, and replace those of other libraries by arrays.

        A column of pandas is read by labels, not by row numbers, as soon as rows are selected.
        """
        columns = {
            what: _read_column(what, getattr(self, what), self.n_samples)
            for what in ("y", "qid", "doc_ids", "comments", "sample_weight", "judged")
        }
        if self.score_columns is not None:
            columns["score_columns"] = {
                name: _read_column(f"score_columns[{name!r}]", column, self.n_samples)
                for name, column in self.score_columns.items()
            }
        for what, column in columns.items():
            if column is not getattr(self, what):
                object.__setattr__(self, what, column)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str | None = None,
        qid: str | Literal[False] | None = None,
        doc_id: str | Literal[False] | None = None,
        sample_weight: str | Literal[False] | None = None,
        features: Sequence[str] | None = None,
        score_columns: Sequence[str] = (),
        unjudged: float | Literal["missing"] | None = None,
        categories: bool | Sequence[str] = False,
        ignore: Sequence[str] = (),
        dtype: DTypeLike = np.float32,
        name: str = "",
    ) -> RankingData:
        """Make judged rows from a pandas or polars frame, a pyarrow table, or a lazy frame.

        Parameters
        ----------
        frame : frame
            Frame with one row per document, in any order. A lazy frame is collected, with the
            required columns only.
        label : str, optional
            Column of grades or targets; larger is better. Default: the column called relevance,
            label, grade, rel, rating, judgement, judgment, y or target, in any case.
        qid : str or False, optional
            Column of query ids of any type (default: qid, query_id, q_id, query-id, queryid, query,
            q or, without these, topic). False: all rows are one query.
        doc_id, sample_weight : str or False, optional
            Columns of document ids and weights (default, if present: doc_id, docno, docid,
            corpus-id, document_id, with a hyphen or an underscore, or, without these, pid, doc,
            document, product_id, item_id, sku or asin; and sample_weight). False: no such column.
        features : sequence of str, optional
            Columns of X, in this order (default: all remaining columns of numbers, without those
            with a name of ids, such as id, and those that number the rows of several queries from
            the first to the last).
        score_columns : sequence of str
            Columns with scores of existing systems. They are features too, unless ``ignore`` names
            them or ``features`` does not.
        unjudged : number or "missing", optional
            Label of rows without a judgement, such as -1; "missing": an empty cell or NaN. See
            ``judged``. None: every row needs a label.
        categories : bool or sequence of str
            Columns of text that are features, see ``categories`` above. True: all whose values are
            in two rows or more on average and are neither dates nor numbers with units, or that
            ``features`` names. Names: these columns, of text or of numbers. False: none.
        ignore : sequence of str
            Columns that are not features. A column that has the usual name of document ids or
            weights loses that role. The columns of labels and queries cannot be ignored.
        dtype : float32 or float64
            Type of X. Missing values become NaN; numbers that exceed the type are an error.
        name : str
            Name for tables and reports.

        Returns
        -------
        RankingData

        Raises
        ------
        TypeError
            If ``frame`` is not a frame.
        ValueError
            If a column is missing, has an ambiguous role, or holds values of the wrong kind.

        Warns
        -----
        IgnoredColumnsWarning
            If columns are left out that hold no numbers (dates, text, categories, numbers with
            units) or ids, and ``features`` is not given.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"session": ["a", "a"], "clicked": [0, 1], "bm25": [0.5, 1.5]})
        >>> data = RankingData.from_frame(frame, label="clicked", qid="session")
        >>> data
        RankingData(2 rows, 1 queries, 1 features, dense float32)
        >>> data.feature_names
        ['bm25']
        """
        from rankwise.datasets.table_columns import (  # loads narwhals
            Roles,
            read_frame,
        )

        roles = Roles(
            label, qid, doc_id, sample_weight, features, tuple(score_columns), unjudged, categories,
            ignore,
        )  # fmt: skip
        columns, rows = read_frame(frame, roles, dtype)
        return cls.from_rows(rows, columns.features, name, unjudged, columns.left_out)

    @classmethod
    def from_rows(
        cls,
        rows: Any,
        feature_names: list[str],
        name: str,
        unjudged: Any = None,
        left_out: Mapping[str, str] | None = None,
    ) -> RankingData:
        """Make judged rows from the result of a table reader; without query ids, one query."""
        qid = np.zeros(len(rows.y), dtype=np.int64) if rows.qid is None else rows.qid
        data = cls(
            rows.X,
            rows.y,
            qid=qid,
            doc_ids=rows.doc_ids,
            feature_names=feature_names,
            comments=None,
            sample_weight=rows.sample_weight,
            name=name,
            score_columns=rows.score_columns or None,
            categories=rows.categories or None,
            left_out=dict(left_out or {}),
        )
        return data if unjudged is None else data.mark_unjudged(unjudged)

    def mark_unjudged(self, label: float | Literal["missing"]) -> RankingData:
        """Return the same rows, of which those with a certain label have no judgement.

        Parameters
        ----------
        label : number or "missing"
            Such as -1, which LETOR's semi-supervised sets give to rows without a judgement;
            "missing": NaN.

        Raises
        ------
        ValueError
            If ``label`` is neither, or no row has a judgement.

        Examples
        --------
        >>> data = RankingData(np.zeros((3, 1)), np.array([2.0, -1.0, 0.0]), qid=np.zeros(3))
        >>> data.mark_unjudged(-1).y
        array([ 2., nan,  0.])
        """
        unjudged = check_unjudged(label)
        judged = ~np.isnan(self.y) if unjudged is None else np.not_equal(self.y, unjudged)
        if not judged.any():
            raise ValueError(
                f"all {len(judged)} rows are unjudged. Judge some, or pass another label."
            )
        return replace(self, judged=judged)

    def only_judged(self) -> RankingData:
        """Return the rows with a judgement."""
        if self.judged is None:
            return self
        return replace(self.take(np.flatnonzero(self.judged)), judged=None)

    @property
    def grades(self) -> Float64Array:
        """Labels, 0 for rows without a judgement."""
        return self.y if self.judged is None else np.where(self.judged, self.y, 0.0)

    @cached_property
    def groups(self) -> QueryGroups:
        """Rows grouped by query."""
        return QueryGroups.from_qid(self.qid, self.n_samples)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.groups.n_queries

    def __len__(self) -> int:
        return self.n_samples

    def take(self, rows: np.ndarray[Any, Any]) -> RankingData:
        """Return the given rows, in the given order."""

        def pick(column: Any) -> Any:
            return None if column is None else column[rows]

        return RankingData(
            self.X[rows],
            self.y[rows],
            qid=self.qid[rows],
            doc_ids=pick(self.doc_ids),
            feature_names=self.feature_names,
            comments=pick(self.comments),
            sample_weight=pick(self.sample_weight),
            name=self.name,
            first_feature=self.first_feature,
            score_columns=None
            if self.score_columns is None
            else {name: column[rows] for name, column in self.score_columns.items()},
            missed=None
            if self.missed is None
            else self.missed.take(np.flatnonzero(np.isin(self.missed.qid, self.qid[rows]))),
            judged=pick(self.judged),
            categories=self.categories,
            left_out=self.left_out,
        )

    def without_features(self, names: Sequence[str]) -> RankingData:
        """Return the same rows without some features, which become ``score_columns``.

        Parameters
        ----------
        names : sequence of str
            Names of features, or numbers from 1 if features have no names. The remaining features
            are then called by their numbers.

        Raises
        ------
        ValueError
            If a feature does not exist, or none remains.

        Examples
        --------
        >>> data = RankingData(np.array([[1.0, 5.0], [2.0, 6.0]]), np.zeros(2), qid=np.zeros(2))
        >>> rest = data.without_features(["1"])
        >>> rest.feature_names, rest.left_out, rest.score_columns["1"].tolist()
        (['2'], {'1': 'ignored'}, [1.0, 2.0])
        """
        known = self.feature_names or [str(j + 1) for j in range(self.n_features)]
        unknown = [name for name in names if name not in known]
        if isinstance(names, str) or unknown:
            hint = "" if isinstance(names, str) else did_you_mean(unknown[0], known, "")
            raise ValueError(
                f"{setting('ignore', names)} must be a list of features. "
                f"{hint or f'There are {len(known)} features.'}"
            )
        kept = [j for j, name in enumerate(known) if name not in names]
        if not kept:
            raise ValueError(
                f"{setting('ignore', names)} must leave a feature, but names all. Drop one."
            )
        coded = self.categories or {}
        scores = dict(self.score_columns or {})
        for j, name in enumerate(known):
            if name in names and j not in coded:
                column = self.X[:, [j]].toarray() if is_sparse(self.X) else self.X[:, j]
                scores.setdefault(name, column.ravel().astype(np.float64))
        return replace(
            self,
            X=self.X[:, kept],
            feature_names=[known[j] for j in kept],
            score_columns=scores,
            categories={i: coded[j] for i, j in enumerate(kept) if j in coded} or None,
            left_out=self.left_out | dict.fromkeys(names, "ignored"),
        )

    def queries(self, queries: Sequence[int] | np.ndarray[Any, Any]) -> RankingData:
        """Return all rows of the given queries, numbered by first appearance."""
        return self.take(self.groups.rows(queries))

    def _heading(self) -> str:
        return repr(self)

    def _first_rows(self, n: int) -> tuple[dict[str, Any], int]:
        """First rows by column: query, document, label and the first features."""
        columns: dict[str, Any] = {"qid": self.qid, "doc_ids": self.doc_ids, "y": self.y}
        columns |= {"weight": self.sample_weight, **(self.score_columns or {})}
        shown = {name: column[:n] for name, column in columns.items() if column is not None}
        X = self.X[:n, :_FEATURES_SHOWN]
        X = X.toarray() if is_sparse(X) else X
        names = self.feature_names or [str(j + self.first_feature) for j in range(self.n_features)]
        for j, column in enumerate(X.T):
            found = (self.categories or {}).get(j)
            if found is not None:
                column = [None if np.isnan(code) else found[int(code)] for code in column]
            shown[names[j] + " (feature)" * (names[j] in shown)] = column
        if self.n_features > _FEATURES_SHOWN:
            shown["…"] = [""] * len(self.y[:n])
        return shown, self.n_samples

    def __repr__(self) -> str:
        kind = "dense" if isinstance(self.X, np.ndarray) else "CSR"
        name = f"{self.name!r}: " if self.name else ""
        n_unjudged = 0 if self.judged is None else int((~self.judged).sum())
        unjudged = f" ({n_unjudged} unjudged)" if n_unjudged else ""
        return (
            f"RankingData({name}{self.n_samples} rows{unjudged}, {self.n_queries} queries, "
            f"{self.n_features} features, {kind} {self.X.dtype})"
        )


def _read_column(what: str, column: Any, n_samples: int) -> Any:
    """A column as an array with one entry per row; None if it is left out."""
    may_miss = what not in ("y", "qid")
    if column is None and may_miss:
        return None
    if type(column) is not np.ndarray or column.dtype.kind == "O":
        is_id = what in ("qid", "doc_ids", "comments")
        column = convert_to_array(column) if is_id else convert_to_values(column)
    if column.ndim != 1 or len(column) != n_samples:
        found = str(len(column)) if column.ndim == 1 else f"shape {column.shape}"
        raise ValueError(
            f"{what} must have n_samples={n_samples} entries, got {found}. Pass one per row"
            f"{'; numpy.zeros(n_samples) where all rows are one query' * (what == 'qid')}."
        )
    if what in ("y", "sample_weight") and column.dtype.kind not in "biuf":
        fix = "Encode grades, larger for more relevant" if what == "y" else "Convert it to numbers"
        raise ValueError(f"{what} must hold numbers, got dtype {column.dtype}. {fix}.")
    return column


def join_data(parts: Sequence[RankingData], name: str) -> RankingData:
    """Rows of several tables with the same columns, one below the other.

    A column that a part lacks is left out. ValueError is raised if the parts differ in their number
    of features, or in which of them are categories.
    """
    widths = {part.n_features for part in parts}
    if len(widths) > 1:
        raise ValueError(f"the files must have the same columns, got {sorted(widths)} features.")

    if len({frozenset(part.categories or ()) for part in parts}) > 1:
        raise ValueError("the files must have the same columns of categories.")

    def joined(what: str) -> Any:
        columns = [getattr(part, what) for part in parts]
        return None if any(column is None for column in columns) else join_rows(columns)

    columns = ("X", "y", "qid", "doc_ids", "comments", "sample_weight")
    scores: Any = [part.score_columns for part in parts]
    whole = None
    if None not in scores:
        whole = {key: join_rows([columns[key] for columns in scores]) for key in scores[0]}
    names: dict[str, Any] = {"name": name, "score_columns": whole}
    values = {what: joined(what) for what in columns}
    if parts[0].categories:
        coded: Any = [(part.X, part.categories) for part in parts]
        values["X"], names["categories"] = join_coded(coded)
    if any(part.judged is not None for part in parts):
        names["judged"] = join_rows(
            [np.ones(len(p), bool) if p.judged is None else p.judged for p in parts]
        )
    return replace(parts[0], **values, **names)


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of judged data; ``vali`` is None if there is no validation part."""

    train: RankingData
    vali: RankingData | None
    test: RankingData
    name: str = "fold1"


@dataclass(frozen=True, eq=False)
class FoldedData(Sequence[Fold]):
    """Named folds, each created on access."""

    name: str
    fold_names: tuple[str, ...]
    make: Callable[[int], Fold]

    def __len__(self) -> int:
        return len(self.fold_names)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self.name} has {len(self)} folds, asked for number {index}.")
        return self.make(int(index) % len(self))

    def __iter__(self) -> Iterator[Fold]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        name = f"{self.name!r}: " if self.name else ""
        names = ", ".join([*self.fold_names[:MOST_NAMES], "…"][: len(self)])
        return f"FoldedData({name}{len(self)} folds, {escape_hidden(names)[:300]})"


def leave_out(data: Any, names: Sequence[str]) -> Any:
    """Judged rows or folds without some features, see :meth:`RankingData.without_features`."""
    if isinstance(data, RankingData):
        left = names if isinstance(names, str) else [n for n in names if n not in data.left_out]
        return data.without_features(left) if left else data
    if isinstance(data, Fold):
        parts = {what: getattr(data, what) for what in ("train", "vali", "test")}
        return replace(data, **{w: p and leave_out(p, names) for w, p in parts.items()})
    if isinstance(data, FoldedData):
        return replace(data, make=lambda i: leave_out(data.make(i), names))
    if isinstance(data, list | tuple) and all(isinstance(fold, Fold) for fold in data):
        return [leave_out(fold, names) for fold in data]
    return data


@dataclass(frozen=True, eq=False)
class MultiLabelData:
    """Rows with 0/1 labels.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features), float64
        Features as published, not scaled; missing values are NaN.
    Y : ndarray or CSR of shape (n_samples, n_labels), int64
        1 if a row has the label, else 0; CSR if X is CSR.
    feature_names, label_names : tuple of str
        Names; empty if the file has none.
    name : str
    """

    X: Matrix
    Y: Any
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    name: str = ""

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        kind = "dense" if isinstance(self.X, np.ndarray) else "CSR"
        per_row = float(self.Y.sum()) / max(self.n_samples, 1)
        name = f"{self.name!r}: " if self.name else ""
        return (
            f"MultiLabelData({name}{self.n_samples} rows, {self.n_features} features, "
            f"{self.n_labels} labels, {per_row:.2f} a row, {kind})"
        )
