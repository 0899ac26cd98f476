"""Targets that write comparisons and orders to files, damage them, and read them back.

What is accepted is what a plain reading of the lines gives; what is refused names the file.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from rankwise.preferences import read_comparisons, read_orders
from tests.fuzz.harness import Target, mutated

_ITEMS = ("a1", "b1", "7", "07", "é", "x y", "東京", "tie", "first", "0", "1.0", "nan", "None")
_WINNERS = ("model_a", "model_b", "tie", "draw", "FIRST", "right", "1", "0", "0.5", "c1", "")
_TOKENS = (
    b",",
    b"\n",
    b'"',
    b"tie",
    b"a1",
    b"nan",
    b"\xff",
    b"\x00",
    b"1",
    b"-1",
    b">",
    b"=",
    b" ",
)


def _make_votes(rng: np.random.Generator) -> bytes:
    items = rng.choice(_ITEMS, 4, replace=False).tolist()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model_a", "model_b", "winner", "sample_weight"])
    for _ in range(int(rng.integers(1, 7))):
        pair = rng.choice(items, 2, replace=False).tolist()
        winner = str(rng.choice([*pair, *pair, *_WINNERS[:6], str(rng.choice(_WINNERS))]))
        writer.writerow([*pair, winner, int(rng.integers(3))])
    seed = out.getvalue().encode()
    return mutated(rng, seed, _TOKENS) if rng.random() < 0.7 else seed


def _check_votes(path: Path) -> bool:
    """Items and winners are those of the lines of positive weight."""
    games = read_comparisons(path)
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    header, lines = rows[0], [row for row in rows[1:] if row and row != [""]]
    header = [name.lower() for name in header]
    # A mutation may be another usual name of an item.
    first = "a" if "a" in header else "model_a"
    second = "model_2" if "model_2" in header else "model_b"
    places = [header.index(name) for name in (first, second, "winner")]
    weights = [1.0] * len(lines)
    if "sample_weight" in header:
        weights = [float(row[header.index("sample_weight")]) for row in lines]
    kept = [
        [row[place] for place in places] for row, w in zip(lines, weights, strict=True) if w > 0
    ]
    assert len(kept) == len(games)
    pairs = zip(games.items[games.first].tolist(), games.items[games.second].tolist(), strict=True)
    assert [tuple(row[:2]) for row in kept] == list(pairs)
    for (first, second, winner), outcome in zip(kept, games.outcome.tolist(), strict=True):
        if winner in (first, second):
            assert outcome == (0 if winner == first else 2)
    assert games.weight.tolist() == [w for w in weights if w > 0]
    return True


def _make_orders(rng: np.random.Generator) -> bytes:
    lines = []
    for _ in range(int(rng.integers(1, 6))):
        items = rng.choice(_ITEMS, int(rng.integers(2, 6)), replace=False).tolist()
        marks = rng.choice([" > ", " = ", ">", "="], len(items)).tolist()
        lines.append("".join(f"{m}{item}" for m, item in zip(["", *marks[1:]], items, strict=True)))
    seed = "\n".join(lines).encode() + b"\n" * int(rng.integers(3))
    return mutated(rng, seed, _TOKENS) if rng.random() < 0.7 else seed


def _check_orders(path: Path) -> bool:
    """Entries are those of the lines, in their order."""
    orders = read_orders(path)
    text = path.read_bytes().decode("utf-8-sig")
    lines = [line for line in text.split("\n") if line.strip()]
    assert len(lines) == len(orders)
    names = orders.items[orders.item].tolist()
    for line, start, end in zip(lines, orders.indptr[:-1], orders.indptr[1:], strict=True):
        groups = [[name.strip(" \t\r\n") for name in group.split("=")] for group in line.split(">")]
        assert [name for group in groups for name in group] == names[start:end]
        stages = [stage for stage, group in enumerate(groups) for _ in group]
        assert orders.stage[start:end].tolist() == stages
    return True


TARGETS = (
    Target("votes", _make_votes, _check_votes, ".csv"),
    Target("orders", _make_orders, _check_orders, ".txt"),
)
