"""Verify an exported file on rows in files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankwise.checks.named_columns import frame_for
from rankwise.cli._columns import NO_COLUMNS
from rankwise.cli._errors import UsageError
from rankwise.cli._progress import waiting
from rankwise.cli._scoring import chunks_to_score
from rankwise.datasets.readers.tables import delimiter_of, is_parquet, table_files
from rankwise.datasets.table_columns import Columns
from rankwise.export import ParityCertificate, verify
from rankwise.prediction import innermost
from rankwise.streams.cutter import join_ids
from rankwise.typing import join_rows


def verify_rows(
    estimator: Any, path: Path, data: Sequence[str], features: list[str] | None
) -> ParityCertificate:
    """Certificate for the rows of DATA, all of them in memory."""
    with waiting("Verifying"):
        if named := _find_named_categories(estimator):
            X, qid = _rows_with_text(data, estimator, named)
            return verify(estimator, path, X, qid=qid, features=features)
        chunks = list(chunks_to_score(data, NO_COLUMNS, estimator))
        if not chunks:
            raise UsageError(f"--verify needs rows, but {data[0]} has none.")
        names = getattr(estimator, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        X = frame_for(estimator, join_rows([chunk.X for chunk in chunks]), names)
        has_queries = all(chunk.qid is not None for chunk in chunks)
        qid = join_ids([chunk.qid for chunk in chunks]) if has_queries else None
        with warnings.catch_warnings():
            # The columns are already chosen by the model's feature names; rows come as an array.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return verify(estimator, path, X, qid=qid, features=features)


def _find_named_categories(estimator: Any) -> list[str]:
    """Columns whose categories are text, of a model that knows its columns by name."""
    table = getattr(innermost(estimator), "columns_", None)
    names = getattr(estimator, "feature_names_in_", None)
    if table is None or names is None:
        return []
    listed = {**table.nominal, **table.ordered}
    return [str(names[j]) for j, values in sorted(listed.items()) if values.dtype == object]


def _rows_with_text(data: Sequence[str], estimator: Any, text: list[str]) -> tuple[Any, Any]:
    """Frame with the columns of the model, some of them text, and the queries or None."""
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError(
            f"--verify needs pandas to read the text of {text[0]!r}. Run: pip install pandas"
        ) from error
    words: Any = dict.fromkeys(text, str)
    parts = [
        pd.read_parquet(file)
        if is_parquet(file)
        else pd.read_csv(
            file, sep=delimiter_of(file, None), dtype=words, keep_default_na=False, na_values=[""]
        )
        for file in table_files(list(data))
    ]
    table: Any = pd.concat(parts, ignore_index=True)
    if not len(table):
        raise UsageError(f"--verify needs rows, but {data[0]} has none.")
    names = [str(name) for name in estimator.feature_names_in_]
    columns = Columns.unjudged(
        {str(name): str(kind) for name, kind in table.dtypes.items()}, features=names, fitted=True
    )
    objects = {name: table[name].astype(object) for name in text}
    filled = {name: column.where(column.notna(), None) for name, column in objects.items()}
    X = table[names].assign(**filled)
    return X, table[columns.qid].to_numpy() if columns.qid else None
