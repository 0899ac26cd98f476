"""Style of all plots: colours, axes, lines of rankers with names at their ends.

The plots are drawn in the light colours; :func:`rankwise.report.page.inline` replaces each by the
page's variable of the same name, so that the dark page needs no second drawing. The eight series
are distinguishable with colour-vision deficiencies, and differ in lightness and marker too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from rankwise.runtime.messages import escape_figure
from rankwise.typing import ArrayLike, Float64Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# name → (light page, dark page)
COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#15191e"),
    "ink": ("#1b2129", "#e3e7ec"),
    "muted": ("#59636f", "#9aa5b1"),
    "rule": ("#dde2e8", "#323a43"),
    "soft": ("#f4f6f8", "#1d232a"),
    "accent": ("#175a9c", "#7fb8ee"),
    "better": ("#25765a", "#5cbf9a"),
    "worse": ("#ad4e15", "#e29a63"),
    "series-1": ("#1f5fa8", "#6fa8e6"),
    "series-2": ("#b54f14", "#ec9456"),
    "series-3": ("#287a52", "#5fbd92"),
    "series-4": ("#7d4fa0", "#b994da"),
    "series-5": ("#a8324a", "#e57f95"),
    "series-6": ("#14747f", "#56bcc7"),
    "series-7": ("#7a6320", "#c4aa5c"),
    "series-8": ("#4b5563", "#a9b4c2"),
}
N_SERIES = 8
MOST_PANELS = 12  # of a figure
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def light(name: str) -> str:
    """Colour on a light page."""
    return COLOURS[name][0]


def series(number: int) -> str:
    """Colour of series 0, 1, …; muted from the ninth series."""
    return light(f"series-{number + 1}") if number < N_SERIES else light("muted")


def css_variables() -> dict[str, str]:
    """CSS declarations of the light and of the dark page."""
    return {
        mode: " ".join(f"--{name}: {pair[i]};" for name, pair in COLOURS.items())
        for i, mode in enumerate(("light", "dark"))
    }


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


# More names at the ends of lines are unreadable, even if small.
MOST_NAMES = 30
_SIGNS = "●■▲◆▼✚✖★"
_GAP, _SMALL_GAP = 0.21, 0.165  # inches from name to name


@dataclass(frozen=True)
class Look:
    """Style of a line."""

    colour: str
    marker: str
    # whether the line stands out; if not, it is thin, grey and behind the others
    is_strong: bool = True

    @property
    def css(self) -> str:
        """Name of the CSS variable that holds the colour."""
        names = [f"series-{i + 1}" for i in range(N_SERIES)]
        return next((f"var(--{name})" for name in names if light(name) == self.colour), "inherit")

    @property
    def sign(self) -> str:
        """Marker as a character."""
        return _SIGNS[MARKERS.index(self.marker)] if self.marker else ""


def looks(names: Sequence[str], highlighted: Iterable[str] = ()) -> dict[str, Look]:
    """Assign colours and markers to up to eight lines; of more, only to highlighted ones."""
    if len(names) <= N_SERIES:
        return {name: Look(series(i), MARKERS[i]) for i, name in enumerate(names)}
    strong = [name for name in dict.fromkeys(highlighted) if name in names][:N_SERIES]
    found = {name: Look(light("muted"), "", False) for name in names}
    return found | {name: Look(series(i), MARKERS[i]) for i, name in enumerate(strong)}


def chart_height(n_lines: int) -> float:
    """Height in inches of a chart with room for the names of all lines."""
    return 3.9 if n_lines <= N_SERIES else max(3.9, 1.6 + _SMALL_GAP * min(n_lines, MOST_NAMES))


def draw_lines(
    axes: Axes,
    x: Sequence[float],
    lines: Mapping[str, ArrayLike],
    highlighted: Iterable[str] = (),
) -> dict[str, Look]:
    """Draw one line per name in the style of :func:`looks`; NaN leaves a gap."""
    found = looks(list(lines), highlighted)
    for number, (name, values) in enumerate(lines.items()):
        look = found[name]
        axes.plot(
            x,
            np.asarray(values, dtype=np.float64),
            color=look.colour,
            marker=look.marker,
            markersize=4.5,
            linewidth=1.8 if look.is_strong else 0.9,
            alpha=1.0 if look.is_strong else 0.6,
            zorder=3 + look.is_strong * (len(lines) - number),
            label=escape_figure(name),
        )
    return found


def name_ends(
    axes: Axes, x: Sequence[float], lines: Mapping[str, ArrayLike], found: Mapping[str, Look]
) -> None:
    """Write names, pushed apart, at the right ends of lines; of very many, only strong ones."""
    ends = {name: float(np.asarray(values, dtype=np.float64)[-1]) for name, values in lines.items()}
    ends = {name: end for name, end in ends.items() if np.isfinite(end)}
    if len(ends) > MOST_NAMES:
        ends = {name: end for name, end in ends.items() if found[name].is_strong}
    if not ends:
        return
    low, high = axes.get_ylim()
    inches = axes.bbox.height / axes.figure.dpi
    gap = _GAP if len(ends) <= N_SERIES else _SMALL_GAP
    step = gap / inches * (high - low)
    places = pushed_apart(np.array(list(ends.values())), step)
    places += max(0.0, low - places.min())
    places -= max(0.0, places.max() - high)
    for (name, end), place in zip(ends.items(), places, strict=True):
        look = found[name]
        arrow: dict[str, Any] = {
            "arrowstyle": "-", "color": look.colour, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 3,
            "relpos": (0.0, 0.5),
        }  # fmt: skip
        axes.annotate(
            escape_figure(name),
            xy=(x[-1], end),
            xytext=(1.035, place),
            textcoords=axes.get_yaxis_transform(),
            color=look.colour,
            fontsize=FONT if gap == _GAP or look.is_strong else FONT - 2,
            va="center",
            annotation_clip=False,
            arrowprops=arrow,
        )
    axes.set_ylim(min(low, places.min()), high)


# Offsets of a name from its point in units of 7 points, best first, and its alignment.
_SIDES = [(1, 0, "left"), (-1, 0, "right"), (0, 1.2, "center"), (0, -1.2, "center")]
_SIDES += [(1, y, "left") for y in (1.2, -1.2, 2.4, -2.4, 3.6, -3.6)]
_SIDES += [(-1, y, "right") for y in (1.2, -1.2, 2.4, -2.4, 3.6, -3.6)]


def name_points(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write a name next to each point, where the fewest names, points and borders are in the way.

    The size of the axes must be known, as after ``figure.draw_without_rendering()``.
    """
    box = axes.get_window_extent()
    scale = 72 / axes.figure.dpi
    places = axes.transData.transform(points) * scale
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in places]
    size = FONT - 1
    for (x, y), point, name in zip(places, points, names, strict=True):
        width, height = 0.62 * size * len(name), 1.1 * size
        found = []
        for right, up, align in _SIDES:
            left = x + 7 * right - width * {"left": 0, "right": 1, "center": 0.5}[align]
            bottom = y + 7 * up - height / 2
            frame = (left, bottom, left + width, bottom + height)
            overlaps = sum(
                frame[0] < other[2]
                and other[0] < frame[2]
                and frame[1] < other[3]
                and other[1] < frame[3]
                for other in taken
            )
            overlaps += 5 * (frame[0] < box.x0 * scale or frame[2] > box.x1 * scale)
            found.append((overlaps, len(found), frame, (7 * right, 7 * up), align))
        _, _, frame, offset, align = min(found)
        taken.append(frame)
        axes.annotate(
            escape_figure(name), point, offset, textcoords="offset points", ha=align, va="center",
            fontsize=size, color=light("ink"),
        )  # fmt: skip


def pushed_apart(wanted: Float64Array, step: float) -> Float64Array:
    """Positions at least ``step`` apart, in the same order and near the wanted ones."""
    order = np.argsort(-wanted, kind="stable")
    places = wanted[order].astype(np.float64)
    for i in range(1, len(places)):
        places[i] = min(places[i], places[i - 1] - step)
    out = np.empty_like(places)
    out[order] = places + (wanted.mean() - places.mean())
    return out
