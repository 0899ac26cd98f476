"""Sphinx directive that draws stored timings as bars, ours next to those of other libraries.

``.. speed-bars:: FILE | PATTERN`` reads the lines of a stored output of ``make bench`` whose label
matches the regular expression, and draws a panel per label. Its content is the caption. A line is
``LABEL: ratio ...; OURS s, PEER SECONDS s`` or ``LABEL: ratio ours OURS ms, PEER MILLISECONDS ms``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import Directive
from figures_of_pages import LOOK, shown
from matplotlib.figure import Figure

from rankwise.report.axes import light

HERE = Path(__file__).parent
LINE = re.compile(
    r"^(?:met |MISS|    )\s+(?:(?P<variant>symmetric), )?(?P<label>[^:]+): .*?"
    r"(?:; |\bours )(?P<ours>[\d.]+) (?P<unit>m?s), (?P<peer>.+) (?P<theirs>[\d.]+) m?s"
    r"(?:, load [\d.]+)?$"
)


def timings(text: str, pattern: str, ours: str) -> tuple[dict[str, dict[str, float]], str]:
    """Time by side, by label, of the lines whose label matches; and the unit of all of them.

    Raises
    ------
    ValueError
        If no line matches, or lines have several units.
    """
    found: dict[str, dict[str, float]] = {}
    units = set()
    for line in text.splitlines():
        parts = LINE.match(line)
        if parts and re.search(pattern, parts["label"]):
            own = f"{ours}, {parts['variant']}" if parts["variant"] else ours
            sides = found.setdefault(parts["label"], {})
            # Each peer is timed against a run of ours of its own; draw the slowest of them.
            sides[own] = max(float(parts["ours"]), sides.get(own, 0.0))
            sides[parts["peer"]] = float(parts["theirs"])
            units.add(parts["unit"])
    if len(units) != 1:
        raise ValueError(f"{len(found)} lines match {pattern!r}, with the units {sorted(units)}.")
    return found, units.pop()


def three_digits(value: float, unit: str) -> str:
    """A time in three significant digits and its unit."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f} {unit}" if rounded >= 100 else f"{rounded:g} {unit}"


def draw(found: dict[str, dict[str, float]], unit: str, ours: str) -> Figure:
    """A panel per label, two in a row; fastest side first, each with its time."""
    rows = -(-len(found) // 2)
    most = max(map(len, found.values()))
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(7.6, rows * (0.27 * most + 0.5)), layout="constrained")
        grid = figure.subfigures(rows, 2, squeeze=False).ravel()
        for panel, (label, sides) in zip(grid, found.items(), strict=False):
            panel.suptitle(label.strip(), x=0.02, ha="left", fontsize=10)
            axes = panel.subplots()
            names = sorted(sides, key=sides.__getitem__)
            values = [sides[name] for name in names]
            colours = [light("series-1" if n.startswith(ours) else "muted") for n in names]
            axes.barh(names, values, color=colours, height=0.66)
            for place, value in enumerate(values):
                axes.annotate(
                    three_digits(value, unit), (value, place), (4, 0), textcoords="offset points",
                    va="center", fontsize=9,
                )  # fmt: skip
            axes.invert_yaxis()
            axes.set_xlim(0, 1.22 * max(values))
            axes.set_xticks([])
            axes.grid(visible=False)
            axes.spines["bottom"].set_visible(False)
    return figure


class SpeedBars(Directive):
    """``.. speed-bars:: FILE | PATTERN``, with the caption as its content."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        name, _, pattern = " ".join(self.arguments[0].split()).partition(" | ")
        env.note_dependency(str(HERE / name))
        ours = "LambdaMART" if "lambdamart" in name else "rankwise"
        try:
            found, unit = timings((HERE / name).read_text("utf-8"), pattern, ours)
        except (OSError, ValueError) as error:
            raise self.error(str(error)) from error
        said = "; ".join(
            f"{label}: {', '.join(f'{k} {three_digits(v, unit)}' for k, v in sides.items())}"
            for label, sides in found.items()
        )
        number = env.new_serialno("speed-bars")
        caption = " ".join(self.content)
        return [shown(draw(found, unit, ours), f"bars-{number}", caption, said)]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("speed-bars", SpeedBars)
    return {"parallel_read_safe": True}
