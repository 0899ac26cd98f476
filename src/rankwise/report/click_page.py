"""Self-contained HTML page of a click log, and of the judgements from it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from rankwise.report.axes import light, panels, style
from rankwise.report.page import inline, render
from rankwise.runtime.files import write_file, writing
from rankwise.runtime.finite import names_its_class

if TYPE_CHECKING:
    from rankwise.clicks import ClickLog, Judgements, Propensities
    from rankwise.clicks.log import LogSummary

MOST_PLACES = 50
MOST_PAIRS = 500
PLOT_WIDTH, _MARGIN = 160.0, 6.0


@names_its_class
def write_click_report(
    log: ClickLog,
    path: str | Path,
    *,
    judged: Judgements | None = None,
    confidence_level: float = 0.95,
    command: str | Sequence[str] | None = None,
) -> Path:
    """Write a click log, with judgements from it, as one self-contained HTML page.

    Parameters
    ----------
    log : ClickLog
        The page shows its click rates by place, its problems, what it can identify, and, if
        clicks go both ways between all places, the examination of places by harvesting.
    path : path-like
        File to write; a missing folder is created.
    judged : Judgements, optional
        Judgements to show with their intervals: those of the 500 pairs that were shown most.
    confidence_level : float in (0, 1)
        Level of the intervals of click rates and examination.
    command : str or sequence of str, optional
        Command that reproduces the page.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> from rankwise.clicks import judgements, read_clicks
    >>> log = read_clicks("log.csv")  # doctest: +SKIP
    >>> write_click_report(log, "clicks.html", judged=judgements(log))  # doctest: +SKIP
    """
    from rankwise.clicks import propensities
    from rankwise.clicks.log import PROBLEMS

    path = Path(path)
    summary = log.summary(confidence_level=confidence_level)
    examination, refusal = None, ""
    try:
        examination = propensities(log, "harvest", confidence_level=confidence_level)
    except ValueError as error:  # clicks that say nothing about examination
        refusal = str(error)
    page = render(
        "clicks.html.j2",
        {
            "summary": summary,
            "level": f"{100 * confidence_level:g}\u00a0%",
            "facts": str(summary).partition("\n")[0],
            "verdict": summary.verdict(),
            "problems": [(number, PROBLEMS[name]) for name, number in summary.problems.items()],
            "places": _place_rows(summary, examination),
            "more_places": max(len(summary.place) - MOST_PLACES, 0),
            "figure": _draw_places(summary, examination),
            "refusal": refusal,
            "unit": 1 if examination is None else examination.unit,
            "notes": [] if examination is None else examination.notes,
            "judged": None if judged is None else _judgement_section(judged),
            "command": command if isinstance(command, str) else shlex.join(command or ()),
        },
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path):
        write_file(path, page.encode())
    return path


def _place_rows(summary: LogSummary, examination: Propensities | None) -> list[dict[str, Any]]:
    rows = []
    for i, place in enumerate(summary.place[:MOST_PLACES].tolist()):
        row: dict[str, Any] = {
            "place": place,
            "impressions": float(summary.place_impressions[i]),
            "rate": float(summary.rate[i]),
            "low": float(summary.low[i]),
            "high": float(summary.high[i]),
        }
        if examination is not None:  # of the same places, in the same order
            row |= {
                "g": float(examination.examination[i]),
                "g_low": float(examination.low[i]),
                "g_high": float(examination.high[i]),
            }
        rows.append(row)
    return rows


def _draw_places(summary: LogSummary, examination: Propensities | None) -> str:
    """Click rate by place and, beside it, examination; intervals as vertical lines."""
    figure, grid = panels(1 if examination is None else 2, height=2.6, most=2)
    _draw_panel(grid[0], summary.place, summary.rate, summary.low, summary.high)
    grid[0].set_ylabel("click rate")
    if examination is not None:
        columns = (examination.examination, examination.low, examination.high)
        _draw_panel(grid[1], examination.place, *columns)
        grid[1].set_ylabel(f"examination, place {examination.unit} = 1")
    return inline(
        figure,
        "places",
        "Click rate and examination by place",
        "Dots are estimates, vertical lines their intervals; the table below has the numbers.",
    )


def _draw_panel(axes: Any, place: Any, value: Any, low: Any, high: Any) -> None:
    known = slice(0, MOST_PLACES)
    axes.vlines(place[known], low[known], high[known], color=light("accent"), linewidth=2.0)
    axes.plot(place[known], value[known], "o", color=light("ink"), markersize=4)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("place")
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    style(axes)


def _judgement_section(judged: Judgements) -> dict[str, Any]:
    """Rows of the pairs that were shown most, by query and falling grade."""
    most = np.argsort(-judged.impressions, kind="stable")[:MOST_PAIRS]
    order = most[np.lexsort((-judged.grade[most], judged.qid[most].astype(str)))]
    ends = np.concatenate([judged.low[order], judged.high[order]])
    finite = np.append(ends[np.isfinite(ends)], judged.grade[order[0]])
    least, reach = float(finite.min()), max(float(np.ptp(finite)), 1e-300)

    def x(value: float) -> float:
        share = (min(max(value, least), least + reach) - least) / reach  # an end may be infinite
        return round(_MARGIN + (PLOT_WIDTH - 2 * _MARGIN) * share, 1)

    rows = [
        {
            "query": str(judged.qid[i]),
            "document": str(judged.doc_ids[i]),
            "clicks": float(judged.clicks[i]),
            "impressions": float(judged.impressions[i]),
            "grade": float(judged.grade[i]),
            "low": float(judged.low[i]),
            "high": float(judged.high[i]),
            "weight": float(judged.weight[i]),
            "from": x(float(judged.low[i])),
            "to": x(float(judged.high[i])),
        }
        for i in order
    ]
    return {
        "rows": rows,
        "method": judged.method,
        "level": f"{100 * judged.confidence_level:g}\u00a0%",
        "mu": judged.mu,
        "kappa": judged.kappa,
        "n": len(judged),
        "notes": judged.notes,
        "width": PLOT_WIDTH,
    }
