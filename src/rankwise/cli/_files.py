"""Files on the command line as tables: LETOR text, CSV, Parquet, text with side files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rankwise.cli._errors import UsageError

if TYPE_CHECKING:
    from rankwise.datasets import RankingData

PACKED = (".gz", ".bz2", ".xz", ".zst")
NO_COLUMNS: Mapping[str, str] = MappingProxyType({})
_TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq")


def read_files(
    paths: Sequence[str], n_features: int | None = None, columns: Mapping[str, Any] = NO_COLUMNS
) -> RankingData:
    """Files of one kind as one table; text with a file of group sizes beside it has its queries."""
    from rankwise.datasets import read_grouped, read_letor, read_table
    from rankwise.datasets.readers.side_names import SIZES, side_file

    are_tables = {is_table_file(path) for path in paths}
    if len(are_tables) > 1:
        raise UsageError("DATA mixes LETOR text with CSV or Parquet files. Convert one of them.")
    for path in paths:
        if not exists(path):
            raise UsageError(f"{path!r} is no file.")
    if are_tables.pop():
        return stack([read_table(path, **columns) for path in paths], data_name(paths))
    if columns:
        raise UsageError(f"{paths[0]} is text, whose columns have no names.")
    if any(side_file(Path(path), SIZES) for path in paths):
        if len(paths) > 1:
            raise UsageError(
                f"{paths[0]} has its group sizes in a file beside it, which only one file of DATA "
                "may have. Convert each to LETOR text first."
            )
        return read_grouped(paths[0], n_features=n_features)
    return read_letor(list(paths), n_features=n_features)


def same_width(paths: Sequence[Sequence[str]]) -> list[RankingData]:
    """Tables that are to fit together: text files do not name columns of zeros."""
    tables = [read_files(files) for files in paths]
    widest = max(table.n_features for table in tables)
    return [
        table if table.n_features == widest or is_table_file(files[0])
        else read_files(files, widest)
        for table, files in zip(tables, paths, strict=True)
    ]  # fmt: skip


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
    )


def is_table_file(path: str | Path) -> bool:
    """Whether a file is CSV, TSV or Parquet, by its name."""
    name = str(path).lower()
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    return name.endswith(_TABLES)


def exists(path: str) -> bool:
    """Whether a path names a file or folder, or is a pattern."""
    return Path(path).exists() or any(letter in path for letter in "*?[")


def data_name(data: Sequence[str]) -> str:
    """A short name of DATA for titles."""
    first = Path(data[0])
    name = first.name if first.exists() else data[0]
    return name if len(data) == 1 else f"{name} and {len(data) - 1} more"
