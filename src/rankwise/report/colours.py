"""Colours of the plots and of the page: one table, light and dark.

The plots are drawn in the light colours; :func:`rankwise.report.svg.inline` replaces each by the
page's variable of the same name, so that the dark page needs no second drawing. The eight series
are distinguishable with colour-vision deficiencies, and differ in lightness and marker too.
"""

from __future__ import annotations

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
