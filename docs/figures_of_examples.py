"""Takes the figures of the gallery's programs that pyplot does not know.

The functions of ``rankwise.report`` return figures of their own; every new one among the variables
of a program becomes a picture of its page.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

DPI = 120


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the new figures of a block and show them; what sphinx-gallery asks of a scraper."""
    variables = block_vars["example_globals"]
    seen = block_vars.setdefault("figures_seen", [])
    # pyplot's scraper comes next: it saves its figures and closes them, and their variables stay.
    seen += [plt.figure(number) for number in plt.get_fignums()]
    title = next(iter((variables.get("__doc__") or "").strip().splitlines()), "")
    shown = []
    for value in list(variables.values()):
        if isinstance(value, Figure) and not any(value is other for other in seen):
            seen.append(value)
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=DPI, bbox_inches="tight", pad_inches=0.15)
            shown.append(figure_rst([path], gallery_conf["src_dir"], describe(value, title)))
    return "".join(shown)


def describe(figure: Figure, title: str = "") -> str:
    """Alternative text: the title of the page, and the titles of a figure or what its axes show."""
    titles = [figure.get_suptitle(), *(axes.get_title("left") for axes in figure.axes)]
    titles += [axes.get_title() for axes in figure.axes]
    labels = [figure.get_supylabel(), figure.get_supxlabel()]
    labels += [label for axes in figure.axes for label in (axes.get_ylabel(), axes.get_xlabel())]
    words = [word for word in titles if word] or [word for word in labels if word]
    listed = ", ".join(dict.fromkeys(words))
    return ": ".join(part for part in (title or "Plot", listed) if part)
