"""Rows without query ids, with side files of group sizes, as in LightGBM and XGBoost.

Rows are SVMlight text or, in LightGBM, tables of numbers without a header, whose first column is
the label.

``train.txt`` comes with ``train.txt.query`` (LightGBM) or ``train.txt.group`` (XGBoost), one
number of consecutive rows per line, and perhaps with ``train.txt.weight``: one weight per row in
LightGBM, one per query in XGBoost (whose release 3.2 dropped side files). Positions and
initial scores are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.delimited import DelimitedFile, read_delimited
from rankwise.datasets.readers.side_names import (
    SIZES,
    SIZES_FIX,
    WEIGHT,
    names_columns,
    number_separator,
    side_file,
    side_files,
    stem,
)
from rankwise.datasets.readers.svmlight import add_weights, has_no_qid, read_rows
from rankwise.datasets.readers.text_columns import lines_of, read_columns
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    TextFile,
    check_there,
    find_line_start,
    open_text,
)
from rankwise.datasets.table_columns import Roles
from rankwise.datasets.writers.write import letor_text
from rankwise.groups import QueryGroups
from rankwise.runtime.output import compress, replace_files
from rankwise.typing import Float64Array


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
        If there is no such file, or no file of sizes.
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
    which readers refuse, but never rows with the sizes of other rows.

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
