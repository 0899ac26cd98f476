"""Formats of scores, by name and by the suffix of a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from rankwise.cli._files import PACKED


class ScoreFormat(StrEnum):
    """How scores are written."""

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
    """The format that a file's name asks for, else one score per line."""
    name = "" if out is None else out.name.lower()
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    return _SUFFIXES.get(Path(name).suffix, ScoreFormat.scores)
