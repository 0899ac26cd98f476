"""The text format of the extreme classification repository: many labels, sparse features.

The first line holds the numbers of rows, features and labels; every other line one row: labels
separated by commas (none: the line begins with a blank), then pairs ``feature:value``, both
counted from 0.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.datasets.multi_label import MultiLabelData
from rankwise.datasets.textfiles import PathLike, open_text
from rankwise.typing import Float64Array

_PAIRS = re.compile(rb"\s*(?:[^\s:]+:[^\s:]+\s*)*")
_HEADER = "the numbers of rows, features and labels, separated by blanks"


def read_extreme(path: PathLike) -> MultiLabelData:
    """Rows of a file of the extreme classification repository [1]_, plain or compressed.

    Parameters
    ----------
    path : path-like
        ``n d k`` in the first line, then n lines ``l1,l2 f:v f:v``.

    Returns
    -------
    MultiLabelData
        X and Y are CSR with sorted columns; zeros are not stored.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        When the first line is no header, a line does not read as a row, an index is out of range
        or given twice, or there are more or fewer rows.

    Notes
    -----
    O(size of the file); the file and its numbers are in memory at once.

    References
    ----------
    .. [1] Bhatia, Dahiya, Jain, Kar, Mittal, Prabhu & Varma, "The extreme classification
       repository: multi-label datasets and code" (2016).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.txt")
    ...     _ = path.write_text("2 3 4\\n0,3 0:1 2:0.5\\n 1:2\\n")
    ...     data = read_extreme(path)
    >>> data.X.toarray().tolist(), data.Y.toarray().tolist()
    ([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]], [[1, 0, 0, 1], [0, 0, 0, 0]])
    """
    path = Path(path)
    file = open_text(path)
    text = file.read(file.start, file.stop).replace(b"\r\n", b"\n")
    header, _, body = text.partition(b"\n")
    sizes = header.split()
    if len(sizes) != 3 or not all(size.isdigit() for size in sizes):
        raise ValueError(
            f"{path}, line 1 must hold {_HEADER}, got {header[:60].decode('utf-8', 'replace')!r}."
        )
    n, d, k = (int(size) for size in sizes)
    lines = body.removesuffix(b"\n").split(b"\n") if body else []
    if len(lines) != n:
        raise ValueError(f"{path} must have the {n} rows that line 1 says, got {len(lines)}.")
    parts = [_parted(line) for line in lines]
    labels, features = [labels for labels, _ in parts], [features for _, features in parts]
    n_labels = np.array([of.count(b",") + 1 if of else 0 for of in labels], dtype=np.int64)
    n_pairs = np.array([of.count(b":") for of in features], dtype=np.int64)
    for row, of in enumerate(features):
        if not _PAIRS.fullmatch(of):
            raise _unreadable(path, row, lines[row])
    of_labels = _numbers(path, lines, [of.replace(b",", b" ") for of in labels], n_labels)
    pairs = _numbers(path, lines, [of.replace(b":", b" ") for of in features], 2 * n_pairs)
    Y = _csr(path, n_labels, of_labels, np.ones(len(of_labels), dtype=np.int64), (n, k), "label")
    X = _csr(path, n_pairs, pairs[0::2], pairs[1::2], (n, d), "feature")
    return MultiLabelData(X, Y, name=path.name.partition(".")[0])


def _parted(line: bytes) -> tuple[bytes, bytes]:
    """Labels and features of a line."""
    first, _, rest = line.partition(b" ")
    return (b"", line) if b":" in first else (first, rest)


def _numbers(path: Path, lines: list[bytes], parts: list[bytes], counts: Any) -> Float64Array:
    """The numbers of all parts, which must be as many as counted."""
    numbers = _parsed(b" ".join(parts))
    if numbers is not None and len(numbers) == counts.sum():
        return numbers
    for row, (part, count) in enumerate(zip(parts, counts, strict=True)):
        found = _parsed(part)
        if found is None or len(found) != count:
            raise _unreadable(path, row, lines[row])
    raise AssertionError("parts read alone but not together")


def _parsed(text: bytes) -> Float64Array | None:
    """Numbers separated by blanks; None where it is anything else."""
    if not text.strip():
        return np.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how NumPy says that it stopped early
        try:
            return np.fromstring(text.decode("ascii", "replace"), dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _csr(
    path: Path, counts: Any, indices: Float64Array, values: Any, shape: tuple[int, int], what: str
) -> Any:
    columns = indices.astype(np.int64)
    rows = np.repeat(np.arange(shape[0]), counts)
    bad = np.flatnonzero((columns != indices) | (columns < 0) | (columns >= shape[1]))
    if len(bad):
        raise ValueError(
            f"{path}, line {rows[bad[0]] + 2}: {what} {indices[bad[0]]:g} is none of the "
            f"{shape[1]} that line 1 says, counted from 0."
        )
    finite = np.isfinite(values)
    if not finite.all():
        raise ValueError(f"{path}, line {rows[np.argmin(finite)] + 2}: values must be finite.")
    matrix = sparse.csr_matrix(
        (values, columns, np.concatenate([[0], np.cumsum(counts)])), shape=shape
    )
    matrix.sort_indices()
    again = np.diff(matrix.indices) == 0
    again &= rows[1:] == rows[:-1]
    if again.any():
        row = int(rows[np.argmax(again)])
        raise ValueError(f"{path}, line {row + 2}: a {what} is named twice. Give each once.")
    matrix.eliminate_zeros()
    return matrix


def _unreadable(path: Path, row: int, line: bytes) -> ValueError:
    return ValueError(
        f"{path}, line {row + 2}: a row must read 'l1,l2 f:v f:v', got "
        f"{line[:60].decode('utf-8', 'replace')!r}."
    )
