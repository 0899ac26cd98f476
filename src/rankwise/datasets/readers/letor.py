"""Read SVMlight/LETOR text, through a cache if wanted, and rows whose queries are in a side file.

``train.txt`` comes with ``train.txt.query`` (LightGBM) or ``train.txt.group`` (XGBoost), one
number of consecutive rows per line, and perhaps with ``train.txt.weight``: one weight per row in
LightGBM, one per query in XGBoost (whose release 3.2 dropped side files). Positions and initial
scores are not read. The rows are SVMlight text or, in LightGBM, a table of numbers without a
header, the label first.
"""

from __future__ import annotations

import stat
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from rankwise.datasets.data import RankingData
from rankwise.datasets.letor_text import doc_ids, letor_text, pack_text, unpack_text
from rankwise.datasets.readers.cache import CacheSlot
from rankwise.datasets.readers.delimited import (
    SIZES,
    SIZES_FIX,
    WEIGHT,
    DelimitedFile,
    names_columns,
    number_separator,
    read_delimited,
    side_file,
    side_files,
    stem,
)
from rankwise.datasets.readers.letor_parse import LetorOptions, parse_files
from rankwise.datasets.readers.text_columns import lines_of, read_columns
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    PathLike,
    TextFile,
    check_there,
    find_files,
    find_line_start,
    open_text,
)
from rankwise.datasets.table_columns import Roles
from rankwise.groups import QueryGroups
from rankwise.kernels.svmlight import is_canonical
from rankwise.runtime.arrow import pa
from rankwise.runtime.files import compress, replace_files
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, is_sparse


def read_letor(
    path: PathLike | Sequence[PathLike],
    *,
    dtype: DTypeLike = np.float32,
    n_features: int | None = None,
    dense: bool | Literal["auto"] = "auto",
    zero_based: bool | Literal["auto"] = "auto",
    cache: bool | Literal["beside"] = True,
    verify: bool = False,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> RankingData:
    r"""Read judged rows from SVMlight/LETOR text with lines ``label qid:id index:value # comment``.

    Parameters
    ----------
    path : str, path-like, or list of these
        Files to read as one, in the given order; a glob pattern is replaced by its sorted matches.
        Files may be plain or compressed by gzip, bzip2, xz or zstd, which is detected from the
        first bytes. Compressed files are held in memory as text while they are read.
    dtype : float32 or float64
        Type of the features. Every number is the double nearest to its decimal form, as in
        ``float``; float32 rounds that double.
    n_features : int >= 1, optional
        Number of columns (default: from the largest index). Pass it when reading parts that must
        have the same columns. A larger index is an error.
    dense : "auto", True or False
        Whether X is an ndarray rather than CSR. "auto": an ndarray if at least a quarter of the
        matrix is written in the file. CSR keeps zeros that are written.
    zero_based : "auto", True or False
        Whether index 0 is the first column. "auto": True if index 0 occurs in any of the files.
        LETOR starts at 1.
    cache : True, False or "beside"
        Whether to cache the parsed arrays. True: in the cache folder (``RANKWISE_CACHE``, else the
        platform's). "beside": next to the first file, or in the cache folder if that is not
        writable. A second read with the same options maps the cache into memory. Changes to mapped
        arrays stay in this process.
    verify : bool
        Whether to check a cache by full checksums of source and arrays. Otherwise, an edit of the
        source is missed if it keeps size, modification time and 18 sampled blocks of 64 kB; see
        ``rankwise.datasets.readers.cache``.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most
        200 times the file if it is more than 64 MiB: a small file can decompress to any size.

    Returns
    -------
    data : RankingData
        Rows with ``y`` in float64. ``qid`` is int64 if all query ids are 64-bit integers as they
        are usually written, text if any is not, such as ``07``, ``+7`` or ``-0``, and zeros if no
        row has one. ``comments`` holds the text after ``#`` without surrounding
        white space: "" for rows without a comment, None if no row has one. ``doc_ids`` holds the
        text after ``docid =`` in the comments, likewise. ``sample_weight`` holds the number after
        ``cost:`` (1 for rows without one), or the weights in the side file ``<path>.weight`` of a
        single file, one for each row or each query; None if there are neither.

    Raises
    ------
    ValueError
        If a token is malformed; the message names file, line, column and reason. Also if there are
        no rows, compressed data are damaged, truncated or too large, the text is UTF-16, a file is
        written to while it is read, a dense matrix does not fit into memory, or the number of
        weights in a side file matches neither the rows nor the queries.
    FileNotFoundError, IsADirectoryError

    Warns
    -----
    UserWarning
        If no row has a qid and there is a side file of group sizes: see
        :func:`rankwise.datasets.read_grouped`. Also if several files are read and one has a side
        file of weights, which are then not read.

    Notes
    -----
    Format of a line: blank lines and comment lines are skipped. CRLF line ends, any white space
    between tokens, a UTF-8 byte order mark and a missing last newline are accepted. Numbers are
    those of ``float`` in ASCII digits, without underscores: ``+1``, ``.5``, ``1e-3``, ``nan``,
    ``inf``. NaN and infinities are kept; a decimal number that exceeds ``dtype`` is an error.
    Indices are whole numbers up to 2**31 - 1 in any order; a repeated index in a row is an error. A
    row without features is a row of zeros. Either all rows have a qid or none. Query ids that are
    text must be UTF-8; a NUL character in a query id or in a comment is an error. A file truncated
    inside a token is an error if the rest of the token is not a number; a number that has lost
    digits cannot be distinguished from a shorter one.

    Time O(bytes) on all cores, of which about a tenth counts lines. Memory: the result and some
    megabytes per thread.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "judged.txt"
    ...     _ = path.write_text("2 qid:7 1:0.5 2:1 # docid = a\n0 qid:7 2:3 # docid = b\n")
    ...     data = read_letor(path, cache=False)
    >>> data
    RankingData('judged': 2 rows, 1 queries, 2 features, dense float32)
    >>> data.doc_ids.tolist()
    ['a', 'b']
    """
    data = read_rows(
        path,
        dtype=dtype,
        n_features=n_features,
        dense=dense,
        zero_based=zero_based,
        cache=cache,
        verify=verify,
        max_decompressed_bytes=max_decompressed_bytes,
    )
    files = find_files(path)
    if has_no_qid(data) and _warn_of_sizes(files):
        return data
    weight_files = [side_file(file, (WEIGHT,)) for file in files]
    if len(files) == 1 and weight_files[0] is not None:
        return add_weights(data, weight_files[0], data.groups, max_decompressed_bytes)
    for file in weight_files:
        if file is not None:
            warnings.warn(
                f"the weights in {file} are not read with several files. Read the files one by "
                "one, or write weights into the rows: cost:WEIGHT.",
                UserWarning,
                stacklevel=2,
            )
            break
    return data


def add_weights(
    data: RankingData, path: Path, groups: QueryGroups, max_decompressed_bytes: int
) -> RankingData:
    """The rows with the weights (>= 0) in a side file, one for each row or each query.

    Rows with weights of their own raise ValueError.
    """
    if data.sample_weight is not None:
        raise ValueError(
            f"the rows have weights (cost:), and there are others in {path}. Remove one of them."
        )
    columns = read_columns(open_text(path, max_decompressed_bytes), ("weight",))
    weight = columns.reals(0)
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise ValueError(
            f"{columns.where(row)}: weights must be >= 0, got {weight[row]}. Use 0 to leave a row "
            "out."
        )
    if len(weight) == groups.n_samples:
        return replace(data, sample_weight=weight)
    if len(weight) == groups.n_queries:
        return replace(data, sample_weight=weight[groups.codes()])
    raise ValueError(
        f"{path}: there must be one weight per row ({groups.n_samples}) or per query "
        f"({groups.n_queries}), got {len(weight)}."
    )


def read_rows(
    path: PathLike | Sequence[PathLike],
    *,
    dtype: DTypeLike,
    n_features: int | None,
    dense: bool | Literal["auto"],
    zero_based: bool | Literal["auto"],
    cache: bool | Literal["beside"],
    verify: bool = False,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> RankingData:
    """Like :func:`read_letor`, but without looking for side files."""
    options = _options(dtype, n_features, dense, zero_based)
    if cache not in (True, False, "beside"):
        raise ValueError(f"cache must be True, False or 'beside', got {cache!r}.")
    files = find_files(path)
    name = _name(files)
    if not cache or not all(stat.S_ISREG(file.stat().st_mode) for file in files):
        return _from_arrays(*_parse(files, options, max_decompressed_bytes), name)
    slot = CacheSlot.of(
        files,
        {
            "dtype": options.dtype.name,
            "n_features": options.n_features,
            "dense": options.dense,
            "zero_based": options.zero_based,
        },
        beside=cache == "beside",
    )  # fmt: skip

    def build(arrays: Mapping[str, NDArray[Any]], extra: Mapping[str, Any]) -> RankingData:
        return _from_arrays(arrays, extra, name)

    data = slot.load(build, verify=verify)
    if data is None:
        parsed = _parse(files, options, max_decompressed_bytes)
        data = slot.load(build) if slot.store(*parsed) else None
        if data is None:
            data = build(*parsed)
    return data


def has_no_qid(data: RankingData) -> bool:
    """Whether no row has a query id."""
    return data.qid.dtype.kind == "i" and not data.qid.any()


def _warn_of_sizes(files: Sequence[Path]) -> bool:
    """Warn if a file has a side file of group sizes; return whether one has."""
    for file in files:
        sizes = side_file(file, SIZES)
        if sizes is not None:
            warnings.warn(
                f"{file} has no query ids, so all its rows are one query, but there is a side file "
                f"{sizes}. Read the queries with read_grouped({str(file)!r}).",
                UserWarning,
                stacklevel=3,
            )
            return True
    return False


def _options(dtype: DTypeLike, n_features: Any, dense: Any, zero_based: Any) -> LetorOptions:
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype).name}.")
    whole = isinstance(n_features, int | np.integer) and not isinstance(n_features, bool)
    if n_features is not None and not (whole and n_features >= 1):
        raise ValueError(f"n_features must be a whole number >= 1 or None, got {n_features!r}.")
    for name, value in (("dense", dense), ("zero_based", zero_based)):
        if value not in (True, False, "auto"):
            raise ValueError(f"{name} must be True, False or 'auto', got {value!r}.")
    return LetorOptions(
        np.dtype(dtype),
        None if n_features is None else int(n_features),
        dense if dense == "auto" else bool(dense),
        zero_based if zero_based == "auto" else bool(zero_based),
    )


def _name(files: Sequence[Path]) -> str:
    """Name from the stems of the files, for tables: "S1+S2+S3", or "S1 and 4 more"."""
    stems = [file.name.partition(".")[0] for file in files]
    return "+".join(stems) if len(stems) <= 3 else f"{stems[0]} and {len(stems) - 1} more"


def _parse(
    files: Sequence[Path], options: LetorOptions, max_decompressed_bytes: int
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Parse files; return the named arrays of the cache, and the shape of X."""
    texts = thread_map(lambda file: open_text(file, max_decompressed_bytes), files)
    rows = parse_files(texts, options)
    arrays: dict[str, NDArray[Any]] = {}
    if is_sparse(rows.X):
        arrays |= {f"X.{part}": getattr(rows.X, part) for part in ("data", "indices", "indptr")}
    else:
        arrays["X"] = rows.X
    arrays["y"] = rows.y
    if rows.weight is not None:
        arrays["sample_weight"] = rows.weight
    arrays |= pack_text("qid", rows.qid) if isinstance(rows.qid, list) else {"qid": rows.qid}
    if rows.comments is not None:
        arrays |= pack_text("comments", rows.comments)
        arrays |= pack_text("doc_ids", doc_ids(rows.comments))
    return arrays, {"shape": list(rows.X.shape), "base": rows.base}


def _from_arrays(
    arrays: Mapping[str, NDArray[Any]], extra: Mapping[str, Any], name: str
) -> RankingData:
    X: Any = arrays.get("X")
    n_rows, n_columns = shape = tuple(extra["shape"])
    columns = [array for part, array in arrays.items() if part != "X"]
    weight = arrays.get("sample_weight")
    if any(column.ndim != 1 for column in columns) or any(
        array is not None and array.dtype != np.float64 for array in (arrays["y"], weight)
    ):
        raise ValueError("a column has an unexpected shape or type")
    if X is None:
        data, indices, indptr = (arrays[f"X.{part}"] for part in ("data", "indices", "indptr"))
        if not (
            n_rows == len(indptr) - 1
            and len(data) == len(indices)
            and indices.dtype.kind == indptr.dtype.kind == "i"
            and is_canonical(indptr, indices, n_columns)
        ):
            raise ValueError("the parts of X do not match its shape")
        X = sparse.csr_matrix((data, indices, indptr), shape=shape, copy=False)
        X.has_canonical_format = True  # verified by the check above
    if X.shape != shape or X.dtype.kind != "f":
        raise ValueError("X has an unexpected shape or type")
    qid = unpack_text("qid", arrays)
    if qid is None:
        raise KeyError("qid")
    return RankingData(
        X, arrays["y"], qid=qid, doc_ids=unpack_text("doc_ids", arrays),
        comments=unpack_text("comments", arrays), sample_weight=weight, name=name,
        first_feature=int(extra["base"]),
    )  # fmt: skip


def read_grouped(
    path: str | Path,
    *,
    sizes: str | Path | None = None,
    weight: str | Path | None = None,
    dtype: DTypeLike = np.float32,
    n_features: int | None = None,
    dense: bool | Literal["auto"] = "auto",
    zero_based: bool | Literal["auto"] = "auto",
    cache: bool | Literal["beside"] = True,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> RankingData:
    """Read SVMlight text, or a table of numbers, with queries and weights in side files.

    Parameters
    ----------
    path : path
        Text file, plain or compressed: SVMlight text whose rows have no ``qid:``, or numbers
        separated by tabs or commas, without a header, with the label in the first column. Missing
        numbers (empty, NA or nan) are NaN.
    sizes : path, optional
        File with the number of rows of each query, one per line (default: ``<path>.query`` or
        ``<path>.group``).
    weight : path, optional
        File with one weight per line, for each row or each query (default: ``<path>.weight``, if
        it exists).
    dtype, n_features, dense, zero_based, cache, max_decompressed_bytes
        As in :func:`rankwise.datasets.read_letor`. A table of numbers is dense, is not cached, and
        must have ``n_features`` features if that is given.

    Returns
    -------
    RankingData
        Data with query ids 0, 1, … in the order of the sizes. A weight per query is assigned to all
        its rows.

    Raises
    ------
    FileNotFoundError
        If the file or its file of sizes does not exist.
    ValueError
        If rows have query ids or names of columns, two files of sizes differ, sizes do not sum to
        the number of rows, the number of weights matches neither the rows nor the queries, a weight
        is negative, or a line is malformed.
    """
    path = Path(path)
    check_there(path)
    size_files = side_files(path, SIZES) if sizes is None else [Path(sizes)]
    if not size_files:
        raise FileNotFoundError(
            f"{path} has no file of group sizes beside it ({' or '.join(SIZES)} appended to the "
            "name). Pass sizes='…', or read files with qid by read_letor."
        )
    text = open_text(path, max_decompressed_bytes)
    if text.read(text.start, text.start + 4) == b"PAR1":
        raise ValueError(f"{path} is a Parquet table. {SIZES_FIX}")
    first_line = text.read(text.start, find_line_start(text, text.start + 1))
    if names_columns(first_line):
        raise ValueError(f"{path}: the first line names columns. {SIZES_FIX}")
    separator = number_separator(first_line)
    if separator is not None:
        data = _read_numbers(text, separator, dtype, n_features)
    else:
        data = read_rows(
            path, dtype=dtype, n_features=n_features, dense=dense, zero_based=zero_based,
            cache=cache, max_decompressed_bytes=max_decompressed_bytes,
        )  # fmt: skip
        if not has_no_qid(data):
            raise ValueError(
                f"{path} has query ids in its rows, and {size_files[0]} has sizes of queries. "
                "Delete one of them, or read the rows alone with read_letor."
            )
    groups = _groups(size_files, data.n_samples, max_decompressed_bytes)
    data = replace(data, qid=groups.row_ids())
    weight_path = side_file(path, (WEIGHT,)) if weight is None else Path(weight)
    if weight_path is None:
        return data
    return add_weights(data, weight_path, groups, max_decompressed_bytes)


def write_grouped(
    data: RankingData, path: str | Path, style: Literal["lightgbm", "xgboost"] = "lightgbm"
) -> None:
    """Write SVMlight text without query ids, with side files of group sizes and weights.

    Rows are written query by query. Indices start at 1, as in LETOR; both programs count from 0,
    so their first column is empty.

    Side files of an old file at ``path``, including compressed ones, are deleted. The new files are
    put in place together, the sizes last. An interrupted write therefore leaves rows without sizes,
    which readers reject, but never rows with the sizes of other rows.

    Parameters
    ----------
    data : RankingData
    path : path
        File to write. The suffixes ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress the rows; the
        names of the side files omit them.
    style : {"lightgbm", "xgboost"}
        Format of the side files: ``.query`` and weights per row, or ``.group`` and weights per
        query.

    Raises
    ------
    ValueError
        If weights differ within a query and the style is "xgboost".
    """
    if style not in ("lightgbm", "xgboost"):
        raise ValueError(f"style must be 'lightgbm' or 'xgboost', got {style!r}.")
    path, groups = Path(path), data.groups
    weight = None if data.sample_weight is None else groups.sort(data.sample_weight)
    if weight is not None and style == "xgboost":
        weight = _query_weights(weight, groups)
    in_order = data if groups.order is None else data.take(groups.order)
    start = stem(path)
    sizes_path = Path(f"{start}{'.query' if style == 'lightgbm' else '.group'}")
    texts: list[tuple[Path, Iterable[bytes | memoryview]]] = [
        (path, letor_text(replace(in_order, sample_weight=None), with_qid=False))
    ]
    if weight is not None:
        texts.append((Path(f"{start}{WEIGHT}"), lines_of([pa.array(weight).cast(pa.string())])))
    texts.append((sizes_path, lines_of([pa.array(groups.sizes).cast(pa.string())])))
    paths = [place for place, _ in texts]
    with replace_files(paths, outdated=side_files(path, (*SIZES, WEIGHT))) as files:
        for (place, lines), file in zip(texts, files, strict=True):
            with compress(place, file) as stream:
                for line in lines:
                    stream.write(line)


def _groups(paths: Sequence[Path], n_rows: int, max_decompressed_bytes: int) -> QueryGroups:
    """Groups of the sizes in a file, or in several that agree."""
    found = [
        read_columns(open_text(path, max_decompressed_bytes), ("size",)).integers(0)
        for path in paths
    ]
    path, sizes = paths[0], found[0]
    for other, others in zip(paths[1:], found[1:], strict=True):
        if not np.array_equal(sizes, others):
            raise ValueError(
                f"{path} and {other} give different sizes of queries. Delete the file that does "
                "not belong to the rows."
            )
    if (sizes < 0).any():
        raise ValueError(f"{path}: sizes must be >= 0, got {sizes.min()}.")
    total = sum(sizes.tolist())  # of Python's integers, which do not wrap around
    if total != n_rows:
        raise ValueError(
            f"{path}: sizes must sum to the number of rows, {n_rows}, got {total}. "
            "Does the file belong to other data?"
        )
    return QueryGroups.from_sizes(sizes[sizes > 0])


def _read_numbers(
    file: TextFile, separator: str, dtype: DTypeLike, n_features: int | None
) -> RankingData:
    """Read a table of numbers without a header: the label, then the features."""
    text = file.read(file.start, file.stop)
    file.check_unchanged()
    n_columns = text.partition(b"\n")[0].count(separator.encode()) + 1
    if n_features not in (None, n_columns - 1):
        raise ValueError(f"{file.path} has {n_columns - 1} features, but n_features={n_features}.")
    names = ["label", *(f"{number} of the file" for number in range(2, n_columns + 1))]
    text = separator.join(names).encode() + b"\n" + text
    table = DelimitedFile(file.path, separator, TextFile(file.path, 0, len(text), text), 0)
    _, found = read_delimited([table], Roles("label", False, False, False, names[1:]), dtype)
    name = file.path.name.partition(".")[0]
    return replace(RankingData.from_rows(found, names, name), feature_names=None)


def _query_weights(weight: Float64Array, groups: QueryGroups) -> Float64Array:
    """One weight per query, of weights per row in group order."""
    per_query = weight[groups.indptr[:-1]]
    differs = weight != np.repeat(per_query, groups.sizes)
    if differs.any():
        query = groups.ids[np.searchsorted(groups.indptr, differs.argmax(), side="right") - 1]
        raise ValueError(
            f"sample_weight must be the same for all rows of a query in XGBoost, but query {query} "
            "has more than one weight. Use style='lightgbm'."
        )
    return per_query
