"""Pages link their sources: guides, other libraries, the literature, stored timings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import rankwise
from rankwise._registry import REGISTRY

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Entry points of users, whose pages start with an example.
SHOWN = (
    "rankwise.explain_pair", "rankwise.explain_ranking", "rankwise.load", "rankwise.rank",
    "rankwise.datasets.read_qrels", "rankwise.datasets.read_run", "rankwise.datasets.read_table",
    "rankwise.selection.tune", "rankwise.text.read_beir",
)  # fmt: skip


@pytest.fixture
def docs(monkeypatch):
    """Imports a module of the folder ``docs``."""
    pytest.importorskip("docutils", reason="needs the extra docs")
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module


def test_the_page_of_every_estimator_links_guides_and_related_estimators(docs):
    pages = docs("api_pages")
    for entry in REGISTRY.values():
        assert all((DOCS / f"{page}.rst").exists() for page in pages.guides(entry)), entry.path
        related = pages.related(entry)
        assert related and entry not in related
        text = pages.estimator(entry)
        assert text.index(":doc:") < text.index("autoclass") < text.index("See also")


def test_the_link_in_a_notebook_leads_to_the_page_of_an_estimator(docs, tmp_path):
    docs("api_pages").write(tmp_path / "generated")  # as docs/conf.py does below ``docs``
    assert 'api_pages.write(HERE / "generated")' in (DOCS / "conf.py").read_text("utf-8")
    for entry in REGISTRY.values():
        own = entry.load()
        _, _, page = own._get_doc_link(object.__new__(own)).partition("/latest/")
        assert (tmp_path / page).with_suffix(".rst").is_file(), page


def test_the_pages_of_a_module_link_guides(docs):
    pages = docs("api_pages")
    assert set(pages.MODULES) - set(pages.GUIDES_OF_MODULES) == {"rankwise.exceptions"}
    names = {name for guides in pages.GUIDES_OF_MODULES.values() for name in guides}
    assert all((DOCS / f"{name}.rst").exists() for name in names)


def test_examples_stand_before_parameters():
    sections = re.findall(r"{{(\w+)}}", (DOCS / "_templates/numpydoc_docstring.rst").read_text())
    assert sections[:4] == ["index", "summary", "extended_summary", "examples"]
    assert len(sections) == len(set(sections)) == 17


def test_entry_points_and_plots_have_examples():
    report = importlib.import_module("rankwise.report")
    names = [*SHOWN, *(f"rankwise.report.{n}" for n in report.__all__ if n.startswith("plot_"))]
    functions = [pkgutil.resolve_name(name.replace(".", ":", 1)) for name in names]
    silent = [f.__name__ for f in functions if ">>> " not in inspect.getdoc(f)]
    assert len(names) >= 20
    assert silent == []


def test_names_of_other_libraries_exist_and_have_an_address(docs):
    links = docs("links")
    texts = [path.read_text("utf-8") for path in [*ROOT.glob("src/**/*.py"), *DOCS.glob("*.rst")]]
    libraries = "|".join([*links.OTHERS, *links.BY_MODULE])
    pattern = re.compile(rf":(?:class|func|meth|mod|obj):`~?((?:{libraries})\.[\w.]+)`")
    names = {name for text in texts for name in pattern.findall(text)}
    assert names
    for name in sorted(names):
        pkgutil.resolve_name(name)
        assert name in links.address(name)
    assert links.address(f"{rankwise.__name__}.rank") is None
    assert links.address("sklearn.frozen.FrozenEstimator") == (
        "https://scikit-learn.org/stable/modules/generated/sklearn.frozen.FrozenEstimator.html"
    )


def test_the_first_mention_of_a_project_is_a_link(docs):
    from types import SimpleNamespace

    from docutils import nodes
    from docutils.core import publish_doctree

    links = docs("links")
    page = publish_doctree(
        "LightGBM\n========\n\n``LightGBM`` and *XGBoost's* rows, LightGBM's bins,\n"
        "`LightGBM <https://a.org>`__, LightGBM, and ONNX-like files.\n"
    )
    links.link_projects(SimpleNamespace(env=SimpleNamespace(docname="boosters")), page)
    found = [(link.astext(), link["refuri"]) for link in page.findall(nodes.reference)]
    assert found == [
        ("XGBoost", "https://xgboost.readthedocs.io"),
        ("LightGBM", "https://lightgbm.readthedocs.io"),
        ("LightGBM", "https://a.org"),
    ]
    assert "LightGBM and XGBoost's rows, LightGBM's bins" in page.astext().replace("\n", " ")


def test_most_of_the_literature_has_an_address():
    text = (DOCS / "references.rst").read_text("utf-8")
    entries = re.split(r"^\.\. _\w+:$", text, flags=re.M)[1:]
    found = [re.findall(r"^(?::doi:`(10\.\d{4,}/\S+)`|https://\S+)$", e, re.M) for e in entries]
    dois = [doi for addresses in found for doi in addresses if doi]
    assert len(dois) == len(set(dois))
    assert sum(map(bool, found)) > 0.65 * len(entries)


def test_bars_of_speed_draw_the_stored_times(docs):
    bars = docs("speed_bars")
    asked = re.findall(r"^\.\. speed-bars:: (\S+) \| (.+)$", (DOCS / "speed.rst").read_text(), re.M)
    assert len(asked) >= 3
    for name, pattern in asked:
        text = (DOCS / name).read_text("utf-8")
        found, unit = bars.timings(text, pattern, "ours")
        drawn = [
            bar.get_width()
            for panel in bars.draw(found, unit, "ours").subfigs
            for axes in panel.axes
            for bar in axes.patches
        ]
        assert sorted(drawn) == sorted(v for sides in found.values() for v in sides.values())
        assert all(re.search(rf"\b{value:.2f} {unit}\b", text) for value in drawn)
    assert [bars.three_digits(v, "s") for v in (0.0512, 40.74, 159.99, 23518.6)] == [
        "0.0512 s", "40.7 s", "160 s", "23,500 s"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="0 lines match 'nothing'"):
        bars.timings("met   a: 1.00 x; 1.00 s, LightGBM 2.00 s, load 1.0", "nothing", "ours")


# Peer, and the start of the lines, of each row of the table in speed.rst.
FACTORS = {
    "nDCG@10 of 2,000 queries of 120 rows, pytrec_eval": ("speed", "nDCG@10:"),
    "nDCG@10 of 2,000 queries of 120 rows, scikit-learn ndcg_score loop": ("speed", "nDCG@10:"),
    "nDCG@10 of 2,000 queries of 120 rows, LightGBM": ("speed", "nDCG@10:"),
    "nDCG@10, AP, P@10 and ERR@10, ranx": ("speed", "nDCG@10 + AP + P@10 + ERR@10:"),
    "Kendall's τ of 2,000 queries of 120 rows, SciPy": ("speed", "Tau, 2,000 x 120:"),
    "Read 341 MB of SVMlight text, scikit-learn": ("speed", "read 341 MB:"),
    "Read 341 MB of SVMlight text, XGBoost": ("speed", "read 341 MB:"),
    "Index 100,000 short documents, bm25s": (
        "speed_text", "100,000 short documents, index, beside bm25s:",
    ),
    "The ten best documents of 200 queries, bm25s": (
        "speed_text", "100,000 short documents, 200 queries, k=10, beside bm25s:",
    ),
    "A ranking tree, 240,000 × 136, scikit-learn": (
        "speed_ordinal", "240,000 x 136, histogram with binning:",
    ),
}  # fmt: skip


def test_factors_of_speed_are_those_of_the_stored_times():
    table = (DOCS / "speed.rst").read_text("utf-8").partition(".. list-table::")[2]
    rows = re.findall(r"^   \* - (.+)\n     - (.+)\n     - (\d+)$", table, re.M)
    assert len(rows) == len(FACTORS)
    task = ""
    for named, peer, factor in rows:
        task = task if named == "the same" else named
        name, start = FACTORS[f"{task}, {peer}"]
        times = re.findall(
            rf"^met   {re.escape(start)}.* ours ([\d.]+) ms, {re.escape(peer)}.*? ([\d.]+) ms$",
            (DOCS / f"{name}.txt").read_text("utf-8"), re.M | re.I,
        )  # fmt: skip
        ours, theirs = map(float, times[0])
        assert int(factor) == round(theirs / ours), task
