"""Splits that keep queries whole: a scikit-learn splitter and LETOR's rotation of query parts."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import BaseCrossValidator, check_cv

from rankwise.checks.rows import routing_hint
from rankwise.datasets.data import Fold, FoldedData, RankingData, leave_out
from rankwise.datasets.table_columns import is_frame
from rankwise.groups import QueryGroups
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.frames import convert_to_values
from rankwise.runtime.messages import ArgumentError
from rankwise.typing import ArrayLike, Int64Array, Seed

DEFAULT_SPLITS = 5


class QueryKFold(BaseCrossValidator):
    """K folds of whole queries; the query counts of two folds differ by at most one.

    Parameters
    ----------
    n_splits : int >= 2
        Number of folds.
    shuffle : bool
        Whether queries are shuffled; if not, folds are blocks of queries in order of appearance.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the shuffling; only with ``shuffle=True``.

    Notes
    -----
    The splitter requests both ``groups`` and ``qid`` from metadata routing, so that
    ``GridSearchCV(..., cv=QueryKFold()).fit(X, y, qid=qid)`` needs no separate groups. O(n).

    Folds depend on the order in which the queries first appear, also with ``shuffle=True``, but not
    on the order of the other rows or on the names of the queries.

    Examples
    --------
    >>> import numpy as np
    >>> for train, test in QueryKFold(2).split(np.zeros((5, 1)), qid=["a", "b", "b", "c", "c"]):
    ...     print(train, test)
    [3 4] [0 1 2]
    [0 1 2] [3 4]
    """

    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True, "qid": True}

    def __init__(
        self, n_splits: int = DEFAULT_SPLITS, *, shuffle: bool = False, random_state: Seed = 0
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def split(
        self,
        X: Any,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> Generator[tuple[Int64Array, Int64Array], None, None]:
        """Row numbers of the training and the test part of every fold, ascending.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its length is used.
        y : ignored
        groups, qid : array-like of shape (n_samples,)
            Query id of every row, any dtype and order; one of the two is required.

        Raises
        ------
        ValueError
            If no query ids are given, there are fewer queries than folds, or ``random_state`` is
            set without ``shuffle``.
        """
        query_groups, rng = self._group_queries(X, groups, qid)
        for part in query_groups.split(self.n_splits, random_state=rng):
            test = np.zeros(query_groups.n_samples, dtype=bool)
            test[query_groups.rows(part)] = True
            yield np.flatnonzero(~test), np.flatnonzero(test)

    def get_n_splits(  # type: ignore[override]  # without types, scikit-learn's seems to return None
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> int:
        """Number of folds."""
        return self.n_splits

    def _group_queries(
        self, X: Any, groups: Any, qid: Any
    ) -> tuple[QueryGroups, np.random.Generator | np.random.RandomState | None]:
        """Queries of the rows, and the generator if they are shuffled."""
        qid = groups if qid is None else qid
        if qid is None:
            raise ValueError(
                f"{type(self).__name__} needs the query of every row, got none. Pass qid=… or "
                f"groups=….{routing_hint()}"
            )
        if self.random_state not in (None, 0) and not self.shuffle:
            raise ValueError(
                f"random_state={self.random_state!r} has no effect with shuffle=False. "
                "Set shuffle=True or leave random_state at 0."
            )
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        rng = check_random_state(self.random_state) if self.shuffle else None
        return QueryGroups.from_qid(qid, n_samples), rng


class DocumentKFold(QueryKFold):
    """K folds in which no relevant document of a test query is relevant in training.

    A ranker cannot know from the training part of such a fold which documents are relevant, so its
    gain is one on new documents. :func:`memory_audit` says how many queries other folds concern.

    Parameters
    ----------
    doc_ids : array-like of shape (n_samples,)
        Document of every row, or another id to hold out, such as the item or the user. Rows with an
        empty id belong to no document.
    n_splits : int >= 2
        Number of folds.
    purge : bool
        False: queries that share a relevant document, directly or through other queries, stay in
        one fold. True: folds are those of :class:`QueryKFold`, and the training part loses all rows
        of documents that are relevant to a test query. Use it if shared documents link most
        queries.
    rel : float
        Lowest relevant grade.
    shuffle : bool
        Whether queries are shuffled before they are assigned to folds.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the shuffling; only with ``shuffle=True``.

    Notes
    -----
    Queries that share relevant documents are the connected components of the graph of queries and
    relevant documents. The largest component goes first, each to the fold with the fewest queries.
    The rows that are split must be those of ``doc_ids``, in the same order. O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> qid, doc_ids = ["a", "a", "b", "c", "c", "d"], ["d1", "d2", "d3", "d1", "d4", "d5"]
    >>> folds = DocumentKFold(doc_ids, 2)
    >>> for train, test in folds.split(np.zeros((6, 1)), [1, 0, 1, 1, 0, 1], qid=qid):
    ...     print(train, test)
    [2 5] [0 1 3 4]
    [0 1 3 4] [2 5]
    """

    def __init__(
        self,
        doc_ids: ArrayLike,
        n_splits: int = DEFAULT_SPLITS,
        *,
        purge: bool = False,
        rel: float = 1,
        shuffle: bool = False,
        random_state: Seed = 0,
    ) -> None:
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)
        self.doc_ids = doc_ids
        self.purge = purge
        self.rel = rel

    def split(
        self,
        X: Any,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> Generator[tuple[Int64Array, Int64Array], None, None]:
        """Row numbers of the training and the test part of every fold, ascending.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its length is used.
        y : array-like of shape (n_samples,)
            Grades; NaN is not relevant.
        groups, qid : array-like of shape (n_samples,)
            Query id of every row; one of the two is required.

        Raises
        ------
        ValueError
            If lengths differ, shared documents link more than half of the queries or leave fewer
            sets of queries than folds, or ``purge`` leaves no relevant row in a training part.
        """
        query_groups, rng = self._group_queries(X, groups, qid)
        n = query_groups.n_samples
        ids = np.asarray(convert_to_values(self.doc_ids)).astype(str)
        grades = np.empty(0) if y is None else np.asarray(y, dtype=np.float64)
        for name, values in (("doc_ids", ids), ("y", grades)):
            if values.shape != (n,):
                raise ArgumentError(
                    name, f"must have one value per row, {n} in all, got shape {values.shape}."
                )
        relevant = (grades >= self.rel) & (ids != "")
        parts = (
            query_groups.split(self.n_splits, random_state=rng)
            if self.purge
            else self._part_components(query_groups, ids, relevant, rng)
        )
        for number, part in enumerate(parts, start=1):
            test = np.zeros(n, dtype=bool)
            test[query_groups.rows(part)] = True
            train = ~test
            if self.purge:
                train &= ~np.isin(ids, ids[test & relevant])
                if not (train & relevant).any():
                    raise ValueError(
                        f"purge=True leaves no relevant row in the training part of fold {number}: "
                        "all such documents are relevant in the test part. Use more folds."
                    )
            yield np.flatnonzero(train), np.flatnonzero(test)

    def _part_components(
        self, groups: QueryGroups, ids: Any, relevant: Any, rng: Any
    ) -> list[Int64Array]:
        """Queries of every fold; those linked by relevant documents are together."""
        n = groups.n_queries
        names, documents = np.unique(ids[relevant], return_inverse=True)
        pairs = groups.codes()[relevant], n + documents.ravel()
        links = coo_array((np.ones(len(documents)), pairs), shape=(n + len(names),) * 2)
        component = connected_components(links, directed=False)[1][:n]
        _, component, sizes = np.unique(component, return_inverse=True, return_counts=True)
        if 2 * sizes.max() > n or len(sizes) < self.n_splits:
            raise ValueError(
                f"doc_ids must leave at least {self.n_splits} sets of queries apart, none with "
                f"more than half of them, but shared documents link {sizes.max()} of {n} queries "
                f"(sets: {len(sizes)}). Set purge=True, which takes the rows of such "
                "documents out of training parts; or read the gain on unseen queries: memory_audit."
            )
        order = np.arange(len(sizes)) if rng is None else rng.permutation(len(sizes))
        order = order[np.argsort(-sizes[order], kind="stable")]
        fold, counts = np.zeros(len(sizes), dtype=np.int64), np.zeros(self.n_splits)
        for number in order.tolist():
            fold[number] = int(counts.argmin())
            counts[fold[number]] += sizes[number]
        return [np.flatnonzero(fold[component] == k) for k in range(self.n_splits)]


def letor_folds(
    data: RankingData, n_splits: int = 5, *, shuffle: bool = False, random_state: Seed = 0
) -> FoldedData:
    """Training, validation and test parts by LETOR's rotation of k query parts S1 … Sk.

    Fold i trains on S_i … S_{i+k-3}, validates on S_{i+k-2} and tests on S_{i+k-1} (numbers
    modulo k, which is ``n_splits``): with k = 5, fold 1 is S1 S2 S3 | S4 | S5, as in LETOR's own
    data sets.

    Parameters
    ----------
    data : RankingData
    n_splits : int >= 3
        Number of parts, whose numbers of queries differ by at most one.
    shuffle, random_state
        As in :class:`QueryKFold`; without shuffling the parts are blocks in file order.
    """
    k = n_splits
    if k < 3:
        raise ValueError(f"n_splits must be >= 3 (train, validate and test), got {k}.")
    splitter = QueryKFold(k, shuffle=shuffle, random_state=random_state)
    parts = [test for _, test in splitter.split(data.X, qid=data.groups)]

    def make(i: int) -> Fold:
        turn = [parts[(i + j) % k] for j in range(k)]
        train = np.concatenate(turn[: k - 2])
        return Fold(
            data.take(train), data.take(turn[k - 2]), data.take(turn[k - 1]), f"fold{i + 1}"
        )

    return FoldedData(data.name, tuple(f"fold{i + 1}" for i in range(k)), make)


def query_folds(data: RankingData, cv: Any = "auto", *, random_state: Seed = 0) -> FoldedData:
    """Folds of one table: fold i tests, fold i + 1 validates, the other rows train.

    Parameters
    ----------
    data : RankingData
    cv : "auto", int, splitter or iterable
        Folds. "auto": 5 folds, or one per query if there are fewer queries. An int: that many folds
        of shuffled queries. A splitter: its test parts; it is called as
        ``cv.split(X, y, groups=qid)``. An iterable: pairs of training and test rows, as numbers or
        masks.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the shuffling.

    Notes
    -----
    With two folds, there is no validation part.

    Raises
    ------
    ValueError
        If there are too few queries, or the splitter cuts a query in two.
    """
    if data.n_queries < 2:
        raise ValueError(
            f"data must hold at least 2 queries to be split, got {data.n_queries}. "
            "Pass a Fold with train and test parts instead."
        )
    if cv is None or isinstance(cv, str):
        if cv != "auto":
            raise ValueError(
                f'cv must be "auto", a number of folds, a splitter or a list of splits, got {cv!r}.'
            )
        cv = min(DEFAULT_SPLITS, data.n_queries)
    if isinstance(cv, Integral):
        if not 2 <= int(cv) <= data.n_queries:
            raise ValueError(
                f"cv must lie between 2 and the number of queries, {data.n_queries}, got {cv}. "
                f"Use {'cv=2' if data.n_queries == 2 else f'cv=2 to {data.n_queries}'}."
            )
        cv = QueryKFold(int(cv), shuffle=True, random_state=random_state)
    elif not hasattr(cv, "split"):
        cv = check_cv(cv)  # rows of training and test parts
    # Codes replace the ids: every splitter accepts integers, and rows are grouped once.
    codes = data.groups.codes()
    splits = [(_rows(a), _rows(b)) for a, b in cv.split(data.X, data.y, groups=codes)]
    for number, (train, test) in enumerate(splits, start=1):
        if not len(train) or not len(test):
            raise ValueError(
                f"cv={cv!r} must give training and test rows, but fold {number} has {len(train)} "
                f"and {len(test)}."
            )
        both = np.intersect1d(codes[train], codes[test])
        if both.size:
            (cut,) = data.groups.ids[both[:1]].tolist()
            raise ValueError(
                f"cv={cv!r} puts query {cut!r} into both parts of fold {number}. "
                "Use a splitter that keeps groups whole, such as QueryKFold."
            )

    def make(i: int) -> Fold:
        train, test = splits[i]
        vali = np.intersect1d(train, splits[(i + 1) % len(splits)][1]) if len(splits) > 2 else None
        if vali is not None and 0 < len(vali) < len(train):
            return Fold(
                data.take(np.setdiff1d(train, vali)),
                data.take(vali),
                data.take(test),
                f"fold{i + 1}",
            )
        return Fold(data.take(train), None, data.take(test), f"fold{i + 1}")

    return FoldedData(data.name, tuple(f"fold{i + 1}" for i in range(len(splits))), make)


def _rows(part: Any) -> Int64Array:
    rows = np.asarray(part)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def convert_to_judged(
    data: Any,
    *,
    score_columns: Sequence[str] = (),
    unjudged: Any = None,
    categories: bool = False,
    ignore: Sequence[str] = (),
    **columns: Any,
) -> Any:
    """Convert a frame with named columns to judged data; other data are returned unchanged.

    ``unjudged`` is the label of rows without a judgement, also of a RankingData. ``categories``:
    whether columns of text are features. ``ignore``: columns that are no features, also of data
    that were read before. It is an error to name columns if ``data`` is not a frame.
    """
    named = {name: column for name, column in columns.items() if column is not None}
    if is_frame(data):
        words: dict[str, Any] = {
            "score_columns": score_columns,
            "unjudged": unjudged,
            "categories": categories,
            "ignore": ignore,
        }
        return RankingData.from_frame(data, **words, **named)
    if named:
        names, verb = " and ".join(named), "name" if len(named) > 1 else "names"
        raise TypeError(
            f"{names} {verb} columns of a frame, but data is a {type(data).__name__}. Pass the "
            "frame, or drop the argument."
        )
    data = leave_out(data, ignore) if ignore else data
    if unjudged is None:
        return data
    if not isinstance(data, RankingData):
        raise TypeError(
            f"unjudged needs a frame or a RankingData, got {type(data).__name__}. Mark the "
            "parts of folds themselves: RankingData.mark_unjudged."
        )
    return data.mark_unjudged(unjudged)


def convert_to_folds(
    data: RankingData | Fold | FoldedData | Sequence[Fold],
    cv: Any = "auto",
    *,
    random_state: Seed = 0,
) -> FoldedData:
    """Convert any data that ``compare`` accepts to folds with unique names.

    Data that already have folds take no ``cv`` but "auto".
    """
    if isinstance(data, RankingData):
        return query_folds(data, cv, random_state=random_state)
    if isinstance(data, Fold):
        data = [data]
    are_folds = isinstance(data, FoldedData)  # whose folds are made when they are due
    if not are_folds and isinstance(data, Sequence) and not isinstance(data, str):
        are_folds = len(data) > 0 and all(isinstance(fold, Fold) for fold in data)
    if not are_folds:
        raise TypeError(
            "data must be a frame, a RankingData, a Fold, a FoldedData or a sequence of Fold, got "
            f"{_describe_data(data)}."
        )
    if not (isinstance(cv, str) and cv == "auto"):
        raise ValueError(
            f"cv={cv!r} splits one table, but the data already have folds. Drop cv, or pass a "
            "RankingData."
        )
    if isinstance(data, FoldedData):
        return replace(data, fold_names=_unique(data.fold_names))
    names = _unique(tuple(fold.name for fold in data))
    return FoldedData(data[0].test.name, names, data.__getitem__)


def _describe_data(data: Any) -> str:
    """Description of a wrong ``data`` argument, and what to pass instead."""
    if isinstance(data, str | Path):
        name = str(data)
        return (
            f"{name!r}. Load it first: load_dataset({name!r}) for a data set, read_letor or "
            "read_table for a file"
        )
    kind = type(data).__name__
    if not isinstance(data, Sequence):
        return f"{kind}. Combine arrays with their queries: RankingData(X, y, qid=qid)"
    inside = ", ".join(type(part).__name__ for part in data[:3])
    if any(isinstance(part, RankingData) for part in data):
        fix = "Name the parts: Fold(train, vali, test), with None for no validation part"
    elif data and all(isinstance(part, Sequence) for part in data):
        fix = "Make each entry a Fold(train, vali, test) whose parts are RankingData(X, y, qid=qid)"
    else:
        fix = "Combine arrays with their queries: RankingData(X, y, qid=qid)"
    return f"a {kind} of {len(data)} ({inside}). {fix}"


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) == len(names):
        return names
    return tuple(f"fold{i + 1}" for i in range(len(names)))
