"""The text format of the extreme classification repository: many labels, sparse features.

The first line holds the numbers of rows, features and labels. Every other line is a row: labels
separated by commas (a leading blank means no labels), then pairs ``feature:value``. Labels and
features are counted from 0.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.datasets.data import MultiLabelData
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, PathLike, read_text
from rankwise.typing import Float64Array

# Up to fifteen digits, which float64 holds exactly. Possessive quantifiers: linear time.
_INDEX = rb"0*[0-9]{1,15}"
_VALUE = rb"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_SIZE = re.compile(_INDEX)
_MOST_COLUMNS = 2**31 - 1  # SciPy numbers the columns of sparse rows by int32
_LABELS = re.compile(rb"%b(?:,%b)*+" % (_INDEX, _INDEX))
_PAIRS = re.compile(rb"%b:%b(?:[ \t]++%b:%b)*+" % (_INDEX, _VALUE, _INDEX, _VALUE))
_HEADER = "the numbers of rows, features and labels, separated by blanks"


def read_extreme(
    path: PathLike, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
) -> MultiLabelData:
    """Read a file of the extreme classification repository [1]_, plain or compressed.

    Parameters
    ----------
    path : path-like
        File with ``n d k`` in the first line, then n lines ``l1,l2 f:v f:v``.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Returns
    -------
    MultiLabelData
        Data with X and Y in CSR, with sorted columns and without stored zeros.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the header or a row is malformed, an index is out of range or repeated, or the number of
        rows differs from the header.

    Notes
    -----
    O(size of the file); the file and its numbers are both held in memory.

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
    text = read_text(path, max_decompressed_bytes).replace(b"\r\n", b"\n")
    header, _, body = text.partition(b"\n")
    sizes = header.split()
    if len(sizes) != 3 or not all(map(_SIZE.fullmatch, sizes)):
        raise ValueError(
            f"{path}, line 1 must hold {_HEADER}, got {header[:60].decode('utf-8', 'replace')!r}."
        )
    n, d, k = (int(size.lstrip(b"0") or b"0") for size in sizes)
    if max(d, k) > _MOST_COLUMNS:
        raise ValueError(
            f"{path}, line 1: at most {_MOST_COLUMNS:,} features and as many labels can be read, "
            f"got {max(d, k):,}. Number those that occur anew, from 0."
        )
    lines = body.removesuffix(b"\n").split(b"\n") if body else []
    if len(lines) != n:
        raise ValueError(f"{path} must have the {n} rows stated in line 1, got {len(lines)}.")
    parts = [_parted(path, row, line) for row, line in enumerate(lines)]
    labels, features = [labels for labels, _ in parts], [features for _, features in parts]
    n_labels = np.array([text.count(b",") + 1 if text else 0 for text in labels], dtype=np.int64)
    n_pairs = np.array([text.count(b":") for text in features], dtype=np.int64)
    of_labels = _numbers(b" ".join(labels).replace(b",", b" "))
    pairs = _numbers(b" ".join(features).replace(b":", b" "))
    Y = _csr(path, n_labels, of_labels, np.ones(len(of_labels), dtype=np.int64), (n, k), "label")
    X = _csr(path, n_pairs, pairs[0::2], pairs[1::2], (n, d), "feature")
    return MultiLabelData(X, Y, name=path.name.partition(".")[0])


def _parted(path: Path, row: int, line: bytes) -> tuple[bytes, bytes]:
    """Labels and features of a line."""
    labels, _, features = line.partition(b" ")
    if b":" in labels:
        labels, features = b"", line
    features = features.strip(b" \t")
    if (labels and not _LABELS.fullmatch(labels)) or (features and not _PAIRS.fullmatch(features)):
        raise ValueError(
            f"{path}, line {row + 2}: a row must read 'l1,l2 f:v f:v', got "
            f"{line[:60].decode('utf-8', 'replace')!r}."
        )
    return labels, features


def _numbers(text: bytes) -> Float64Array:
    """Numbers separated by blanks."""
    if not text.strip():
        return np.empty(0)
    return np.fromstring(text.decode("ascii"), dtype=np.float64, sep=" ")


def _csr(
    path: Path, counts: Any, indices: Float64Array, values: Any, shape: tuple[int, int], what: str
) -> Any:
    columns = indices.astype(np.int64)
    rows = np.repeat(np.arange(shape[0]), counts)
    bad = np.flatnonzero((columns != indices) | (columns < 0) | (columns >= shape[1]))
    if len(bad):
        raise ValueError(
            f"{path}, line {rows[bad[0]] + 2}: {what} {indices[bad[0]]:g} is not one of the "
            f"{shape[1]} stated in line 1, counted from 0."
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
        raise ValueError(f"{path}, line {row + 2}: a {what} is repeated. List each once.")
    matrix.eliminate_zeros()
    return matrix
