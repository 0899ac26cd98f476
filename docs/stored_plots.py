"""Sphinx directives that draw the stored output of the experiments.

``.. difference-plot::`` draws how far our values are from the published ones, where a table has
published values with a verdict. ``.. plot-of:: TABLE | COLUMN; COLUMN`` draws columns of a table,
its rows from top to bottom. With ``:lines:`` the rows whose names end with a number go from left to
right and are joined. Both speak of the experiment that ``.. figures-of::`` named.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import stored_figures
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from figures_of_pages import shown
from markdown_it import MarkdownIt
from matplotlib.figure import Figure

from rankwise.report.axes import MARKERS, css_variables, light, series, style
from rankwise_papers.experiments import EXPERIMENTS

MARKS = {"=": ("met", "series-1"), "+": ("better", "series-3"), "-": ("missed", "series-2")}
LOOK = {"font.size": 9.5, "text.color": light("ink"), "axes.titlecolor": light("ink")}


@dataclass(frozen=True)
class Difference:
    """Where a value of ours stands beside the published one, in percent of the latter."""

    row: str
    column: str
    percent: float
    mark: str


def differences(table: stored_figures.StoredTable) -> list[Difference]:
    """The values of a table that have a verdict, unless all are the published ones to the digit."""
    found = []
    for (row, column, kind), cell in table.cells.items():
        paper = table.cells.get((row, column, "paper"))
        if kind == "ours" and cell.mark in MARKS and paper is not None and paper.value != 0:
            percent = 100 * (cell.value - paper.value) / abs(paper.value)
            found.append(Difference(row, column, percent, cell.mark))
    return found if any(abs(one.percent) > 1e-9 for one in found) else []


def draw_differences(output: stored_figures.StoredOutput) -> Figure | None:
    """A panel per table, a line of points per column, or per row if there is one column.

    None if no table has four values with a verdict.
    """
    panels = [(table, differences(table)) for table in output.tables.values()]
    panels = [(table, found) for table, found in panels if len(found) >= 4]
    if not panels:
        return None
    names = [_lines(found) for _, found in panels]
    heights = [0.26 * len(lines) + 0.65 for lines in names]
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(7.2, sum(heights) + 0.55), layout="constrained")
        grid = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
        for axes, (table, found), lines in zip(grid, panels, names, strict=True):
            style(axes)
            axes.axvline(0, color=light("ink"), linewidth=1)
            for number, (mark, (_, colour)) in enumerate(MARKS.items()):
                points = [one for one in found if one.mark == mark]
                axes.plot(
                    [one.percent for one in points],
                    [lines.index(one.column if one.column in lines else one.row) for one in points],
                    MARKERS[number],
                    color=light(colour),
                    markersize=5.5,
                    alpha=0.75,
                )
            axes.set_yticks(range(len(lines)), lines)
            axes.set_ylim(len(lines) - 0.5, -0.5)
            axes.set_title(table.title.partition(":")[0], loc="left", fontsize=9.5)
        grid[-1].set_xlabel("ours minus published, % of published")
        shown = [mark for mark in MARKS if any(one.mark == mark for _, f in panels for one in f)]
        handles = [
            grid[0].plot([], [], MARKERS[list(MARKS).index(mark)], color=light(MARKS[mark][1]))[0]
            for mark in shown
        ]
        figure.legend(
            handles, [MARKS[mark][0] for mark in shown], loc="outside upper right",
            ncols=len(shown), frameon=False,
        )  # fmt: skip
    return figure


def _lines(found: list[Difference]) -> list[str]:
    columns = list(dict.fromkeys(one.column for one in found))
    return columns if len(columns) > 1 else list(dict.fromkeys(one.row for one in found))


def draw_columns(
    output: stored_figures.StoredOutput, address: str, lines: bool
) -> tuple[Figure, str, str]:
    """Columns of a table and their ±, the title of the table, and a caption.

    Raises
    ------
    ValueError
        If a part of the address names nothing, or several things.
    """
    name, _, listed = " ".join(address.split()).partition(" | ")
    table = output.table(name)
    columns = [output.column(table, one.strip()) for one in listed.split(";")]
    rows = [row for row in table.rows if any((row, one, "ours") in table.cells for one in columns)]
    drawn = [(row, one) for row in rows for one in columns if (row, one, "ours") in table.cells]
    words, numbers = _numbered(rows) if lines else ("", {})
    rows = list(numbers) if lines else rows
    with mpl.rc_context(LOOK):
        size = (7.2, 3.6) if lines else (7.2, 0.25 * len(rows) + 0.9)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        style(axes)
        for number, column in enumerate(columns):
            cells = [table.cells.get((row, column, "ours")) for row in rows]
            places = [place for place, cell in enumerate(cells) if cell is not None]
            values = [cell.value for cell in cells if cell is not None]
            errors = [cell.error or 0.0 for cell in cells if cell is not None]
            spread = errors if any(errors) else None
            look = {"color": series(number), "label": column, "markersize": 5.5, "elinewidth": 1}
            if lines:
                axes.errorbar(
                    places, values, yerr=spread, fmt=f"-{MARKERS[number]}", linewidth=1.4, **look
                )
            else:
                axes.errorbar(values, places, xerr=spread, fmt=MARKERS[number], alpha=0.85, **look)
        if lines:
            axes.set_xticks(range(len(rows)), list(numbers.values()))
            axes.set_xlabel(words)
            axes.set_ylabel(columns[0] if len(columns) == 1 else "")
        else:
            axes.set_yticks(range(len(rows)), rows)
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.set_xlabel(columns[0] if len(columns) == 1 else "")
        if len(columns) > 1:
            figure.legend(loc="outside upper right", ncols=min(len(columns), 4), frameon=False)
    has_bars = any(table.cells[row, one, "ours"].error for row, one in drawn)
    return figure, table.title, f"{table.title}.{' Bars: ± of the output.' if has_bars else ''}"


def _numbered(rows: list[str]) -> tuple[str, dict[str, str]]:
    """The words that most rows have before their last number, and the number of each such row."""
    split = {
        row: found.groups() for row in rows if (found := re.match(r"(.*?)(-?[\d,.]*\d)$", row))
    }
    words = Counter(words for words, _ in split.values()).most_common(1)[0][0]
    return words.strip(" ="), {row: last for row, (first, last) in split.items() if first == words}


def write_colours(folder: Path) -> None:
    """Write ``colours.css``, which gives the plots their colours in the light and dark theme."""
    folder.mkdir(parents=True, exist_ok=True)
    rules = [f'html[data-theme="{mode}"] {{ {said} }}\n' for mode, said in css_variables().items()]
    (folder / "colours.css").write_text("".join(rules), encoding="utf-8")


class _OfTheExperiment(Directive):
    """A directive that speaks of the experiment named above it."""

    @property
    def key(self) -> str:
        key = self.state.document.settings.env.temp_data.get("figures_of")
        if key is None:
            raise self.error("no figures-of directive stands above it.")
        return key

    def picture(self, figure: Figure, caption: str) -> list[nodes.Node]:
        """The figure as a part of the page, which takes its colours."""
        number = self.state.document.settings.env.new_serialno("stored-plot")
        return [shown(figure, f"plot-{number}", caption)]


class DifferencePlot(_OfTheExperiment):
    """Our values beside the published ones."""

    def run(self) -> list[nodes.Node]:
        figure = draw_differences(stored_figures.read(self.key))
        if figure is None:
            return []
        caption = "Published values that have a verdict, each beside ours."
        return self.picture(figure, caption)


class PlotOf(_OfTheExperiment):
    """Columns of a table."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"lines": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        try:
            figure, _, caption = draw_columns(
                stored_figures.read(self.key), self.arguments[0], "lines" in self.options
            )
        except ValueError as error:
            raise self.error(str(error)) from error
        return self.picture(figure, caption)


class VerdictsOfTables(_OfTheExperiment):
    """The counts of verdicts, a row for each table of the output."""

    def run(self) -> list[nodes.Node]:
        output = stored_figures.read(self.key)
        rows = [
            (table.title, stored_figures.counted(table.counts)) for table in output.tables.values()
        ]
        rows.append(("All tables", output.by_verdict()))
        verdicts = [name for name in stored_figures.VERDICTS if any(name in c for _, c in rows)]
        cells = [[title, *(counts.get(name, "") for name in verdicts)] for title, counts in rows]
        return [stored_figures.table_node([["Table", *verdicts], *cells])]


class Protocol(_OfTheExperiment):
    """``protocol.md`` of the experiment's package."""

    def run(self) -> list[nodes.Node]:
        text = EXPERIMENTS[self.key].load().protocol()
        html = re.sub(r"<(/?)h[1-6]>", r"<\1h4>", MarkdownIt().render(text))
        return [nodes.raw("", html, format="html")]


def setup(app):
    """Register the directives."""
    app.add_directive("difference-plot", DifferencePlot)
    app.add_directive("plot-of", PlotOf)
    app.add_directive("verdicts-of-tables", VerdictsOfTables)
    app.add_directive("protocol", Protocol)
    return {"parallel_read_safe": True}
