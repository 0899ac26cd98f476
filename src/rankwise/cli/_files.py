"""Files on the command line as tables: LETOR text, CSV, Parquet, text with side files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.cli._columns import NO_COLUMNS, ColumnOptions
from rankwise.cli._errors import UsageError

if TYPE_CHECKING:
    from rankwise.datasets import RankingData

PACKED = (".gz", ".bz2", ".xz", ".zst")
_TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq")


def read_files(
    paths: Sequence[str],
    n_features: int | None = None,
    columns: ColumnOptions = NO_COLUMNS,
    names: Sequence[str] | None = None,
) -> RankingData:
    """Files of one kind as one table; text with a file of group sizes beside it has its queries.

    Parameters
    ----------
    paths : sequence of str
        Files, patterns, and folders of tables.
    n_features : int, optional
        Columns of LETOR text, which names only the features that are not zero.
    columns : ColumnOptions
    names : sequence of str, optional
        Features that tables must have.
    """
    from rankwise.datasets import read_grouped, read_letor, read_table
    from rankwise.datasets.readers.side_names import SIZES, side_file

    if are_tables(paths, columns):
        features: dict[str, Any] = {} if names is None else {"features": list(names)}
        return replace(read_table(list(paths), **columns.words | features), name=data_name(paths))
    if any(side_file(Path(path), SIZES) for path in paths):
        if len(paths) > 1:
            raise UsageError(
                f"{paths[0]} has its group sizes in a file beside it, which only one file of DATA "
                "may have. Convert each to LETOR text first."
            )
        return read_grouped(paths[0], n_features=n_features)
    return read_letor(list(paths), n_features=n_features)


def are_tables(paths: Sequence[str], columns: ColumnOptions) -> bool:
    """Whether paths stand for tables, not for LETOR text.

    Raises
    ------
    UsageError
        When a path stands for nothing or for both, or options name columns of LETOR text.
    """
    for path in paths:
        if not exists(path):
            raise UsageError(f"{path!r} is no file.")
    kinds = {is_table(path, columns) for path in paths}
    if len(kinds) > 1:
        raise UsageError("DATA mixes LETOR text with CSV or Parquet files. Convert one of them.")
    for path in paths:
        if Path(path).is_dir() and not holds_tables(path):
            raise UsageError(
                f"{path} is a folder without Fold1, Fold2, … and without CSV or Parquet files. "
                f"Name its files, such as '{path}/*.txt'."
            )
    if not kinds.pop():
        if columns.options:
            raise UsageError(
                f"{paths[0]} is LETOR text, whose columns have no names. Drop {columns.options}, "
                "or add --sep if it is a table."
            )
        return False
    return True


def same_width(
    paths: Sequence[Sequence[str]], columns: ColumnOptions = NO_COLUMNS
) -> list[RankingData]:
    """Tables that are to fit together: those with names have the features of the first one.

    LETOR text does not name columns of zeros, so the widest of its parts decides.
    """
    first = read_files(paths[0], columns=columns)
    names = first.feature_names
    tables = [first, *(read_files(files, None, columns, names) for files in paths[1:])]
    widest = max(table.n_features for table in tables)
    return [
        table if names is not None or table.n_features == widest else read_files(files, widest)
        for table, files in zip(tables, paths, strict=True)
    ]


def stack(parts: Sequence[RankingData], name: str) -> RankingData:
    """Tables of the same columns one below the other."""
    import numpy as np
    from scipy import sparse

    if len(parts) == 1:
        return replace(parts[0], name=name)
    widths = {part.n_features for part in parts}
    if len(widths) > 1:
        raise ValueError(f"the files must have the same columns, got {sorted(widths)} features.")

    def column(what: str) -> Any:
        columns = [getattr(part, what) for part in parts]
        return None if any(c is None for c in columns) else np.concatenate(columns)

    blocks: list[Any] = [part.X for part in parts]
    is_dense = all(isinstance(block, np.ndarray) for block in blocks)
    return replace(
        parts[0],
        X=np.concatenate(blocks) if is_dense else sparse.vstack(blocks, format="csr"),
        y=column("y"),
        qid=column("qid"),
        doc_ids=column("doc_ids"),
        comments=column("comments"),
        sample_weight=column("sample_weight"),
        name=name,
        score_columns=_stacked([part.score_columns for part in parts]),
    )


def _stacked(parts: Sequence[Any]) -> Any:
    """Score columns one below the other; None where a part has none."""
    import numpy as np

    if any(part is None for part in parts):
        return None
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def is_table(path: str, columns: ColumnOptions = NO_COLUMNS) -> bool:
    """Whether a path stands for tables: by suffix, as a folder, or because --sep says so."""
    if columns.sep is not None or Path(path).is_dir():
        return True
    name = path if Path(path).exists() else next(iter(sorted(glob(path))), path)
    name = name.lower()
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    return name.endswith(_TABLES)


def holds_tables(folder: str) -> bool:
    """Whether there are tables in a folder or below."""
    from rankwise.datasets.readers.table import tables_below

    try:
        return bool(tables_below(Path(folder)))
    except FileNotFoundError:
        return False


def expanded(paths: Sequence[str]) -> list[str]:
    """The paths with the files that patterns stand for in their places, sorted."""
    return [
        match
        for path in paths
        for match in ([path] if Path(path).exists() else sorted(glob(path)) or [path])
    ]


def exists(path: str) -> bool:
    """Whether a path names a file or folder, or is a pattern."""
    return Path(path).exists() or any(letter in path for letter in "*?[")


def data_name(data: Sequence[str]) -> str:
    """A short name of DATA for titles."""
    first = Path(data[0])
    name = first.name if first.exists() else data[0]
    return name if len(data) == 1 else f"{name} and {len(data) - 1} more"
