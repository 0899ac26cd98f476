"""Common style of all axes: thin grid lines, no frame, text in the ink colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from rankwise.report.colours import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 8.6
FONT = 10.0
_COLUMNS = 3


def panels(
    n: int, height: float, most: int = _COLUMNS, *, share_y: bool = False
) -> tuple[Figure, list[Any]]:
    """Create a figure of ``n`` panels, ``most`` per row, each ``height`` inches high."""
    columns = min(n, most)
    rows = -(-n // columns)
    figure = Figure(
        figsize=(WIDTH * (0.45 + 0.55 * columns / most), 0.5 + height * rows),
        layout=ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.06),
    )
    grid = list(figure.subplots(rows, columns, squeeze=False, sharey=share_y).flat)
    for unused in grid[n:]:
        unused.set_visible(False)
    return figure, grid


def style(axes: Axes) -> None:
    """Apply the common style to axes."""
    axes.grid(True, axis="y", color=light("rule"), linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(light("rule"))
    axes.tick_params(colors=light("muted"), labelsize=FONT - 1, length=0)
    axes.tick_params(which="minor", length=0, color=light("rule"))
    axes.tick_params(axis="x", length=3, color=light("rule"), labelcolor=light("muted"))
    axes.xaxis.label.set(color=light("ink"), size=FONT)
    axes.yaxis.label.set(color=light("ink"), size=FONT)
