"""Sphinx configuration: pages by hand, API lists from the registry, gallery from examples/."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import api_pages  # noqa: E402
import board_picture  # noqa: E402
import chooser  # noqa: E402
import experiment_pages  # noqa: E402
import five_minutes  # noqa: E402
import flows  # noqa: E402
import links  # noqa: E402
import rooms  # noqa: E402
import stored_plots  # noqa: E402

import rankwise  # noqa: E402

project = "rankwise"
author = copyright = "the rankwise authors"
version = release = rankwise.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "drawings",
    "figures_of_pages",
    "formulas",
    "links",
    "speed_bars",
    "stored_figures",
    "stored_plots",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "reproduce"]  # parts of generated/reproduce
default_role = "any"
add_module_names = False
nitpicky = True
urls = links.project_urls()
extlinks = {
    "doi": ("https://doi.org/%s", "doi:%s"),
    "repository": (f"{urls['Source']}/blob/main/%s", "%s"),
}

api_pages.write(HERE / "generated")
chooser.write(HERE / "generated")
five_minutes.write(HERE / "generated")
flows.write(HERE / "generated")
rooms.write(HERE / "generated")
experiment_pages.write(HERE / "generated" / "reproduce")
stored_plots.write_colours(HERE / "generated" / "static")
board_picture.write(HERE / "generated" / "static")
autosummary_generate = True
autosummary_context = {"guides": api_pages.GUIDES_OF_MODULES}
autodoc_typehints = "none"
# Their modules in rankwise.integrations are documented without them.
autodoc_mock_imports = [name for name in ("mlflow", "pyterrier") if find_spec(name) is None]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": "plot_",
    "image_scrapers": ("figures_of_examples.scrape", "matplotlib"),
    "abort_on_example_error": True,
    "capture_repr": (),  # examples print what they show; legends and axes are no results
    "backreferences_dir": "generated/gallery",
    "doc_module": ("rankwise",),
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 5,
    "write_computation_times": False,
}


def quote_trailing_underscores(app, what, name, obj, options, lines):
    """Keep fitted attributes in shapes, ``(n_features_in_,)``, from reading as hyperlinks."""
    attribute = re.compile(r"(?<=[( ])([a-z]\w*_)(?=[,) ])")
    for number, line in enumerate(lines):
        name, colon, kind = line.partition(" : ")
        if colon:
            lines[number] = name + colon + attribute.sub(r"``\1``", kind)


def unlink_measures(app, doctree):
    """``nDCG@10`` is no address to write to."""
    for node in list(doctree.findall(nodes.reference)):
        if node.get("refuri", "").startswith("mailto:"):
            node.parent.replace(node, node.children)


def setup(app):
    """Connect before numpydoc reads the docstrings, and after pages are read."""
    app.connect("autodoc-process-docstring", quote_trailing_underscores, priority=100)
    app.connect("doctree-read", unlink_measures)


html_math_renderer = "svg"
html_theme = "pydata_sphinx_theme"
html_title = "rankwise"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "icon_links": [
        {"name": "Source on GitHub", "url": urls["Source"], "icon": "fa-brands fa-github"},
    ],
    "footer_start": ["project_links", "copyright"],
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
        "alt_text": "rankwise",
    },
}
html_extra_path = ["llms.txt"]  # for programs that read the pages
html_static_path = ["_static", "generated/static"]
html_sidebars = {"choose": [], "leaderboards": []}  # room for the chart, and for the tables
# Pages that were merged into others, and their new address.
MOVED = {"kernels": "theory.html#kernel-rankers"}
html_additional_pages = dict.fromkeys(MOVED, "moved.html")
html_context = {
    "moved": MOVED,
    "project_links": {
        "Source": urls["Source"],
        "Issues": urls["Issues"],
        "Changelog": urls["Changelog"],
        "MIT licence": urls["Licence"],
    },
}
html_css_files = ["colours.css", "rankwise.css"]
html_js_files = ["scroll.js"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
