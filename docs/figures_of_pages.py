"""Sphinx directive that shows a figure drawn by the examples of the page itself.

``.. figure-of:: NAME`` runs the ``>>>`` examples above it and shows the matplotlib figure in the
variable NAME, in the colours of the theme; its content is the caption. The tests run the same
examples and check what they print.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import tempfile
import warnings
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import sklearn
from cycler import cycler
from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib.figure import Figure

from rankwise.report.axes import N_SERIES, light, series
from rankwise.report.page import inline

# Figures that the examples draw with pyplot look like those of rankwise.report.
LOOK = {
    "axes.axisbelow": True,
    "axes.edgecolor": light("rule"),
    "axes.grid": True,
    "axes.labelcolor": light("ink"),
    "axes.prop_cycle": cycler(color=[series(number) for number in range(N_SERIES)]),
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "backend": "agg",
    "figure.constrained_layout.use": True,
    "figure.figsize": (7.2, 3.0),
    "grid.color": light("rule"),
    "legend.frameon": False,
    "text.color": light("ink"),
    "xtick.color": light("rule"),
    "xtick.labelcolor": light("muted"),
    "ytick.color": light("rule"),
    "ytick.labelcolor": light("muted"),
}

SETTINGS = sklearn.get_config()  # Sphinx loads its extensions before the gallery runs


def run_examples(text: str, until: int, variables: dict[str, Any], done: int = 0) -> int:
    """Run the examples in the lines from ``done`` to ``until``; returns ``until``.

    Examples that show an error are left out. Settings of scikit-learn last until the end of the
    page, and those of other pages and of the gallery do not count.
    """
    settings = variables.setdefault("_settings", dict(SETTINGS))
    with (
        sklearn.config_context(**settings),
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
        mpl.rc_context(LOOK),
    ):
        warnings.simplefilter("ignore")
        for example in doctest.DocTestParser().get_examples(text):
            if done <= example.lineno < until and example.exc_msg is None:
                exec(compile(example.source, "<example>", "single"), variables)
        settings |= sklearn.get_config()
    return until


class FigureOf(Directive):
    """``.. figure-of:: NAME``, with the caption as its content."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        path, line = self.state_machine.get_source_and_line(self.lineno)
        variables, done = env.temp_data.setdefault("examples_of_page", ({}, 0))
        done = run_examples(Path(path).read_text("utf-8"), line - 1, variables, done)
        env.temp_data["examples_of_page"] = (variables, done)
        name = self.arguments[0]
        figure = variables.get(name)
        if not isinstance(figure, Figure):
            raise self.error(f"{name!r} is no figure of the examples above.")
        caption = " ".join(self.content)
        return [shown(figure, f"figure-{env.new_serialno('figure-of')}", caption)]


def shown(figure: Figure, name: str, caption: str, description: str = "") -> nodes.raw:
    """A figure and its caption as a part of the page; screen readers get the description too."""
    drawn = inline(figure, name, caption, description or caption)
    caption = f"<figcaption>{escape(caption)}</figcaption>"
    return nodes.raw(
        "", f"<figure class='drawn'><div>{drawn}</div>{caption}</figure>", format="html"
    )


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("figure-of", FigureOf)
    return {"parallel_read_safe": True}
