"""Every how-to and explanation has a picture, and every drawing of the pages is on one."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SHOWS = re.compile(
    r"^\.\. (?:drawing|figure|figure-of|image|minigallery|plot-of|speed-bars)::"
    r"|^   :file: generated/\w+\.svg$|^ +<(?:figure|svg)\b|^\.\. include:: \w+_drawing\.inc$",
    re.M,
)


def listed(name: str) -> list[str]:
    """Pages in the table of contents of a page."""
    entries = (DOCS / f"{name}.rst").read_text("utf-8").partition(".. toctree::")[2]
    return re.findall(r"^   (\w+)$", entries, re.M)


@pytest.mark.parametrize("part", ["howto", "explanation"])
def test_every_page_has_a_picture(part):
    pages = listed(part)
    assert len(pages) >= 7
    without = [
        page for page in pages if not SHOWS.search((DOCS / f"{page}.rst").read_text("utf-8"))
    ]
    assert without == []


def test_drawings_and_pages_name_each_other(monkeypatch):
    for library in ("docutils", "matplotlib"):
        pytest.importorskip(library, reason="needs the extra docs")
    monkeypatch.syspath_prepend(str(DOCS))
    drawings, flows = importlib.import_module("drawings"), importlib.import_module("flows")
    text = "\n".join(path.read_text("utf-8") for path in DOCS.glob("*.rst"))
    assert set(re.findall(r"^\.\. drawing:: (\w+)$", text, re.M)) == set(drawings.DRAWINGS)
    assert set(re.findall(r"generated/flow_(\w+)\.svg", text)) == set(flows.FLOWS)


def test_a_drawing_is_a_figure_in_the_colours_of_the_pages(monkeypatch):
    pytest.importorskip("docutils", reason="needs the extra docs")
    monkeypatch.syspath_prepend(str(DOCS))
    drawings = importlib.import_module("drawings")
    rows = drawings.read_board(DOCS / "leaderboards" / "ohsumed.txt")
    assert len(rows) >= 11 and all(len(row) == 5 for row in rows)
    page = drawings.shown(drawings.draw("quality_and_time"), "drawing", "All rankers.").astext()
    assert "lambdamart" in page and "<figcaption>All rankers.</figcaption>" in page
    assert "var(--series-1)" in page


def test_code_fits_the_pages():
    """A column has 96 characters at 1400 px; ``python -m tests.pages --wrap`` formats the rest."""
    wide = [
        f"{path.name}: {line}"
        for path in sorted(DOCS.glob("*.rst"))
        for line in path.read_text("utf-8").splitlines()
        if re.match(r" *(>>>|\.\.\.) ", line) and len(line) > 96
    ]
    assert wide == []
