"""Sources of streams: rows in memory, Parquet files, iterables of chunks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike

from rankwise.checks.frames import collect_frame
from rankwise.checks.row_errors import RowError
from rankwise.datasets.category_columns import category_frame
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.delimited import name_file_in_errors
from rankwise.datasets.readers.file_columns import FileColumns, arrow_kinds
from rankwise.datasets.readers.side_names import name_sizes_in_errors
from rankwise.datasets.readers.tables import check_row_groups, open_parquet, sample_column, valid
from rankwise.datasets.table_columns import (
    Columns,
    IgnoredColumnsWarning,
    Kinds,
    TableRows,
    frame_kinds,
    is_frame,
    list_names,
)
from rankwise.runtime.vocabulary import setting
from rankwise.typing import FrameLike

# Role of each column in a table with columns of the given kinds.
Roles = Callable[..., Columns]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a stream, not yet checked.

    X has shape (n_rows, n_features); y, qid, sample_weight and doc_ids are array-likes (n_rows,).
    """

    X: FrameLike
    y: Any = None
    qid: Any = None
    sample_weight: Any = None
    feature_names: list[str] | None = None  # names of the columns if X is an array
    doc_ids: Any = None  # ndarray of str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        X: Any = self.X
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)


# Named in errors of all other estimators.
FIT_STREAMS = "LinearRegressionRanker, RidgeRanker, PointwiseELM, PairwiseELM and ELMRank"
ALSO = "RankRLS, LSRRank, MPRank and LSSVRanker"
EVALUATES = "rankwise.evaluate_stream(ranker, stream)"


class RowStream:
    """Stream of judged rows in chunks; created by :func:`rankwise.stream`.

    Iterating gives the chunks, each with ``X``, ``y``, ``qid``, ``sample_weight`` and
    ``feature_names``.

    Attributes
    ----------
    n_samples : int or None
        Number of rows; None if it is unknown before reading.
    reiterable : bool
        Whether the stream can be read more than once.
    """

    n_samples: Any
    reiterable = True

    def __iter__(self) -> Iterator[Chunk]:
        raise NotImplementedError

    def keys(self) -> Iterator[Chunk]:
        """The chunks with query ids and weights; ``X`` need not be read."""
        return iter(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.refused("This method")

    def refused(self, method: str) -> TypeError:
        """Error of a method that takes no streams, such as ``LambdaMART.fit``."""
        name = method.rpartition(".")[2]
        fix = "Read the rows into memory, or use one of these."
        if name == "partial_fit":
            fix = "Pass the chunks one by one: partial_fit(chunk.X, chunk.y, qid=chunk.qid)."
        elif name != "fit":
            fix = f"Pass the X of each chunk, or score any ranker with {EVALUATES}."
        return TypeError(
            f"{method} needs rows in memory, got a RowStream. {FIT_STREAMS} fit streams; {ALSO} "
            f"too, unless they store rows for a kernel. They predict and score streams. {fix}"
        )

    def __repr__(self) -> str:
        rows = "?" if self.n_samples is None else self.n_samples
        again = "" if self.reiterable else ", once"
        return f"RowStream({type(self).__name__}, {rows} rows{again})"


@dataclass(frozen=True, eq=False, repr=False)
class InMemory(RowStream):
    """Rows in memory, or mapped from a file, query by query."""

    data: RankingData
    chunk_rows: int

    @property
    def n_samples(self) -> int:
        return self.data.n_samples

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks(self.data.X)

    def keys(self) -> Iterator[Chunk]:
        return self._chunks(np.empty((self.n_samples, 0)))

    def _chunks(self, X: Any) -> Iterator[Chunk]:
        data, order = self.data, self.data.groups.order
        weight = data.sample_weight
        for lo in range(0, self.n_samples, self.chunk_rows):
            rows: Any = slice(lo, lo + self.chunk_rows)
            rows = rows if order is None else order[rows]
            yield Chunk(
                X[rows],
                data.y[rows],
                data.qid[rows],
                None if weight is None else weight[rows],
                data.feature_names,
                None if data.doc_ids is None else data.doc_ids[rows],
            )


@dataclass(frozen=True, eq=False, repr=False)
class ParquetFiles(RowStream):
    """Parquet files with the same columns, one after the other."""

    paths: tuple[Path, ...]
    layout: Columns
    dtype: DTypeLike
    chunk_rows: int
    n_samples: int

    @classmethod
    def find(
        cls,
        paths: Sequence[Path],
        roles: Roles,
        dtype: DTypeLike,
        chunk_rows: int,
        max_decompressed_bytes: int,
    ) -> ParquetFiles:
        """Check the columns of the files, and that no row group is too large."""
        files, n_samples = [], 0
        for path in paths:
            with open_parquet(path) as file:
                check_row_groups(path, file.metadata, max_decompressed_bytes)
                with name_file_in_errors(path):
                    files.append((path, arrow_kinds(file.schema_arrow)))
                n_samples += file.metadata.num_rows
        found = FileColumns.join(files)
        with name_file_in_errors(paths[0]), name_sizes_in_errors(paths[0]):
            columns = roles(found.kinds, sample=partial(sample_column, files=found.first))
        found.check(columns)
        absolute = tuple(path.absolute() for path in paths)  # workers have their own folder
        return cls(absolute, columns, dtype, chunk_rows, n_samples)

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks(self.layout)

    def keys(self) -> Iterator[Chunk]:
        roles = self.layout
        return self._chunks(Columns(None, roles.qid, None, roles.sample_weight, []))

    def _chunks(self, columns: Columns) -> Iterator[Chunk]:
        # Without a column to read, only the number of rows is known.
        names = columns.names() or None
        for path in self.paths:
            with open_parquet(path) as file, name_file_in_errors(path):
                batches = map(valid, file.iter_batches(self.chunk_rows, columns=names))
                yield from chunks_of(batches, columns, self.dtype)


def chunks_of(batches: Iterable[Any], columns: Columns, dtype: DTypeLike) -> Iterator[Chunk]:
    """Convert record batches to chunks."""
    import pyarrow as pa

    row = 0
    for batch in batches:
        try:
            table = nw.from_native(pa.Table.from_batches([batch]), eager_only=True)
            rows = columns.read(table, dtype)
        except RowError as error:
            raise error.at(row + error.row) from None
        except ValueError as error:
            raise ValueError(f"from row {row}: {error}") from None
        row += len(rows.X)
        yield _chunk_of(rows, columns)


def _chunk_of(rows: TableRows, columns: Columns) -> Chunk:
    X = category_frame(rows.X, columns.features, rows.categories) if rows.categories else rows.X
    return Chunk(X, rows.y, rows.qid, rows.sample_weight, columns.features, rows.doc_ids)


@dataclass(frozen=True, eq=False, repr=False)
class Repeated(RowStream):
    """Chunks of a callable that returns a new iterable on each call."""

    make: Callable[[], Iterable[Any]]
    roles: Roles
    dtype: DTypeLike
    n_samples: int | None = None

    def __iter__(self) -> Iterator[Chunk]:
        columns: Columns | None = None
        for number, item in enumerate(self.make()):
            if not is_frame(item):
                yield _convert_to_chunk(item, number)
                continue
            table = collect_frame(item)
            assert table is not None
            try:
                if columns is None:
                    columns = self.roles(frame_kinds(table))
                else:
                    self._check_same(columns, frame_kinds(table))
                yield _chunk_of(columns.read(table, self.dtype), columns)
            except ValueError as error:
                raise ValueError(f"chunk {number} of the stream: {error}") from None

    def _check_same(self, columns: Columns, kinds: Kinds) -> None:
        """Raise ValueError if a later chunk has other features than the first one."""
        missing = [name for name in columns.names() if name not in kinds]
        if missing:
            raise ValueError(
                f"columns {list_names(missing)} are missing, but the first chunk has them. Give "
                "all chunks the same columns."
            )
        with warnings.catch_warnings():  # the first chunk has warned
            warnings.simplefilter("ignore", IgnoredColumnsWarning)
            more = {*self.roles(kinds).features} - {*columns.features}
        if more:
            raise ValueError(
                f"columns {list_names(sorted(more))} hold numbers, but not in the first chunk. "
                "Give all chunks the same columns, or name the columns to use: "
                f"{setting('features')}."
            )


@dataclass(frozen=True, eq=False, repr=False)
class Once(Repeated):
    """Chunks of an iterator, which can be read once."""

    used: list[bool] = field(default_factory=list)
    reiterable = False

    def __iter__(self) -> Iterator[Chunk]:
        if self.used:
            raise ValueError(
                "the stream's iterator has been read already. Pass a callable that returns a new "
                "iterator each time: stream(make_chunks)."
            )
        self.used.append(True)
        return super().__iter__()


def _convert_to_chunk(item: Any, number: int) -> Chunk:
    """Convert an item of an iterable to a chunk."""
    if isinstance(item, tuple):
        if not 1 <= len(item) <= 4:
            raise ValueError(
                f"chunk {number} of the stream must be (X, y), (X, y, qid) or (X, y, qid, "
                f"sample_weight), got a tuple of {len(item)}."
            )
        return Chunk(*item)
    if hasattr(item, "X") and hasattr(item, "y"):
        return Chunk(item.X, item.y, item.qid, item.sample_weight, item.feature_names)
    if hasattr(item, "shape"):
        return Chunk(item)
    raise TypeError(
        f"chunk {number} of the stream must be a tuple (X, y[, qid[, sample_weight]]), a "
        f"RankingData, a frame or X alone, got {type(item).__name__}."
    )
