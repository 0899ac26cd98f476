"""Formulas of the pages are drawn while the pages are built; nothing is fetched to show them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[2] / "docs"
INLINE = re.compile(r":math:`([^`]+)`")
DISPLAYED = re.compile(r"^( *)\.\. math:: *(.*)\n((?:\n|\1 +.*\n)*)", re.M)
ROOT = {"{http://www.w3.org/2000/svg}svg"}


@pytest.fixture
def formulas(monkeypatch):
    pytest.importorskip("ziamath", reason="needs the extra docs")
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("formulas")


def test_every_formula_is_drawn_without_left_over_commands(formulas, monkeypatch):
    """A command that the renderer does not know would be drawn as its name."""
    texts = {path: path.read_text("utf-8") for path in sorted(DOCS.rglob("*.rst"))}
    found = {(tex, False) for text in texts.values() for tex in INLINE.findall(text)}
    found |= {
        (f"{first}\n{rest}".strip(), True)
        for text in texts.values()
        for _, first, rest in DISPLAYED.findall(text)
    }
    assert len(found) > 150
    convert = formulas.ziamath.zmath.tex2mml
    left = []

    def checked(tex, *args, **options):
        mathml = convert(tex, *args, **options)
        left.extend(re.findall(r"\\\\?\w+|&#x0005C;", mathml))
        return mathml

    monkeypatch.setattr(formulas.ziamath.zmath, "tex2mml", checked)
    for tex, displayed in found:
        drawn = ElementTree.fromstring(formulas.svg(tex, displayed))
        assert {drawn.tag} == ROOT
        assert drawn.get("aria-label") != ""
    assert left == []


def test_an_inline_formula_stands_on_the_line_in_the_colour_of_the_text(formulas):
    drawn = formulas.svg(r"\frac{a}{b}", displayed=False)
    assert "currentColor" in drawn
    assert re.search(r"vertical-align:-0\.\d+em", drawn)
    assert "vertical-align" not in formulas.svg(r"\frac{a}{b}", displayed=True)


def test_curly_fences_are_drawn_as_fences(formulas):
    """Sized fences with a brace read as a backslash in the renderer's own spelling."""
    left = formulas.svg(r"\Bigl\{ x \Bigr\}", displayed=True)
    assert left.count("<path") == formulas.svg(r"\left\{ x \right\}", displayed=True).count("<path")
