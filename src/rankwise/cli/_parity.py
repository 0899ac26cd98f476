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
from rankwise.cli._scoring import chunks_to_score, join_chunk_rows
from rankwise.export import ParityCertificate, verify
from rankwise.streams.cutter import join_ids


def verify_rows(
    estimator: Any, path: Path, data: Sequence[str], features: list[str] | None
) -> ParityCertificate:
    """Certificate for the rows of DATA, all of them in memory."""
    with waiting("Verifying"):
        chunks = list(chunks_to_score(data, NO_COLUMNS, estimator))
        if not chunks:
            raise UsageError(f"--verify needs rows, but {data[0]} has none.")
        names = getattr(estimator, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        X = frame_for(estimator, join_chunk_rows(chunks), names)
        has_queries = all(chunk.qid is not None for chunk in chunks)
        qid = join_ids([chunk.qid for chunk in chunks]) if has_queries else None
        with warnings.catch_warnings():
            # The columns are already chosen by the model's feature names; rows come as an array.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return verify(estimator, path, X, qid=qid, features=features)
