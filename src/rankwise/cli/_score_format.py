"""Output formats of scores, chosen by name or by file suffix."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from rankwise.cli._files import unpack_archives


class ScoreFormat(StrEnum):
    """Output format of scores."""

    scores = "scores"
    trec = "trec"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    jsonl = "jsonl"


_SUFFIXES = {
    ".run": ScoreFormat.trec,
    ".trec": ScoreFormat.trec,
    ".csv": ScoreFormat.csv,
    ".tsv": ScoreFormat.tsv,
    ".parquet": ScoreFormat.parquet,
    ".pq": ScoreFormat.parquet,
    ".jsonl": ScoreFormat.jsonl,
    ".ndjson": ScoreFormat.jsonl,
}


def format_of(out: Path | None) -> ScoreFormat:
    """Format implied by the suffix of a file; one score per line by default."""
    name = "" if out is None else unpack_archives(out.name.lower())
    return _SUFFIXES.get(Path(name).suffix, ScoreFormat.scores)
