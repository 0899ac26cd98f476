"""The stored table of interval errors has every cell, and no broken promise."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.interval_errors.__main__ import COLUMNS, all_cells, read, simulate, store
from benchmarks.interval_errors.cell import Cell, Outcome

STORED = Path(__file__).parents[2] / "docs" / "interval_errors.csv"


def test_every_cell_is_stored_once():
    cells = [(cell.procedure, cell.data) for cell in all_cells()]
    assert [key for key, count in Counter(cells).items() if count > 1] == []
    stored = [tuple(row[:2]) for row in read(STORED)]
    assert stored == cells, "python -m benchmarks.interval_errors --store docs/interval_errors.csv"


def test_no_stored_error_is_above_its_promise_in_silence():
    misses = [row for row in read(STORED) if row[-1] == "MISS"]
    assert misses == []


@pytest.mark.parametrize(
    ("outcomes", "found", "verdict"),
    [
        ([Outcome(0.0)] * 4, "0.000", "holds"),
        ([Outcome(1.0), *[Outcome(0.0)] * 3], "0.250", "MISS"),
        (
            [Outcome(1.0, named=True), Outcome(0.0, named=True), *[Outcome(0.0)] * 2],
            "0.250",
            "named",
        ),
        ([None, Outcome(0.0), Outcome(0.0), Outcome(0.0)], "0.000", "holds"),
        ([None] * 4, "0.000", "refused"),
    ],
)
def test_verdicts(outcomes, found, verdict):
    remaining = iter(outcomes)
    row = simulate(Cell("p", "d", 0.05, lambda rng: next(remaining)), 4)
    assert (row[3], row[-1]) == (found, verdict)


def test_draws_have_seeds_of_their_own():
    drawn = []
    cell = Cell("p", "d", 0.05, lambda rng: drawn.append(rng.random()) or Outcome(0.0))
    simulate(cell, 3)
    simulate(cell, 3)
    assert drawn[:3] == drawn[3:]
    assert len(np.unique(drawn)) == 3


def test_a_row_replaces_its_own(tmp_path):
    path = tmp_path / "table.csv"
    order = [("a", "x"), ("b", "x, y")]
    rest = ("0.050",) * (len(COLUMNS) - 3)
    store(path, ("b", "x, y", *rest, "MISS"), order)
    store(path, ("a", "x", *rest, "holds"), order)
    store(path, ("b", "x, y", *rest, "named"), order)
    assert [(row[0], row[-1]) for row in read(path)] == [("a", "holds"), ("b", "named")]
    store(path, ("a", "x", *rest, "holds"), order[:1])
    assert [row[0] for row in read(path)] == ["a"]
