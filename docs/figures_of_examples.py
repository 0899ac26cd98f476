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
    known = [plt.figure(number) for number in plt.get_fignums()]
    paths = []
    for value in list(variables.values()):
        if isinstance(value, Figure) and not any(value is other for other in [*seen, *known]):
            seen.append(value)
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=DPI, bbox_inches="tight", pad_inches=0.15)
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])
