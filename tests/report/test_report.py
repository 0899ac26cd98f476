"""The page: complete, self-contained, well-formed, honest about what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rankwise import RidgeRanker, compare, leaderboard
from rankwise.datasets import Fold, RankingData, lint
from rankwise.report import write_report
from rankwise.report.axes import COLOURS
from rankwise.report.html import largest_changes
from rankwise.selection import Leaderboard

from ..cli.conftest import judged_data
from .conftest import N_QUERIES, make_board

VOID = {"meta", "link", "br", "img", "input", "hr"}
LOADS = {"src", "srcset", "href", "xlink:href", "data", "action", "poster", "background"}


class Page(HTMLParser):
    """Elements, ids, texts and references of a page; fails on tags that do not nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.ids, self.references, self.open = [], [], [], []
        self.texts = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in LOADS:
                self.references.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def html(board, tmp_path_factory):
    train, test = judged_data(0, n_queries=6), judged_data(1, n_queries=5, first_query=50)
    path = tmp_path_factory.mktemp("report") / "new" / "report.html"
    command = ["rankwise", "compare", "my data.txt", "--report", "<r>.html"]
    assert write_report(board, path, data=Fold(train, None, test), command=command) == path
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_nothing_is_loaded_from_anywhere(html, page):
    assert page.references
    assert all(reference.startswith("#") for reference in page.references)
    assert {"link", "img", "iframe", "object", "embed", "image"}.isdisjoint(page.tags)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    assert not re.search(r"@import|url\(|expression\(", style)
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
    assert not re.search(r"fetch|XMLHttp|import|eval|innerHTML|https?:", script)
    assert page.tags.count("script") == 1
    # No address at all, not even of a namespace.
    assert "http://" not in html
    assert "https://" not in html


def test_the_page_is_well_formed(html, page):
    assert html.startswith('<!doctype html>\n<html lang="en">')
    assert len(page.ids) == len(set(page.ids))
    inside = {reference[1:] for reference in page.references}
    assert inside <= set(page.ids)
    for name in re.findall(r"url\(#([^)]+)\)", html):
        assert name in page.ids
    for names in re.findall(r'aria-labelledby="([^"]+)"', html):
        assert set(names.split()) <= set(page.ids)
    assert page.tags.count("h1") == 1
    assert page.tags.count("title") >= 1
    assert page.tags.count("main") == 1


def test_all_sections_and_figures_are_there(page):
    sections = {
        "leaderboard", "section-leaderboard", "section-costs", "section-curves",
        "section-differences",
        "section-ranks", "section-paths", "folds", "cost", "data", "reproduce",
    }  # fmt: skip
    assert sections <= set(page.ids)
    assert page.tags.count("figure") == 6
    assert page.tags.count("figcaption") == 6


def test_the_leaderboard_shows_what_the_object_says(board, html):
    body = re.search(r'<section id="leaderboard">.*?</section>', html, re.DOTALL)[0]
    for row in board.rows():
        if row["rank"] is None:
            assert f"<dt>{row['ranker']}, {row['status']}</dt>" in body
            continue
        start = rf'<td>{row["rank"]}</td>\s*<th scope="row" class="text">'
        start += rf'<a href="#queries-{row["rank"]}">{row["ranker"]}<'
        line = re.search(rf"{start}.*?</tr>", body, re.DOTALL)[0]
        assert f">{row['mean']:.4f}</td>" in line
        assert f"{row['low']:.4f} – {row['high']:.4f}" in line
        other = re.search(rf'<tr><th scope="row" class="text">{row["ranker"]}<.*?</tr>', body, re.S)
        assert f">{row['measures']['AP']['mean']:.4f}</td>" in other[0]
        if row["rank"] > 1:
            assert f"{row['diff']:+.4f}".replace("-", "−") in line
            assert ("behind" in line) == (row["p_corrected"] < 0.05)
            assert ("not separable" in line) == (row["p_corrected"] >= 0.05)
            shown = f"{row['diff_low']:+.4f} to {row['diff_high']:+.4f}"
            assert shown.replace("-", "−") in line
    assert "early stopping at 12" in body
    assert "from the best means p ≥ 0.05" in body
    assert "on the same queries, with its joint 95 % interval over all pairs of rankers" in body


def test_what_a_ranker_says_is_text_and_no_code(html):
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "made &amp; up: 5 rankers compared" in html
    assert "&#39;my data.txt&#39; --report &#39;&lt;r&gt;.html&#39;" in html


def test_the_verdict_names_leader_and_followers(board, page):
    best = board.rows()[0]
    assert f"{best['ranker']} leads with nDCG@10 {best['mean']:.4f}" in page.text
    assert all(sentence in page.text for sentence in board.verdict().splitlines())
    assert "ridge is significantly behind" in page.text


def test_it_says_how_to_reproduce_it(board, page):
    for expected in (
        "random_state 7",
        "numpy 2.4.6",
        board.specs["nDCG@10"],
        "ab" * 16,
        "pairwise_elm(…)",
        "rankwise compare",
    ):
        assert expected in page.text


def test_the_lint_section_tells_what_lint_found(tmp_path, board):
    data = judged_data(0, n_queries=5)
    leak = Fold(data, None, data)
    text = write_report(board, tmp_path / "r.html", lint=lint(leak)).read_text("utf-8")
    found = Page(text).text
    assert "queries in two parts" in found
    assert f"train and test: {data.n_queries} of {data.n_queries}" in found
    bars = np.array(re.findall(r'<rect x="([0-9.]+)" y="2" width="([0-9.]+)"', text), dtype=float)
    assert bars.sum(axis=1).max() == pytest.approx(180, abs=0.1)
    without = write_report(board, tmp_path / "none.html").read_text("utf-8")
    assert 'id="data"' not in without
    assert "#data" not in without


def test_dark_pages_know_every_colour(html):
    light, dark = re.findall(r":root \{ (--paper.*?) \}", html)
    for name, pair in COLOURS.items():
        assert f"--{name}: {pair[0]};" in light
        assert f"--{name}: {pair[1]};" in dark
    drawings = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
    # All colours of the drawings are the page's.
    assert not any(re.search(r"#[0-9a-f]{6}\b", drawing) for drawing in drawings)


def test_text_and_marks_can_be_seen():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    def contrast(a, b):
        high, low = sorted((luminance(a), luminance(b)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for mode in (0, 1):
        papers = [COLOURS["paper"][mode], COLOURS["soft"][mode]]
        for name, pair in COLOURS.items():
            if name not in ("paper", "soft", "rule"):
                assert min(contrast(pair[mode], paper) for paper in papers) >= 4.5, (name, mode)


def test_one_ranker_without_cutoff_or_search(tmp_path):
    board = make_board(measures=("AP",), rankers={"plain": 0.0}, folds=("fold1",))
    text = write_report(board, tmp_path / "r.html", command="rankwise compare x").read_text("utf-8")
    page = Page(text)
    assert "section-curves" not in page.ids
    assert "section-differences" not in page.ids
    assert "section-paths" not in page.ids
    assert "plain has AP" in page.text
    assert "; the only ranker with values on every fold." in page.text


def test_no_ranker_finished(tmp_path):
    board = make_board(rankers={})
    page = Page(write_report(board, tmp_path / "r.html").read_text("utf-8"))
    assert "No ranker finished." in page.text
    assert "alert(1)" in page.text


def test_many_rankers_and_folds(tmp_path):
    rankers = {f"ranker_{i}": 0.01 * i for i in range(20)}
    board = make_board(rankers=rankers, folds=tuple(f"fold{i}" for i in range(8)))
    page = Page(write_report(board, tmp_path / "r.html").read_text("utf-8"))
    assert all(name in page.text for name in rankers)


def test_a_leaderboard_from_json_gives_the_same_page(board, tmp_path):
    board.to_json(tmp_path / "board.json")
    again = Leaderboard.from_json(tmp_path / "board.json")
    one = write_report(board, tmp_path / "one.html").read_text("utf-8")
    assert write_report(again, tmp_path / "two.html").read_text("utf-8") == one


def test_a_real_comparison(tmp_path, rng):
    from rankwise import compare
    from rankwise.datasets import load_dataset

    data = load_dataset("lambdarank")
    board = compare(["linear_regression", "ridge"], data, measures=["nDCG@5"])
    page = Page(write_report(board, tmp_path / "r.html", data=data).read_text("utf-8"))
    assert {"section-curves", "section-differences", "section-paths", "data"} <= set(page.ids)
    assert "50 test queries in 1 fold" in page.text


def test_the_script_sorts(tmp_path, board):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    from importlib.resources import files

    script = files("rankwise.report") / "templates" / "sort.js"
    done = subprocess.run([node, "--check", str(script)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_queries_that_do_not_count_are_left_out(board, page):
    assert len(board.qids) == 3 * N_QUERIES
    better = sum(int(n) for n in re.findall(r"better on (\d+), equal", page.text)[:1])
    assert better < 3 * N_QUERIES
    assert "60 test queries (57 count for nDCG@10, 60 for AP) in 3 folds" in page.text


def test_a_full_disk_is_named(board):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    for write in (lambda: write_report(board, "/dev/full"), lambda: board.to_json("/dev/full")):
        with pytest.raises(OSError, match=r"No space left on device\. Free some space .*/dev/full"):
            write()


def test_what_does_not_apply_is_left_out(tmp_path):
    alone = make_board(measures=("AP",), rankers={"plain": 0.0}, folds=("fold1",))
    page = Page(write_report(alone, tmp_path / "alone.html").read_text("utf-8"))
    assert not {"folds", "section-ranks", "baseline"} & set(page.ids)
    assert "standing" not in page.text
    assert "Other measures" not in page.text
    chosen = make_board(measures=("AP",), rankers={"ridge": 0.0}, folds=("fold1",))
    page = Page(write_report(chosen, tmp_path / "chosen.html").read_text("utf-8"))
    assert "folds" in page.ids  # the penalty was chosen


def test_columns_that_say_the_same_in_every_row_are_folded(tmp_path):
    alike = make_board(measures=("AP",), rankers={"a": 0.0, "b": 0.0, "c": 0.0})
    text = write_report(alike, tmp_path / "r.html").read_text("utf-8")
    header = re.search(r"<thead>.*?</thead>", text, re.DOTALL)[0]
    assert not any(f">{name}<" in header for name in ("standing", "ranks", "letters"))
    assert "Standing of all but the best: not separable." in text
    assert "Ranks of every ranker: 1–3. Letter of every ranker: a." in text
    apart = make_board(measures=("AP",), rankers={"a": 0.3, "b": 0.29, "c": 0.0})
    text = write_report(apart, tmp_path / "r.html").read_text("utf-8")
    header = re.search(r"<thead>.*?</thead>", text, re.DOTALL)[0]
    assert all(f">{name}<" in header for name in ("standing", "ranks", "letters"))


def test_further_measures_have_a_table_of_their_own(tmp_path):
    board = make_board(measures=("nDCG@10", "AP", "RR", "P@5", "MSD"))
    text = write_report(board, tmp_path / "r.html").read_text("utf-8")
    main, other = re.findall(r"<thead>.*?</thead>", text, re.DOTALL)[:2]
    names = {"AP", "RR", "P@5", "MSD"}
    assert not any(f">{name}<" in main for name in names)
    assert all(f">{name}<" in other for name in names)


def test_pictures_stand_between_the_verdict_and_the_table(html):
    order = ("verdict", "section-leaderboard", "section-costs", "leaderboard")
    places = [re.search(f'(class|id)="{part}"', html).start() for part in order]
    assert places == sorted(places)


def test_rows_link_to_the_largest_gains_and_losses_by_query(tmp_path):
    values = {
        "a": [0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.2, np.nan],
        "b": [0.1, 0.9, 0.6, 0.9, 0.7, 0.5, 0.1, 0.9],
    }
    names = ["<b>x</b>", "q1", "q2", "q3", "q4", "q5", "q6", "q7"]
    named = {system: dict(zip(names, v, strict=True)) for system, v in values.items()}
    board = leaderboard(named, missing="pairs")
    first, second = (row["ranker"] for row in board.rows())
    found = largest_changes(board)
    assert [found[name]["other"] for name in (first, second)] == [second, first]
    against = {"a": found["a"]["gains"], "b": found["b"]["losses"]}
    assert [id for id, *_ in against["a"]] == [id for id, *_ in against["b"]]
    assert against["a"][0] == ("<b>x</b>", "+0.800", "0.100 → 0.900")
    assert against["b"][0] == ("<b>x</b>", "−0.800", "0.900 → 0.100")
    assert [id for id, *_ in found["b"]["gains"]] == ["q3", "q4", "q1"]
    text = write_report(board, tmp_path / "r.html").read_text("utf-8")
    page = Page(text)
    assert {"queries-1", "queries-2"} <= set(page.ids)
    assert "&lt;b&gt;x&lt;/b&gt;" in text and "<b>x</b>" not in text


def test_gains_of_a_measure_of_which_less_is_better_are_decreases():
    board = leaderboard({"a": [3.0, 1.0], "b": [2.0, 4.0]}, greater_is_better=False)
    assert largest_changes(board)["b"]["gains"] == [("1", "−1.000", "3.000 → 2.000")]


def test_values_at_the_end_of_their_grid_are_marked(tmp_path, rng):
    n = 20 * 20
    noise = rng.standard_normal(n)
    y = rng.integers(0, 3, n).astype(float)
    X = np.column_stack([y + noise, 1e-3 * noise])  # more freedom is always better
    data = RankingData(X, y, qid=np.repeat(np.arange(20), 20))
    fold = Fold(data, data, data)
    rankers = {"end": RidgeRanker(alpha=[1e-4, 1e-3, 1e-2, 0.1, 1.0]), "fixed": RidgeRanker()}
    board = compare(rankers, fold, measures=["nDCG@5"], isolate=False)
    text = write_report(board, tmp_path / "r.html").read_text("utf-8")
    assert text.count("▼</abbr>") == 1 and "▲</abbr>" not in text
    assert "▲ and ▼ mark the largest and smallest value tried" in text


def test_boards_of_tasks_do_not_speak_of_queries_or_folds(tmp_path):
    rng = np.random.default_rng(0)
    values = {name: rng.random(30) for name in ("a", "b", "c", "d")}
    board = leaderboard(values, baseline="b")
    page = Page(write_report(board, tmp_path / "r.html").read_text("utf-8"))
    shown = page.text.lower()
    for word in ("quer", "fold", "ranker", "training", "test part"):
        assert word not in shown.replace("rankwise", ""), word
    assert "30 units" in shown
