"""Judged rows that need not fit in memory, chunk by chunk.

A stream is what a closed-form ranker fits in place of ``X``: ``ranker.fit(stream(source))``. The
chunks carry labels, query ids and weights with them, so ``y`` stays away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.columns import Columns
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES
from rankwise.streams.sources import InMemory, Once, ParquetFiles, Repeated, RowStream

# Rows read at a time where the source leaves it open.
CHUNK_ROWS = 1 << 14


def stream(
    source: Any,
    *,
    label: str | Literal[False] | None = None,
    qid: str | Literal[False] | None = None,
    doc_id: str | Literal[False] | None = None,
    sample_weight: str | Literal[False] | None = None,
    features: Sequence[str] | None = None,
    dtype: DTypeLike = np.float32,
    chunk_rows: int = CHUNK_ROWS,
    n_samples: int | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> RowStream:
    """A stream of judged rows that ``fit``, ``predict`` and ``score`` take in place of ``X``.

    Parameters
    ----------
    source : path, RankingData, iterable or callable
        - A Parquet file, a folder of them (searched through; read in the order of their names;
          names that start with ``_`` or ``.`` are skipped), a glob pattern, or a list of these.
        - A :class:`RankingData`; one that :func:`read_letor` has mapped from its cache stays on
          the disk.
        - An iterable of chunks. An iterator (a generator, say) can be read once; a list, or an
          object whose ``__iter__`` starts afresh, again.
        - A callable without arguments that returns such an iterable: can be read again.

        A chunk is a tuple ``(X, y)``, ``(X, y, qid)`` or ``(X, y, qid, sample_weight)``, a
        RankingData, a frame with all columns, or just ``X`` (to predict).
    label, qid, doc_id, sample_weight : str or False, optional
        Columns of Parquet files and frames, by default those that :func:`read_table` takes. False:
        there is no such column (without labels a stream can only be predicted; without qid all
        rows are one query).
    features : sequence of str, optional
        Columns of X, in this order; by default all that are left and hold numbers.
    dtype : float32 or float64
        Type of X from Parquet files and frames. Missing values become NaN.
    chunk_rows : int
        Rows of a chunk, from Parquet files and RankingData.
    n_samples : int, optional
        Number of rows of an iterable, where it is known. ``fit`` need not find out then whether
        float32 rows are few enough to be multiplied in float64 (it tries both for a second).
    max_decompressed_bytes : int >= 1
        Bytes that a row group of a Parquet file may unpack to; by default 16 GiB.

    Returns
    -------
    RowStream

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        When the source is none of these, a file or a column is missing, or a row group of a
        Parquet file is too large.

    Notes
    -----
    The rows of a query must be in one chunk, in any order, or at the end of one and the start of
    the next; a query may go on over any number of chunks. A RankingData may have them in any
    order (its index, 8 bytes a row, is kept where they are not grouped). A Parquet file takes the
    memory of one row group of it.

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
        return InMemory(source, chunk_rows)
    roles = {"label": label, "qid": qid, "doc_id": doc_id, "sample_weight": sample_weight}
    columns = partial(Columns.of, **roles, features=features)
    if _is_path(source):
        return ParquetFiles.find(source, columns, dtype, chunk_rows, max_decompressed_bytes)
    if isinstance(source, Iterator):
        return Once(lambda: source, columns, dtype, n_samples)
    if isinstance(source, Callable):
        return Repeated(source, columns, dtype, n_samples)
    if isinstance(source, Iterable) and not isinstance(source, np.ndarray):
        return Repeated(source.__iter__, columns, dtype, n_samples)
    raise TypeError(
        f"source must be a path of Parquet files, a RankingData, an iterable of chunks or a "
        f"callable that returns one, got {type(source).__name__}. Rows in memory go into fit as "
        "they are."
    )


def _is_path(source: Any) -> bool:
    paths = source if isinstance(source, list) and source else [source]
    return all(isinstance(path, str | os.PathLike) for path in paths)
