"""Files as LETOR 3.0's .Gov sets have them, made up: 64 features, grades 0 and 1, five folds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankwise.datasets import known_datasets
from rankwise.datasets.catalog import entries as catalog

DOCUMENTS = 12


def write_gov(
    root: Path, year: int, monkeypatch: pytest.MonkeyPatch, documents: int = DOCUMENTS
) -> Path:
    """Write ``<year>_td_dataset/Fold1/train.txt`` and so on; the catalog expects so many rows."""
    rng = np.random.default_rng(year)
    name = f"td{year}"
    entry = known_datasets()[name]
    n_part = entry.queries // 5
    parts = []
    for part in range(5):
        lines = []
        for query in range(part * n_part + 1, (part + 1) * n_part + 1):
            X = rng.random((documents, entry.features)).round(6)
            score = X[:, 0] + X[:, 1] + rng.normal(0, 0.2, documents)
            y = (score >= np.sort(score)[-2]).astype(int)  # two relevant pages a query
            for i in range(documents):
                values = " ".join(f"{j + 1}:{value:.6f}" for j, value in enumerate(X[i]))
                lines.append(f"{y[i]} qid:{query} {values} #docid = G{query:02}-{i:02}-0000000\n")
        parts.append("".join(lines))
    folder = root / f"{year}_td_dataset"
    for fold in range(5):
        turn = [parts[(fold + j) % 5] for j in range(5)]
        (folder / f"Fold{fold + 1}").mkdir(parents=True)
        for file, text in (("train", "".join(turn[:3])), ("vali", turn[3]), ("test", turn[4])):
            (folder / f"Fold{fold + 1}" / f"{file}.txt").write_text(text)
    known = dict(known_datasets()) | {name: replace(entry, rows=entry.queries * documents)}
    monkeypatch.setattr(catalog, "known_datasets", lambda: known)
    monkeypatch.setenv("RANKWISE_DATA", str(root))
    return folder
