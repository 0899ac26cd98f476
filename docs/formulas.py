"""Sphinx extension: draws formulas as SVG while the pages are built.

Readers need no script, no font and no network. Formulas have the colour of the text around them, so
they follow the light and the dark theme, and their TeX source is read out by screen readers.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

import ziafont
import ziamath
from docutils import nodes

SIZE = 16.0
EM = 14.5  # letters of the formulas are lower than those of the text, and so are enlarged
ziafont.config.svg2 = False  # paths instead of symbols: ids would be repeated in a page
ziafont.config.precision = 2
# Spellings that ziamath does not draw as TeX does.
SPELLINGS = (
    (re.compile(r"\\[bB]ig+l\\\{"), r"\\left\{"),
    (re.compile(r"\\[bB]ig+r\\\}"), r"\\right\}"),
    (re.compile(r"\\mathbf\s*1|\\mathbf\{1\}"), "𝟏"),
)


def svg(tex: str, displayed: bool) -> str:
    """The drawing of a formula, with its baseline on that of the text if it stands in a line."""
    if displayed and r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    source = tex
    for pattern, spelling in SPELLINGS:
        tex = pattern.sub(spelling, tex)
    drawn = ziamath.Latex(tex, size=SIZE, color="currentColor", inline=not displayed)
    picture = drawn.svg()
    width, height = (
        float(re.search(rf'{side}="([\d.]+)"', picture)[1]) for side in ("width", "height")
    )
    size = f"width:{width / EM:.3f}em;height:{height / EM:.3f}em"
    if not displayed:
        size += f";vertical-align:{drawn.getyofst() / EM:.3f}em"
    label = escape(" ".join(source.split()))
    return picture.replace(
        "<svg ", f'<svg class="formula" role="img" aria-label="{label}" style="{size}" ', 1
    )


def visit_math(translator: Any, node: nodes.math) -> None:
    """Write a formula inside a line."""
    translator.body.append(svg(node.astext(), displayed=False))
    raise nodes.SkipNode


def visit_displaymath(translator: Any, node: nodes.math_block) -> None:
    """Write a formula of its own lines."""
    translator.body.append(f'<div class="formula">{svg(node.astext(), displayed=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer under the name "svg"."""
    app.add_html_math_renderer("svg", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
