"""Lines of rankers: colours, markers, highlighted lines, and names at the ends of lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.report.axes import FONT
from rankwise.report.colours import MARKERS, N_SERIES, light, series
from rankwise.runtime.shown_text import escape_figure
from rankwise.typing import ArrayLike, Float64Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def pushed_apart(wanted: Float64Array, step: float) -> Float64Array:
    """Positions at least ``step`` apart, in the same order and near the wanted ones."""
    order = np.argsort(-wanted, kind="stable")
    places = wanted[order].astype(np.float64)
    for i in range(1, len(places)):
        places[i] = min(places[i], places[i - 1] - step)
    out = np.empty_like(places)
    out[order] = places + (wanted.mean() - places.mean())
    return out
