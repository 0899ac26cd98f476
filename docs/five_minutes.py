"""Draws the page "Learning to rank in five minutes": data, ranker, scores and measure, in a row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chooser import draw_box, draw_svg, draw_text


@dataclass(frozen=True)
class Stage:
    """A box of the drawing: its title, a table in it, and the arrow that leads away from it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    arrow: str


STAGES = (
    Stage(
        "Judgements and features",
        ("query", "BM25", "clicks", "grade"),
        (
            ("red shoes", "9.1", "0.30", "1"),
            ("red shoes", "7.4", "0.82", "2"),
            ("red shoes", "6.0", "0.05", "0"),
            ("garden hose", "8.8", "0.41", "1"),
        ),
        "fit",
    ),
    Stage(
        "Ranker",
        (),
        (("a function of the features:",), ("f(BM25, clicks, …)",), ("learnt from the grades",)),
        "predict",
    ),
    Stage(
        "Scores give an order",
        ("position", "score", "grade"),
        (("1", "2.15", "2"), ("2", "1.91", "1"), ("3", "1.11", "0")),
        "evaluate",
    ),
    Stage("Measure", (), (("nDCG@10 = 1.00",), ("the best order",), ("has the value 1",)), ""),
)
LABEL = (
    "A table of queries, features and grades trains a ranker. Its scores order the documents of "
    "new queries. A measure compares this order with the grades."
)
_WIDTHS = (226, 168, 164, 120)
_ARROW, _LINE, _TOP, _NARROW_WIDTH = 60, 22, 34, 300


def write(folder: Path) -> None:
    """Write ``five_minutes.svg`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "five_minutes.svg").write_text(picture(), encoding="utf-8")


def picture() -> str:
    """The drawing of the page."""
    return draw_stages(STAGES, _WIDTHS, LABEL)


def draw_stages(stages: tuple[Stage, ...], widths: tuple[float, ...], label: str) -> str:
    """Stages from left to right, and from top to bottom for phones; the page shows one."""
    return f'<div class="chooser">{_wide(stages, widths, label)}{_narrow(stages, label)}</div>\n'


def _wide(stages: tuple[Stage, ...], widths: tuple[float, ...], label: str) -> str:
    height = max(_height(stage) for stage in stages)
    parts, x = [], 0.0
    for stage, width in zip(stages, widths, strict=True):
        parts += _stage(stage, x, 0, width, height)
        x += width
        if stage.arrow:
            middle = height / 2
            parts += _arrow(x + 6, middle, x + _ARROW - 6, middle)
            parts.append(draw_text(x + _ARROW / 2, middle - 9, stage.arrow, "middle"))
            x += _ARROW
    return draw_svg("wide", x + 4, height + 4, parts, label)


def _narrow(stages: tuple[Stage, ...], label: str) -> str:
    """Each stage below the one before, with a short arrow between them."""
    parts, y = [], 0.0
    for stage in stages:
        parts += _stage(stage, 0, y, _NARROW_WIDTH, _height(stage))
        y += _height(stage)
        if stage.arrow:
            parts += _arrow(_NARROW_WIDTH / 2, y + 4, _NARROW_WIDTH / 2, y + 34)
            parts.append(draw_text(_NARROW_WIDTH / 2 + 14, y + 23, stage.arrow, "start"))
            y += 38
    return draw_svg("narrow", _NARROW_WIDTH + 4, y + 4, parts, label)


def _height(stage: Stage) -> float:
    return _TOP + _LINE * (len(stage.rows) + bool(stage.columns)) + 12


def _stage(stage: Stage, x: float, y: float, width: float, height: float) -> list[str]:
    """A box with a title, and the lines below it in the middle of the room that is left."""
    parts = [draw_box(x, y, width, height, "leaf")]
    parts.append(draw_text(x + width / 2, y + 23, stage.title, "middle", "leaf-name"))
    lines = [*([stage.columns] if stage.columns else []), *stage.rows]
    first = y + _TOP + (height - _TOP - _LINE * len(lines)) / 2 + 12
    for number, line in enumerate(lines):
        kind = "head" if stage.columns and number == 0 else ""
        for place, anchor, words in zip(*_columns(line, x, width), line, strict=True):
            parts.append(draw_text(place, first + number * _LINE, words, anchor, kind))
    return parts


def _columns(line: tuple[str, ...], x: float, width: float) -> tuple[list[float], list[str]]:
    """Words start at the left, figures end at the right of columns of equal width."""
    if len(line) == 1:
        return [x + width / 2], ["middle"]
    first = 78.0 if len(line) == 4 else 50.0
    step = (width - 28 - first) / (len(line) - 1)
    rest = [x + 14 + first + step * number for number in range(1, len(line))]
    return [x + 14, *rest], ["start", *["end"] * (len(line) - 1)]


def _arrow(x: float, y: float, to_x: float, to_y: float) -> list[str]:
    head = (
        f"M{to_x - 7:g} {to_y - 5:g} L{to_x:g} {to_y:g} L{to_x - 7:g} {to_y + 5:g}"
        if y == to_y
        else f"M{to_x - 5:g} {to_y - 7:g} L{to_x:g} {to_y:g} L{to_x + 5:g} {to_y - 7:g}"
    )
    return [f'<path class="line" d="M{x:g} {y:g} L{to_x:g} {to_y:g} {head}"/>']
