"""The programs of the gallery run and draw figures in the colours of the report."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import sklearn
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from rankwise.report.axes import COLOURS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))
# Its numbers are tested in tests/papers; it takes minutes.
SLOW = {"plot_bounds"}
PALETTE = {light for light, _ in COLOURS.values()}


def test_there_are_as_many_figures_as_promised():
    assert len(EXAMPLES) >= 19


@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path.stem not in SLOW], ids=lambda path: path.stem
)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_an_example_draws_in_the_palette(path, monkeypatch, tmp_path):
    title, rule = re.match(r'"""\n(.*)\n(=+)\n', path.read_text("utf-8")).groups()
    assert len(title) == len(rule)
    made = []
    create = Figure.__init__

    def keep(figure, *args, **kwargs):
        create(figure, *args, **kwargs)
        made.append(figure)

    monkeypatch.setattr(Figure, "__init__", keep)
    monkeypatch.chdir(tmp_path)
    with plt.rc_context({"backend": "agg"}), sklearn.config_context():
        runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    assert made
    for figure in made:
        figure.savefig(tmp_path / "figure.svg")
        for axes in figure.axes:
            colours = {to_hex(line.get_color()) for line in axes.lines}
            colours |= {to_hex(bar.get_facecolor()) for bar in axes.patches if bar.get_alpha() != 0}
            assert colours <= PALETTE | {"#000000"} or path.stem == "plot_tree_drawing", colours


def test_only_figures_outside_pyplot_are_scraped_and_they_are_described(monkeypatch, tmp_path):
    pytest.importorskip("sphinx_gallery", reason="needs the extra docs")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs"))
    scraper = importlib.import_module("figures_of_examples")
    own = Figure()
    own.subplots().set(xlabel="rows", ylabel="seconds")
    managed = plt.figure()
    image = tmp_path / "own.png"
    block_vars = {
        "example_globals": {"own": own, "managed": managed, "again": own},
        "image_path_iterator": iter([str(image)]),
    }
    text = scraper.scrape(None, block_vars, {"src_dir": str(tmp_path)})
    assert image.exists()
    assert text.count("own.png") >= 1 and "Plot: seconds, rows" in text
    plt.close(managed)  # as pyplot's scraper does after ours
    assert scraper.scrape(None, block_vars, {"src_dir": str(tmp_path)}) == ""
    assert scraper.describe(Figure(), "Trees, drawn") == "Trees, drawn"
