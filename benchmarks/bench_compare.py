"""What ``compare`` spends outside fit, predict and the measures.

    python -m benchmarks.bench_compare

OHSUMED in LETOR's five folds; without RANKWISE_DATA the bundled data in five folds. Wall time and
the time inside are taken in the same run, so that other work on the machine hits both. Cells run
in this process, so that no start of a worker is timed. Printing the table (intervals and tests) is
counted; so is a result store, in the second line: three syncs to disk a cell, whatever the cell
costs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from typing import Any

from benchmarks._timing import Timing, report
from rankwise import PairwiseELM, RidgeRanker, compare
from rankwise.datasets import Fold, load_dataset
from rankwise.selection import letor_folds

REPEATS = 5


def folds() -> tuple[str, Sequence[Fold]]:
    """OHSUMED where it is at hand."""
    try:
        return "OHSUMED", load_dataset("ohsumed")
    except FileNotFoundError:
        return "the bundled data", letor_folds(load_dataset("lambdarank", fold=1).train)


def rankers() -> dict[str, Any]:
    """A quick one and one of the usual cost."""
    return {"ridge": RidgeRanker(alpha="val"), "elm": PairwiseELM(C="val", random_state=0)}


def seconds(data: Sequence[Fold], store: str | None) -> tuple[float, float]:
    """Wall time of a comparison and its table, and the time inside its cells."""
    start = time.perf_counter()
    board = compare(
        rankers(), data, measures=["AP", "nDCG@10"], preset="letor3", store=store, isolate=False
    )
    str(board)
    wall = time.perf_counter() - start
    parts = [(c.fit_seconds, c.predict_seconds, c.evaluate_seconds) for c in board.cells]
    return wall, sum(part or 0.0 for cell in parts for part in cell)


def main() -> None:
    """Print the figures."""
    name, data = folds()
    seconds(data, None)
    plain, kept = [], []
    for _ in range(REPEATS):
        plain.append(seconds(data, None))
        with tempfile.TemporaryDirectory() as store:
            kept.append(seconds(data, store))
    for what, runs, within in (("compare", plain, 1.05), ("compare with a store", kept, 1.10)):
        walls, insides = (list(column) for column in zip(*runs, strict=True))
        report(
            f"{what}, {name}, 2 rankers x {len(data)} folds, whole",
            Timing("whole", walls),
            Timing("inside", insides),
            within=within,
        )


if __name__ == "__main__":
    main()
