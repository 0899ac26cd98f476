"""A complete experiment in small: means of uniform numbers beside "published" ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.experiments import (
    Cell,
    Experiment,
    Figure,
    FindFiles,
    Results,
    ResultTable,
    Series,
    Value,
)

SIZES = {"small": 100, "large": 10_000}
PAPER = {"small": 0.5, "large": 0.4}


def find_absent() -> list[Path]:
    raise FileNotFoundError("absent.csv is not on this machine. Get it from https://example.org")


class Toy(Experiment):
    """Mean of n uniform numbers for two n, over seeds; a third size needs a file nobody has."""

    def data(self) -> dict[str, FindFiles]:
        return {"absent": lambda: find_absent()}  # looked up when called

    def cells(self, quick: bool) -> Sequence[Cell]:
        seeds = range(2 if quick else 5)
        cells = [
            Cell(f"{size}/seed{seed}", {"n": n, "seed": seed})
            for size, n in SIZES.items()
            for seed in seeds
        ]
        return [*cells, Cell("absent/seed0", {"n": 1, "seed": 0}, data="absent")]

    def run(self, cell: Cell) -> Any:
        numbers = np.random.default_rng(cell.params["seed"]).random(cell.params["n"])
        return {"mean": numbers.mean(), "nothing": np.nan}

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        values = []
        for size, paper in PAPER.items():
            means = [value["mean"] for name, value in results.items() if name.startswith(size)]
            values.append(
                Value(
                    size,
                    "mean",
                    ours=float(np.mean(means)) if means else None,
                    error=float(np.std(means, ddof=1)) if len(means) > 1 else None,
                    paper=paper,
                    source="Table 1, p. 2",
                    tolerance=0.05,
                    larger_is_better=None,
                    note="The paper's numbers are made up." if size == "large" else "",
                )
            )
        note = "" if "absent/seed0" in results else "The file is not here."
        values.append(
            Value("absent", "mean", paper=0.5, source="Table 1, p. 2", tolerance=0.1, note=note)
        )
        values.append(Value("constant", "mean", ours=0.5))
        return [ResultTable("means", "Means", values, error_is="standard deviation over seeds")]

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        sizes = [s for s in SIZES if f"{s}/seed0" in results]
        series = Series(
            "mean",
            [SIZES[s] for s in sizes],
            ours=[results[f"{s}/seed0"]["mean"] for s in sizes],
            paper=[PAPER[s] for s in sizes],
        )
        return [Figure("by-size", "Mean by size", "n", "mean", [series], log_x=True)]

    def protocol(self) -> str:
        return "Draw numbers.\n\n- small: 100\n- large: 10,000\n"
