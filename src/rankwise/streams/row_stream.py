"""Streams of judged rows that need not fit in memory, read chunk by chunk.

Closed-form rankers accept a stream instead of ``X``: ``ranker.fit(stream(source))``. Leave out
``y``, because the chunks contain labels, query ids and weights.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.side_names import SIZES, side_file, warn_of_unread
from rankwise.datasets.readers.tables import TABLES, is_parquet, suffix_of, table_files
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, find_files
from rankwise.datasets.table_columns import Columns
from rankwise.runtime.vocabulary import setting
from rankwise.streams.stream_sources import InMemory, Once, ParquetFiles, Repeated, Roles, RowStream
from rankwise.streams.text_files import DelimitedFiles

# Rows read at a time if the source does not determine it.
CHUNK_ROWS = 1 << 14


def stream(
    source: Any,
    *,
    label: str | Literal[False] | None = None,
    qid: str | Literal[False] | None = None,
    doc_id: str | Literal[False] | None = None,
    sample_weight: str | Literal[False] | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    sep: str | None = None,
    dtype: DTypeLike = np.float32,
    n_features: int | None = None,
    chunk_rows: int = CHUNK_ROWS,
    n_samples: int | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> RowStream:
    """Open a stream of judged rows that ``fit``, ``predict`` and ``score`` accept as ``X``.

    Parameters
    ----------
    source : path, RankingData, iterable or callable
        - A Parquet, CSV or TSV file, a folder of them (searched through; read in the order of
          their names; names that start with ``_`` or ``.`` are skipped), a glob pattern, or a list
          of these. LETOR text, also with group sizes in a file beside it: it is parsed once and
          mapped from :func:`read_letor`'s cache.
        - A :class:`RankingData`; one that :func:`read_letor` has mapped from its cache stays on
          the disk.
        - An iterable of chunks. An iterator (a generator, say) can be read once; a list, or an
          object whose ``__iter__`` starts afresh, again.
        - A callable without arguments that returns such an iterable: can be read again.

        A chunk is a tuple ``(X, y)``, ``(X, y, qid)`` or ``(X, y, qid, sample_weight)``, a
        RankingData, a frame with all columns, or just ``X`` (to predict).
    label, qid, doc_id, sample_weight : str or False, optional
        Columns of tables and frames, by default those that :func:`read_table` takes. False:
        there is no such column (without labels a stream can only be predicted; without qid all
        rows are one query).
    features : sequence of str, optional
        Columns of X, in this order; by default all remaining numeric columns.
    ignore : sequence of str
        Columns that are not features, see :func:`read_table`.
    sep : str of length 1, optional
        Column separator of a text file; inferred from its suffix by default.
    dtype : float32 or float64
        Type of X from files and frames. Missing values become NaN.
    n_features : int, optional
        Number of columns of LETOR text; by default the largest index in the text.
    chunk_rows : int
        Number of rows per chunk of Parquet files and RankingData. Text is read a few megabytes at
        a time.
    n_samples : int, optional
        Number of rows of an iterable, if known. ``fit`` then skips a test of about a second
        that decides whether float32 rows are multiplied in float64.
    max_decompressed_bytes : int >= 1
        Maximum decompressed size of a row group of a Parquet file; by default 16 GiB.

    Returns
    -------
    RowStream

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        If the source is none of these, a file or a column is missing, or a row group of a
        Parquet file is too large.

    Notes
    -----
    The rows of a query must be in one chunk, in any order, or at the end of one and the start of
    the next; a query may extend over any number of chunks. The rows of a RankingData may be in any
    order; if they are not grouped, an index of 8 bytes per row is stored. A Parquet file takes the
    memory of one row group, a compressed text file that of its text. Query ids of text tables are
    strings. Columns of text are detected in the first megabytes of the first text file; a later
    cell that is not a number is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PairwiseELM
    >>> def chunks():
    ...     for first in range(0, 300, 100):
    ...         X = np.random.default_rng(first).random((100, 4))
    ...         yield X, np.floor(3 * X[:, 0]), first // 10 + np.arange(100) // 25
    >>> rows = stream(chunks)
    >>> ranker = PairwiseELM(n_nodes=50, C=100.0, random_state=0).fit(rows)
    >>> [len(scores) for scores in ranker.predict(rows)]
    [100, 100, 100]
    >>> ranker.score(rows) > 0.9
    True
    """
    if not isinstance(chunk_rows, int) or chunk_rows < 1:
        raise ValueError(f"chunk_rows must be an integer >= 1, got {chunk_rows!r}.")
    if isinstance(source, RowStream):
        return source
    if isinstance(source, RankingData):
        if source.categories:
            raise ValueError(
                "streams hold columns of numbers, but the data have categories. Read the table "
                "without categories, or encode them as numbers."
            )
        return InMemory(source, chunk_rows)
    roles = {"label": label, "qid": qid, "doc_id": doc_id, "sample_weight": sample_weight}
    columns = partial(Columns.of, **roles, features=features, ignore=ignore)
    if _is_path(source):
        if is_table_path(source, sep):
            warn_of_unread(table_files(source, other=sep is not None))
            return table_stream(
                source, columns, sep, dtype, chunk_rows, max_decompressed_bytes,
                may_ignore=features is None,
            )  # fmt: skip
        if ignore or any(role is not None for role in (*roles.values(), features)):
            raise ValueError(
                f"{source} is SVMlight text, whose columns have no names. Drop label, qid, doc_id, "
                f"sample_weight, features and ignore, or pass {setting('sep')} if it is a table."
            )
        return InMemory(_read_text(source, n_features, dtype, max_decompressed_bytes), chunk_rows)
    if isinstance(source, Iterator):
        return Once(lambda: source, columns, dtype, n_samples)
    if isinstance(source, Callable):
        return Repeated(source, columns, dtype, n_samples)
    if isinstance(source, Iterable) and not isinstance(source, np.ndarray):
        return Repeated(source.__iter__, columns, dtype, n_samples)
    raise TypeError(
        f"source must be a path of files, a RankingData, an iterable of chunks or a "
        f"callable that returns one, got {type(source).__name__}. Rows in memory go into fit as "
        "they are."
    )


def is_table_path(source: Any, sep: str | None) -> bool:
    """Whether a path, pattern, folder or list of these contains tables instead of LETOR text."""
    first = Path(source[0] if isinstance(source, list) else source)
    return sep is not None or first.is_dir() or suffix_of(find_files(first)[0]) in TABLES


def table_stream(
    source: Any,
    roles: Roles,
    sep: str | None,
    dtype: DTypeLike,
    chunk_rows: int,
    max_decompressed_bytes: int,
    *,
    may_ignore: bool,
) -> ParquetFiles | DelimitedFiles:
    """A stream of Parquet files, or of text files with columns."""
    paths = table_files(source, other=sep is not None)
    if is_parquet(paths[0]):
        return ParquetFiles.find(paths, roles, dtype, chunk_rows, max_decompressed_bytes)
    return DelimitedFiles.find(
        paths, sep, roles, dtype, max_decompressed_bytes, may_ignore=may_ignore
    )


def _read_text(
    source: Any, n_features: int | None, dtype: DTypeLike, max_decompressed_bytes: int
) -> RankingData:
    """Rows of LETOR text, mapped from the cache, with the queries of a file beside it."""
    # The parser imports Numba, which loaded models do not need for scoring.
    from rankwise.datasets.readers.sidefiles import read_grouped
    from rankwise.datasets.readers.svmlight import read_letor

    files = find_files(source)
    if len(files) == 1 and side_file(files[0], SIZES):
        return read_grouped(
            files[0], dtype=dtype, n_features=n_features,
            max_decompressed_bytes=max_decompressed_bytes,
        )  # fmt: skip
    return read_letor(
        files, dtype=dtype, n_features=n_features, max_decompressed_bytes=max_decompressed_bytes
    )  # fmt: skip


def _is_path(source: Any) -> bool:
    paths = source if isinstance(source, list) and source else [source]
    return all(isinstance(path, str | os.PathLike) for path in paths)
