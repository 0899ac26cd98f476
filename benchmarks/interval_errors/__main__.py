"""Simulate cells and store their lines: see the package."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import benchmarks.interval_errors as package
from benchmarks.interval_errors.cell import Cell

MORE_THAN_PROMISED = 0.03  # a larger excess is a miss, unless the output names it
NAMES = 44 + 42  # width of the two columns that name a cell
HEAD = (
    f"{'procedure':<44}{'data':<42}{'promised':>9}{'found':>8}{'± se':>8}{'refused':>9}"
    f"{'named':>7}{'draws':>7}  verdict"
)


def all_cells() -> Iterator[Cell]:
    """The cells of every module that has any."""
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            imported = importlib.import_module(f"{package.__name__}.{module.name}")
            yield from getattr(imported, "CELLS", ())


def simulate(cell: Cell, draws: int) -> str:
    """The line of a cell; its seed depends on its names alone."""
    seed = zlib.crc32(f"{cell.procedure}|{cell.data}".encode())
    outcomes = [cell.draw(np.random.default_rng([seed, draw])) for draw in range(draws)]
    answered = [outcome for outcome in outcomes if outcome is not None]
    refused = 1.0 - len(answered) / draws
    errors = np.array([outcome.error for outcome in answered])
    found = errors.mean() if len(errors) else 0.0
    spread = errors.std(ddof=1) / len(errors) ** 0.5 if len(errors) > 1 else 0.0
    named = np.mean([outcome.named for outcome in answered]) if answered else 1.0
    if found <= cell.promised + MORE_THAN_PROMISED:
        verdict = "holds" if answered else "refused"
    else:
        verdict = "named" if named >= 0.5 else "MISS"
    return (
        f"{name_of(cell)}{cell.promised:>9.3f}{found:>8.3f}{spread:>8.3f}{refused:>9.2f}"
        f"{named:>7.2f}{draws:>7}  {verdict}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Print the lines; returns the number of misses among them."""
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
    order = [name_of(cell) for cell in everything]
    print(HEAD)
    misses = 0
    for cell in cells:
        line = simulate(cell, min(options.draws, cell.draws or options.draws))
        misses += line.endswith("MISS")
        print(line, flush=True)
        if options.store is not None:
            store(options.store, line, order)
    return misses


def store(path: Path, line: str, order: list[str]) -> None:
    """Replace the line of one cell; lines of cells that are gone are dropped."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    kept = {stored[:NAMES]: stored for stored in [*lines, line]}
    table = [HEAD, *(kept[name] for name in order if name in kept)]
    path.write_text("\n".join(table) + "\n", encoding="utf-8")


def name_of(cell: Cell) -> str:
    """The two columns that name a cell."""
    return f"{cell.procedure:<44}{cell.data:<42}"


if __name__ == "__main__":
    sys.exit(min(main(), 1))
