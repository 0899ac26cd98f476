"""Draw the stored leaderboard of the first pages: mean with interval, and ranks, of every ranker.

    python docs/board_picture.py

writes ``_static/board-light.svg`` and ``_static/board-dark.svg``, which the README and the first
pages show, and ``lambdarank.txt`` and ``lambdarank_verdict.txt``. All are made of
``leaderboards/lambdarank.json``, which ``COMMAND`` with ``--json`` printed. The pages also have
its report.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.report import write_report
from rankwise.report.axes import COLOURS
from rankwise.selection import Leaderboard

HERE = Path(__file__).parent
STORED = HERE / "leaderboards" / "lambdarank.json"
COMMAND = (
    "rankwise compare lambdarank:all --n-jobs -1 --rankers "
    '"linear_regression,ridge,pairwise_elm,lambdamart,auto(n_trials=6),lightgbm()"'
)
MODES = ("light", "dark")
WIDTH, ROW, TOP, BOTTOM = 860, 34, 74, 58
NAME_X, MEAN_X, MEAN_WIDTH, RANK_X, RANK_WIDTH = 176, 200, 380, 640, 190


def read() -> Leaderboard:
    """Leaderboard that the first pages show."""
    return Leaderboard.from_json(STORED)


def write(folder: Path) -> None:
    """Write the report of the stored leaderboard, and its table of notebooks, into ``folder``."""
    write_report(read(), folder / "lambdarank.html", command=COMMAND)
    (folder / "lambdarank_notebook.html").write_text(read()._repr_html_(), encoding="utf-8")


def texts(board: Leaderboard) -> dict[str, str]:
    """Stored files by their paths below this folder."""
    pictures = {f"_static/board-{mode}.svg": picture(board, mode) for mode in MODES}
    return pictures | {
        "leaderboards/lambdarank.txt": f"{board}\n",
        "leaderboards/lambdarank_verdict.txt": f"{board.verdict()}\n",
    }


def describe(board: Leaderboard) -> str:
    """Values of the picture in words, for those who cannot see it."""
    first = board.measures[0]
    lines = [f"{row['ranker']} {row['mean']:.3f}, rank {_ranks(row)}" for row in board.rows()]
    return f"{first} and possible ranks of {len(lines)} rankers: {'; '.join(lines)}."


def picture(board: Leaderboard, mode: str) -> str:
    """SVG of a leaderboard in the colours of a light or dark page."""
    rows = board.rows()
    colour = {name: pair[MODES.index(mode)] for name, pair in COLOURS.items()}
    height = TOP + ROW * len(rows) + BOTTOM
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    ticks = _ticks(low, high)
    mean_at = _scale(ticks[0], ticks[-1], MEAN_X, MEAN_WIDTH)
    rank_at = _scale(1, len(rows), RANK_X, RANK_WIDTH)
    heads = [
        f"{board.measures[0]}, mean and 95 % interval",
        "ranks, 95 % interval",
    ]
    parts = [
        _text(0, 22, " ".join(board.verdict().splitlines()[:1]), colour["ink"], size=16, bold=True),
        _text(MEAN_X, 54, heads[0], colour["muted"]),
        _text(RANK_X - 10, 54, heads[1], colour["muted"]),
    ]
    bottom = TOP + ROW * len(rows)
    for value in ticks:
        parts += _tick(mean_at(value), bottom, f"{value:g}", colour)
    for rank in range(1, len(rows) + 1):
        parts += _tick(rank_at(rank), bottom, str(rank), colour)
    for number, row in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        shade = colour["series-1" if row["rank_low"] == 1 else "muted"]
        parts.append(_text(NAME_X, y + 5, row["ranker"], colour["ink"], anchor="end"))
        parts += _interval(*map(mean_at, (row["low"], row["mean"], row["high"])), y, shade)
        ranks = (row["rank_low"], row["rank"], row["rank_high"])
        parts += _interval(*map(rank_at, ranks), y, shade)
    note = "Blue: may be the best. The others are significantly behind."
    parts.append(_text(MEAN_X, height - 12, note, colour["muted"]))
    label = escape(describe(board), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="{label}" '
        'font-family="system-ui, -apple-system, Segoe UI, Roboto, sans-serif">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _ranks(row: dict[str, Any]) -> str:
    low, high = row["rank_low"], row["rank_high"]
    return str(low) if low == high else f"{low} to {high}"


def _ticks(low: float, high: float) -> list[float]:
    """Multiples of 0.02 around the values."""
    first, last = np.floor(low / 0.02), np.ceil(high / 0.02)
    return [round(0.02 * step, 2) for step in range(int(first), int(last) + 1)]


def _scale(low: float, high: float, start: float, width: float) -> Callable[[float], float]:
    return lambda value: start + width * (value - low) / (high - low)


def _text(
    x: float, y: float, words: str, fill: str, *, anchor: str = "start", size: int = 14,
    bold: bool = False,
) -> str:  # fmt: skip
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" text-anchor="{anchor}"'
        f"{weight}>{escape(words)}</text>"
    )


def _tick(x: float, bottom: float, label: str, colour: dict[str, str]) -> list[str]:
    line = f'<path d="M{x:.1f} {TOP} V{bottom:g}" stroke="{colour["rule"]}"/>'
    return [line, _text(round(x, 1), bottom + 18, label, colour["muted"], anchor="middle", size=12)]


def _interval(low: float, middle: float, high: float, y: float, shade: str) -> list[str]:
    return [
        f'<path d="M{low:.1f} {y:g} H{high:.1f}" stroke="{shade}" stroke-width="3" '
        'stroke-linecap="round"/>',
        f'<circle cx="{middle:.1f}" cy="{y:g}" r="6" fill="{shade}"/>',
    ]


if __name__ == "__main__":
    for name, text in texts(read()).items():
        (HERE / name).write_text(text, encoding="utf-8")
        print(f"docs/{name}")
