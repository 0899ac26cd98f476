"""Convert Matplotlib figures to SVG inside the page."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

import matplotlib as mpl

from rankwise.report.colours import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

    The figure must be drawn in the light colours of :mod:`rankwise.report.colours`. ``name`` is the
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
