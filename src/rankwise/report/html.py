"""Self-contained HTML page of a comparison."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.report.figures import Further, figures
from rankwise.report.page import render
from rankwise.report.sections import (
    baseline_section,
    folds_section,
    leaderboard_section,
    lint_section,
    reproduce_section,
    verdict,
)
from rankwise.runtime.output import write_file
from rankwise.selection.jsonl import writing
from rankwise.selection.leaderboard_text import is_fitted, queries_that_count, recall_of_rows

if TYPE_CHECKING:
    from rankwise.explain import FeatureEffect
    from rankwise.fusion import JudgementCurve as FusionLearningCurve
    from rankwise.selection import Leaderboard, LearningCurve


def write_report(
    leaderboard: Leaderboard,
    path: str | Path,
    *,
    data: Any = None,
    lint: Any = None,
    command: str | Sequence[str] | None = None,
    boards: Mapping[str, Leaderboard] | None = None,
    learning_curve: LearningCurve | FusionLearningCurve | None = None,
    feature_effects: Sequence[FeatureEffect] = (),
) -> Path:
    """Write a comparison as one self-contained HTML page.

    Parameters
    ----------
    leaderboard : Leaderboard
        Comparison to show. The page has curves over cut-offs if the cells hold one measure at
        three or more cut-offs, and regularisation paths if rankers chose a number from a grid.
    path : path-like
        File to write; a missing folder is created.
    data : RankingData, Fold, FoldedData or sequence of Fold, optional
        Data of the comparison, checked by :func:`rankwise.datasets.lint` unless ``lint`` is given.
    lint : LintReport, optional
        Findings in the data.
    command : str or sequence of str, optional
        Command that reproduces the page.
    boards : mapping of str to Leaderboard, optional
        Leaderboards of several data sets by name, for a critical-difference diagram over them; see
        :func:`plot_critical_difference`.
    learning_curve : rankwise.selection.LearningCurve or rankwise.fusion.JudgementCurve, optional
        See :func:`plot_learning_curve`.
    feature_effects : sequence of FeatureEffect, optional
        See :func:`plot_feature_effect`.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> board = compare(["ridge"], load_dataset("lambdarank"))  # doctest: +SKIP
    >>> write_report(board, "report.html")  # doctest: +SKIP
    """
    path = Path(path)
    if lint is None and data is not None:
        from rankwise.datasets import lint as check

        lint = check(data)
    page = _render(
        leaderboard,
        lint,
        command if isinstance(command, str) else shlex.join(command or ()),
        Further(boards, learning_curve, feature_effects),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path):
        write_file(path, page.encode())
    return path


def _render(board: Leaderboard, lint: Any, command: str, further: Further) -> str:
    return render(
        "report.html.j2",
        {
            "title": board.settings.data or "judged data",
            "board": board,
            "fitted": is_fitted(board.settings),
            "counted": queries_that_count(board),
            "recall": " ".join(recall_of_rows(board)),
            "verdict": verdict(board),
            "leaderboard": leaderboard_section(board),
            "baseline": baseline_section(board),
            "folds": folds_section(board),
            "figures": figures(board, further),
            "lint": None if lint is None else lint_section(lint),
            "reproduce": reproduce_section(board, command),
        },
    )
