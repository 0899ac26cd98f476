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
            ("PairwiseELM, RankSVM", "choose-small", "up to 20,000 rows"),
            ("LambdaMART", "choose-trees", "more rows, or uneven features"),
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
)
WIDTH, ROW, GAP = 934, 34, 14
_ANSWER_X, _ANSWER_WIDTH, _LEAF_X, _LEAF_WIDTH = 170, 265, 690, 240


def write(folder: Path) -> None:
    """Write ``chooser.svg`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chooser.svg").write_text(picture(), encoding="utf-8")


def picture() -> str:
    """The chart as SVG whose colours come from the page."""
    height = sum(len(branch.leaves) * ROW + GAP for branch in BRANCHES)
    parts = [
        _box(0, height / 2 - 20, 140, 40, "box"),
        _text(70, height / 2 + 4, QUESTION, "middle"),
    ]
    top = 0.0
    for branch in BRANCHES:
        inner = len(branch.leaves) * ROW
        middle = top + inner / 2
        parts.append(_line(140, height / 2, _ANSWER_X, middle))
        parts.append(_box(_ANSWER_X, middle - 15, _ANSWER_WIDTH, 30, "box"))
        parts.append(_text(_ANSWER_X + _ANSWER_WIDTH / 2, middle + 4, branch.answer, "middle"))
        for number, (name, anchor, when) in enumerate(branch.leaves):
            y = top + number * ROW + ROW / 2
            start = _ANSWER_X + _ANSWER_WIDTH
            parts.append(_line(start, middle, start + 25, y))
            parts.append(_text(start + 30, y - 5, when, "start"))
            parts.append(f'<path class="line" d="M{start + 25} {y} H{_LEAF_X}"/>')
            parts.append(
                f'<a href="#{anchor}">{_box(_LEAF_X, y - 14, _LEAF_WIDTH, 28, "leaf")}'
                f"{_text(_LEAF_X + _LEAF_WIDTH / 2, y + 5, name, 'middle', 'leaf-name')}</a>"
            )
        top += inner + GAP
    return (
        f'<div class="chooser"><svg viewBox="-2 -2 {WIDTH} {height:g}" role="img" '
        f'aria-label="Flow chart: {escape(QUESTION)}">{"".join(parts)}</svg></div>\n'
    )


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
    )


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = (x + to_x) / 2
    return (
        f'<path class="line" d="M{x:g} {y:g} C{bend:g} {y:g} {bend:g} {to_y:g} {to_x:g} {to_y:g}"/>'
    )


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'
