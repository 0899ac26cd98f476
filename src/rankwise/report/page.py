"""Common parts of all self-contained pages: style, script and date."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rankwise._version import __version__
from rankwise.report.colours import css_variables
from rankwise.report.number_format import FILTERS
from rankwise.runtime.shown_text import escape_hidden


def _without_hidden(value: Any) -> Any:
    """Values of expressions; texts, also those that are markup, without what no one would see."""
    if not isinstance(value, str):
        return value
    text = escape_hidden(value, keep="\n\t")
    return type(value)(text) if hasattr(value, "__html__") else text


def render(template: str, values: Mapping[str, Any]) -> str:
    """Render a template of ``report/templates`` that extends ``page.html.j2``.

    ``values`` are its variables besides those of all pages.
    """
    templates = files("rankwise.report") / "templates"
    environment = Environment(
        loader=PackageLoader("rankwise.report"),
        autoescape=True,
        finalize=_without_hidden,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    return environment.get_template(template).render(
        style=(templates / "report.css").read_text("utf-8"),
        script=(templates / "sort.js").read_text("utf-8"),
        variables=css_variables(),
        version=__version__,
        date=datetime.date.today().isoformat(),
        **values,
    )
