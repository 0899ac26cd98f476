"""Draws the flow chart of the page "Choose an estimator": questions, and leaves that are links."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

# Leaf: label, anchor on the page choose.rst, and what leads there.
Leaf = tuple[str, str, str]


@dataclass(frozen=True)
class Branch:
    """One answer to the question at the top, and its leaves."""

    answer: str
    leaves: tuple[Leaf, ...]


QUESTION = "What do you predict?"
BRANCHES = (
    Branch(
        "An order of documents for each query",
        (
            ("AutoRanker", "choose-auto", "choose for me"),
            ("LambdaMART", "choose-trees", "from 100 training queries on"),
            ("LambdaMART, RankSVM", "choose-small", "fewer training queries"),
            ("RidgeRanker", "choose-stream", "more rows than memory"),
        ),
    ),
    Branch(
        "One of several ordered grades",
        (
            ("ProportionalOdds", "choose-odds", "coefficients, probabilities"),
            ("OrdinalSVM", "choose-ordinal-svm", "up to 10,000 rows"),
            ("ORBoost, RankingForest", "choose-orboost", "more rows"),
        ),
    ),
    Branch(
        "Several labels for each row",
        (
            ("BinaryRelevance", "choose-labels", "up to 100 labels"),
            ("PLST", "choose-plst", "hundreds of labels"),
        ),
    ),
    Branch(
        "Classes whose errors cost differently", (("CSOVO", "choose-costs", "a cost per class"),)
    ),
    Branch(
        "Results of a search",
        (
            ("TextRanker", "choose-text", "documents and queries"),
            ("LearnedFusion", "choose-fusion", "lists of several systems"),
        ),
    ),
    Branch(
        "Votes, games or orders",
        (("PairwisePreferences", "choose-preferences", "items without features"),),
    ),
)
WIDTH, ROW, GAP = 934, 34, 14
NARROW_WIDTH, NARROW_ROW = 340, 56
_INDENT = 30
_ANSWER_X, _ANSWER_WIDTH, _LEAF_X, _LEAF_WIDTH = 185, 265, 690, 240


def write(folder: Path) -> None:
    """Write ``chooser.svg`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chooser.svg").write_text(picture(), encoding="utf-8")


def picture() -> str:
    """The chart from left to right, and from top to bottom for phones; the page shows one."""
    return f'<div class="chooser">{_wide()}{_narrow()}</div>\n'


def _wide() -> str:
    height = sum(len(branch.leaves) * ROW + GAP for branch in BRANCHES)
    parts = [
        draw_box(0, height / 2 - 20, 155, 40, "box"),
        draw_text(77.5, height / 2 + 4, QUESTION, "middle"),
    ]
    top = 0.0
    for branch in BRANCHES:
        inner = len(branch.leaves) * ROW
        middle = top + inner / 2
        parts.append(_line(155, height / 2, _ANSWER_X, middle))
        parts.append(draw_box(_ANSWER_X, middle - 15, _ANSWER_WIDTH, 30, "box"))
        parts.append(draw_text(_ANSWER_X + _ANSWER_WIDTH / 2, middle + 4, branch.answer, "middle"))
        for number, (name, anchor, when) in enumerate(branch.leaves):
            y = top + number * ROW + ROW / 2
            start = _ANSWER_X + _ANSWER_WIDTH
            parts.append(_line(start, middle, start + 25, y))
            parts.append(draw_text(start + 30, y - 5, when, "start"))
            parts.append(f'<path class="line" d="M{start + 25} {y} H{_LEAF_X}"/>')
            parts.append(_leaf(_LEAF_X, y, _LEAF_WIDTH, name, anchor))
        top += inner + GAP
    return draw_svg("wide", WIDTH, height, parts, f"Flow chart: {QUESTION}")


def _narrow() -> str:
    """Answers below each other; a line leads down from each to its leaves."""
    parts = [
        draw_box(0, 0, NARROW_WIDTH, 40, "box"),
        draw_text(NARROW_WIDTH / 2, 25, QUESTION, "middle"),
    ]
    top = 40.0 + GAP
    for branch in BRANCHES:
        parts.append(draw_box(0, top, NARROW_WIDTH, 30, "box"))
        parts.append(draw_text(NARROW_WIDTH / 2, top + 20, branch.answer, "middle"))
        top += 30
        for number, (name, anchor, when) in enumerate(branch.leaves):
            y = top + number * NARROW_ROW + 38
            parts.append(draw_text(_INDENT, y - 20, when, "start"))
            parts.append(_leaf(_INDENT, y, NARROW_WIDTH - _INDENT, name, anchor))
            parts.append(f'<path class="line" d="M12 {top:g} V{y:g} H{_INDENT}"/>')
        top += len(branch.leaves) * NARROW_ROW + GAP
    return draw_svg("narrow", NARROW_WIDTH + 4, top, parts, f"Flow chart: {QUESTION}")


def draw_svg(kind: str, width: float, height: float, parts: list[str], label: str) -> str:
    """An SVG image of ``parts``; ``label`` says to those who do not see it what it shows."""
    return (
        f'<svg class="{kind}" viewBox="-2 -2 {width:g} {height:g}" role="group" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _leaf(x: float, y: float, width: float, name: str, anchor: str) -> str:
    """A box around ``name`` that is a link, with its middle at ``y``."""
    return (
        f'<a href="#{anchor}">{draw_box(x, y - 14, width, 28, "leaf")}'
        f"{draw_text(x + width / 2, y + 5, name, 'middle', 'leaf-name')}</a>"
    )


def draw_box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle of a style of ``rankwise.css``, with round corners."""
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
    )


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = (x + to_x) / 2
    return (
        f'<path class="line" d="M{x:g} {y:g} C{bend:g} {y:g} {bend:g} {to_y:g} {to_x:g} {to_y:g}"/>'
    )


def draw_text(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    """Words that start, end or have their middle at ``x``."""
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'
