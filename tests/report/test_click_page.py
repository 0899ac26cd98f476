"""The page of a click log: well-formed, complete, and honest about what it cannot show."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.clicks import ClickLog, judgements, propensities
from rankwise.report import write_click_report
from rankwise.report.page import number

from .test_report import Page


def linked_log(n=600, seed=0):
    """Documents at all places, in queries whose names need to be escaped."""
    rng = np.random.default_rng(seed)
    shown = rng.permuted(np.tile(np.arange(3), (n, 1)), axis=1)
    query = rng.integers(40, size=n)
    click = rng.random((n, 3)) < 0.8 * np.array([1, 0.5, 0.1])[shown] / [1, 2, 3]
    names = np.array([f"<b>{q} & co" for q in range(40)])[query]
    return ClickLog.from_columns(
        np.repeat(names, 3), np.array(["x", "y", "z"])[shown.ravel()], np.tile([0, 1, 2], n),
        click.ravel(), session=np.repeat(np.arange(n), 3),
    )  # fmt: skip


@pytest.fixture(scope="module")
def log():
    return linked_log()


@pytest.fixture(scope="module")
def html(log, tmp_path_factory):
    path = tmp_path_factory.mktemp("clicks") / "new" / "clicks.html"
    command = ["rankwise", "clicks", "judge", "my log.csv"]
    assert write_click_report(log, path, judged=judgements(log, "ips"), command=command) == path
    return path.read_text("utf-8")


def test_the_click_page_is_well_formed_and_loads_nothing(html):
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert {"places", "judgements", "problems", "reproduce"} <= set(page.ids)
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert "http" not in html
    assert page.tags.count("h1") == page.tags.count("main") == 1
    assert page.tags.count("figure") == page.tags.count("figcaption") == 1
    assert "nan" not in page.text.lower()


def test_the_click_page_shows_what_the_objects_say(log, html):
    text, summary = Page(html).text, log.summary()
    found, judged = propensities(log), judgements(log, "ips")
    assert summary.verdict() in text
    assert "1 800 rows had places from 0" in text.replace("\u2009", " ")
    assert "rankwise clicks judge 'my log.csv'" in text
    for i in range(3):
        for low, high in ((summary.low, summary.high), (found.low, found.high)):
            assert f"{number(low[i])} – {number(high[i])}" in text
    for i in range(len(judged)):
        assert f"{number(judged.low[i])} – {number(judged.high[i])}" in text
    assert "<b>7 & co" in text
    assert f"All {len(judged)} pairs" in text


def test_pairs_shown_most_are_chosen(log, monkeypatch, tmp_path):
    monkeypatch.setattr("rankwise.report.click_page.MOST_PAIRS", 5)
    judged = judgements(log)
    path = write_click_report(log, tmp_path / "c.html", judged=judged)
    page = Page(path.read_text("utf-8"))
    most = np.argsort(-judged.impressions, kind="stable")[:5]
    assert page.tags.count("tr") == 1 + 3 + 1 + 5
    assert f"The 5 of {len(judged)} pairs that were shown most" in page.text
    assert all(judged.qid[i] in page.text for i in most)


def test_without_linked_places_the_page_says_why(tmp_path):
    log = ClickLog.from_columns(["q"] * 4, list("aabb"), [1, 1, 2, 2], [0, 1, 0, 1])
    text = Page(write_click_report(log, tmp_path / "c.html").read_text("utf-8")).text
    assert "No examination: clicks must go both ways between all places" in text
    assert "None was found." in text
    assert "Judgements" not in text
