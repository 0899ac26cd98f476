"""Simulate cells and store their lines: see the package."""

from __future__ import annotations

import argparse
import csv
import importlib
import pkgutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import benchmarks.interval_errors as package
from benchmarks.interval_errors.cell import Cell

MORE_THAN_PROMISED = 0.03  # a larger excess in silence is a miss
COLUMNS = (
    "procedure", "data", "promised", "found", "± se", "refused", "named", "draws", "verdict"
)  # fmt: skip
WIDTHS = (44, 42, 9, 8, 8, 9, 7, 7, 9)


def all_cells() -> Iterator[Cell]:
    """The cells of every module that has any."""
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            imported = importlib.import_module(f"{package.__name__}.{module.name}")
            yield from getattr(imported, "CELLS", ())


def simulate(cell: Cell, draws: int) -> tuple[str, ...]:
    """The row of a cell in the table; its seed depends on its names alone."""
    seed = zlib.crc32(f"{cell.procedure}|{cell.data}".encode())
    outcomes = [cell.draw(np.random.default_rng([seed, draw])) for draw in range(draws)]
    answered = [outcome for outcome in outcomes if outcome is not None]
    refused = 1.0 - len(answered) / draws
    errors = np.array([outcome.error for outcome in answered])
    found = errors.mean() if len(errors) else 0.0
    spread = errors.std(ddof=1) / len(errors) ** 0.5 if len(errors) > 1 else 0.0
    named = np.mean([outcome.named for outcome in answered]) if answered else 1.0
    silent = sum(outcome.error for outcome in answered if not outcome.named)
    limit = cell.promised + MORE_THAN_PROMISED
    if found <= limit:
        verdict = "holds" if answered else "refused"
    else:
        verdict = "named" if silent <= limit * len(answered) else "MISS"
    numbers = (f"{cell.promised:.3f}", f"{found:.3f}", f"{spread:.3f}")
    shares = (f"{refused:.2f}", f"{named:.2f}", str(draws), verdict)
    return (cell.procedure, cell.data, *numbers, *shares)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; returns the number of misses in it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interval_errors")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args(arguments)
    everything = list(all_cells())
    cells = [
        cell
        for cell in everything
        if not options.names or any(name in cell.procedure for name in options.names)
    ]
    print(aligned(COLUMNS))
    misses = 0
    for cell in cells:
        row = simulate(cell, min(options.draws, cell.draws or options.draws))
        misses += row[-1] == "MISS"
        print(aligned(row), flush=True)
        if options.store is not None:
            store(options.store, row, [(cell.procedure, cell.data) for cell in everything])
    return misses


def aligned(row: Sequence[str]) -> str:
    """A line of the printed table: words to the left, numbers to the right."""
    columns = enumerate(zip(row, WIDTHS, strict=True))
    return "".join(f"{word:<{n}}" if i < 2 else f"{word:>{n}}" for i, (word, n) in columns)


def store(path: Path, row: tuple[str, ...], order: list[tuple[str, str]]) -> None:
    """Replace one row of the stored CSV; rows of cells that are gone are dropped."""
    kept = {tuple(old[:2]): tuple(old) for old in read(path)} | {row[:2]: row}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *(kept[names] for names in order if names in kept)])


def read(path: Path) -> list[list[str]]:
    """The stored rows, without the header."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


if __name__ == "__main__":
    sys.exit(min(main(), 1))
