"""Common parts of all self-contained pages: style, script, date, numbers, figures as SVG."""

from __future__ import annotations

import datetime
import io
import math
import re
from collections.abc import Callable, Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from rankwise._version import __version__
from rankwise.report.axes import COLOURS, css_variables
from rankwise.runtime.messages import escape_hidden
from rankwise.selection.standing import p_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _without_hidden(value: Any) -> Any:
    """Values of expressions; texts, also those that are markup, without what no one would see."""
    if not isinstance(value, str):
        return value
    text = escape_hidden(value, keep="\n\t")
    return type(value)(text) if hasattr(value, "__html__") else text


def render(template: str, values: Mapping[str, Any], package: str = "rankwise.report") -> str:
    """Render a template in ``templates`` of a package; it extends ``page.html.j2`` of this one.

    ``values`` are its variables besides those of all pages.
    """
    templates = files("rankwise.report") / "templates"
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("rankwise.report"), PackageLoader(package)]),
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


_METADATA = re.compile(r"<metadata>.*?</metadata>\s*", re.DOTALL)
_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>\s*", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")  # numbers between tags are labels, which stay as they are
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_SIZE = re.compile(r'\s(?:width|height)="[\d.]+pt"')
_ID = re.compile(r'\b(id="|href="#|url\(#)')
_OPEN = re.compile(r"<svg\b([^>]*)>")
_NAMESPACE = re.compile(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"')


def inline(figure: Figure, name: str, title: str, description: str) -> str:
    """Convert a figure to an ``<svg>`` element without external references.

    The figure must be drawn in the light colours of :mod:`rankwise.report.axes`. ``name`` is the
    prefix of its element ids, unique on the page; ``title`` and ``description`` are texts for
    screen readers.
    """
    buffer = io.StringIO()
    # Text stays text: it is small, can be searched, and takes the page's font.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = _STYLE.sub("", _METADATA.sub("", text))
    text = _TAG.sub(lambda tag: _LONG_NUMBER.sub(_round_coordinate, tag[0]), text)
    text = _ID.sub(rf"\g<1>{name}-", text)
    text = text.replace("xlink:href", "href")
    opening = _OPEN.search(text)
    assert opening is not None
    attributes = _NAMESPACE.sub("", _SIZE.sub("", opening[1]))
    width = figure.get_figwidth() * 96
    head = (
        f'<svg{attributes} role="img" aria-labelledby="{name}-title {name}-desc" '
        f'style="max-width: {width:.0f}px">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>'
    )
    text = head + text[opening.end() :]
    for variable, (light, _) in COLOURS.items():
        text = text.replace(light, f"var(--{variable})")
    return text


def _round_coordinate(match: re.Match[str]) -> str:
    """Round a coordinate to a hundredth of a point."""
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


NONE = "–"
MINUS = "−"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 4) -> str:
    """Format with fixed digits; None and NaN become a dash."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:.{digits}f}".replace("-", MINUS)


def format_signed(value: float | None, digits: int = 4) -> str:
    """Format with a sign."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:+.{digits}f}".replace("-", MINUS)


def seconds(value: float | None) -> str:
    """Format with two or three significant digits in ms, s, min or h."""
    if value is None:
        return NONE
    if value < 1:
        return f"{1000 * value:.3g} ms" if value < 0.0995 else f"{1000 * value:.0f} ms"
    if value < 120:
        return f"{value:.3g} s"
    return f"{value / 60:.3g} min" if value < 7200 else f"{value / 3600:.3g} h"


def size(value: float | None) -> str:
    """Format in MB or GB."""
    if value is None:
        return NONE
    return f"{value / 1e6:.0f} MB" if value < 1e9 else f"{value / 1e9:.2f} GB"


def setting(value: Any) -> str:
    """Format a parameter: powers of two as powers, other numbers with four digits."""
    if isinstance(value, float) and value > 0 and math.isfinite(value):
        mantissa, exponent = math.frexp(value)
        if mantissa == 0.5 and abs(exponent - 1) > 4:
            return "2" + str(exponent - 1).translate(_SUPERSCRIPT)
        return f"{value:.4g}"
    return str(value)


def count(value: int) -> str:
    """Format with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u2009")


FILTERS: dict[str, Callable[..., str]] = {
    "number": number,
    "signed": format_signed,
    "p_value": p_value,
    "seconds": seconds,
    "size": size,
    "setting": setting,
    "count": count,
}
