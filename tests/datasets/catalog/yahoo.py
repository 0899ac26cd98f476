"""Files as the Yahoo! challenge has them, made up and small: features as ranks, grades 0 to 4."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankwise.datasets import known_datasets

# Queries of every part; the ids go on from part to part.
from rankwise.datasets.catalog import entries as catalog

QUERIES = {"train": 24, "valid": 6, "test": 7}
DOCUMENTS = 6
# Some of the 700 features are not in a set; the writer of the files leaves out zeros.
FEATURES = np.array([2, 7, 11, 305, 512, 699, 700])


def write_yahoo(root: Path, monkeypatch: pytest.MonkeyPatch, number: int = 1) -> Path:
    """Write ``ltrc_yahoo/set1.train.txt`` and so on; the catalog expects so many rows."""
    rng = np.random.default_rng(number)
    folder = root / "ltrc_yahoo"
    folder.mkdir(exist_ok=True)
    first = 1
    for part, n_queries in QUERIES.items():
        lines = []
        for query in range(first, first + n_queries):
            ranks = rng.integers(0, 12, (DOCUMENTS, len(FEATURES))) / 11
            raw = 3.5 * ranks[:, 0] + 2 * ranks[:, 1] - 1.5 + rng.normal(0, 0.3, DOCUMENTS)
            for y, row in zip(np.clip(raw.round(), 0, 4).astype(int), ranks, strict=True):
                values = [f"{f}:{v:.6g}" for f, v in zip(FEATURES, row, strict=True) if v > 0]
                lines.append(f"{y} qid:{query} {' '.join(values)}\n")
        (folder / f"set{number}.{part}.txt").write_text("".join(lines))
        first += n_queries
    name = f"yahoo-ltrc-{number}"
    entry = known_datasets()[name]
    files = tuple(
        replace(file, queries=n, rows=n * DOCUMENTS)
        for file, n in zip(entry.files, QUERIES.values(), strict=True)
    )
    made = replace(entry, files=files, rows=sum(file.rows for file in files))
    known = dict(known_datasets()) | {name: made}
    monkeypatch.setattr(catalog, "known_datasets", lambda: known)
    monkeypatch.setenv("RANKWISE_DATA", str(root))
    return folder
