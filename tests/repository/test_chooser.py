"""The flow chart of the page "Choose an estimator"."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import rankwise

ROOT = Path(__file__).parents[2]


def test_every_leaf_has_its_section_and_every_estimator_exists(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    chooser = importlib.import_module("chooser")
    page = (ROOT / "docs" / "choose.rst").read_text("utf-8")
    leaves = [leaf for branch in chooser.BRANCHES for leaf in branch.leaves]
    assert re.findall(r"^\.\. _(choose-[\w-]+):$", page, re.M) == [of for _, of, _ in leaves]
    names = {name for label, _, _ in leaves for name in label.split(", ")}
    packages = (rankwise, rankwise.fusion, rankwise.labels, rankwise.preferences, rankwise.text)
    assert [name for name in names if not any(name in box.__all__ for box in packages)] == []
    picture = chooser.picture()
    for label, anchor, when in leaves:  # a character takes about 7 pixels
        assert picture.count(f'href="#{anchor}"') == 2  # the wide chart and the narrow one
        assert 7 * len(when) < chooser._LEAF_X - chooser._ANSWER_X - chooser._ANSWER_WIDTH - 25
        assert 7.5 * len(label) < chooser._LEAF_WIDTH
        assert 7.5 * max(len(when), len(label)) < chooser.NARROW_WIDTH - chooser._INDENT
    assert chooser.NARROW_WIDTH <= 360  # a phone shows it without scaling the letters down
    assert all(7 * len(branch.answer) < chooser.NARROW_WIDTH for branch in chooser.BRANCHES)
