"""Sphinx extension: links to public names, of rankwise and of other libraries.

A docstring may say ``:func:`compare``` or name the module in which a function lives, while the
reference documents it under its public name. The last part of the name finds it; of several, the
shortest one is the public one.

Addresses in other libraries follow from the name, so a build needs no network and no stored
inventory. The repository's addresses are those of ``pyproject.toml``. On a page of prose, the first
mention of another project links its documentation.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.nodes import make_refnode

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
# Pages of objects of other libraries, by the first part of their names.
OTHERS = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/{name}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{name}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{name}.html",
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{name}.html",
}
# One page for all objects of a module.
BY_MODULE = {
    "collections": "https://docs.python.org/3/library/{module}.html#{name}",
    "pathlib": "https://docs.python.org/3/library/{module}.html#{name}",
    "matplotlib": "https://matplotlib.org/stable/api/{last}_api.html#{name}",
}

# Documentation of the projects that pages mention.
PROJECTS = {
    "bm25s": "https://github.com/xhluca/bm25s",
    "CatBoost": "https://catboost.ai/docs/",
    "Dask": "https://docs.dask.org",
    "Elasticsearch": "https://www.elastic.co/docs/",
    "ir-measures": "https://ir-measur.es",
    "LightGBM": "https://lightgbm.readthedocs.io",
    "MLflow": "https://mlflow.org/docs/latest/",
    "mord": "https://github.com/fabianp/mord",
    "MS MARCO": "https://microsoft.github.io/msmarco/",
    "ONNX": "https://onnx.ai",
    "OpenSearch": "https://docs.opensearch.org",
    "Optuna": "https://optuna.readthedocs.io",
    "pandas": "https://pandas.pydata.org/docs/",
    "Polars": "https://docs.pola.rs",
    "pyarrow": "https://arrow.apache.org/docs/python/",
    "PyTerrier": "https://pyterrier.readthedocs.io",
    "PyTorch": "https://docs.pytorch.org",
    "RankLib": "https://sourceforge.net/p/lemur/wiki/RankLib/",
    "ranx": "https://github.com/AmenRa/ranx",
    "Ray": "https://docs.ray.io",
    "scikit-learn": "https://scikit-learn.org/stable/",
    "Solr": "https://solr.apache.org/guide/",
    "Spark": "https://spark.apache.org/docs/latest/",
    "statsmodels": "https://www.statsmodels.org",
    "trec_eval": "https://github.com/usnistgov/trec_eval",
    "Vespa": "https://docs.vespa.ai",
    "XGBoost": "https://xgboost.readthedocs.io",
}
MENTION = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, PROJECTS))})(?![\w/-]|\.\w)")
NOT_PROSE = (nodes.literal, nodes.reference, nodes.title, nodes.rubric, nodes.raw, pending_xref)


def project_urls() -> dict[str, str]:
    """Addresses of the project: Documentation, Source, Changelog, Issues, Licence."""
    urls = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["urls"]
    return urls | {"Licence": f"{urls['Source']}/blob/main/LICENSE"}


def address(name: str) -> str | None:
    """Address of an object of another library, or None if the library is not known."""
    library = name.partition(".")[0]
    pattern = OTHERS.get(library) or BY_MODULE.get(library)
    module = name.rpartition(".")[0]
    last = module.rpartition(".")[2]
    return pattern and pattern.format(name=name, module=module, last=last)


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """The link, or None if the name is unknown."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].lstrip("~.")
    url = address(target)
    if url is not None:
        return nodes.reference("", "", content, internal=False, refuri=url, reftitle=target)
    objects = env.get_domain("py").objects
    last = target.rpartition(".")[2]
    found = [name for name in objects if name.endswith(f".{target}")]
    found = found or [name for name in objects if name.rpartition(".")[2] == last]
    if not found:
        return None
    name = min(found, key=len)
    of = objects[name]
    return make_refnode(app.builder, node["refdoc"], of.docname, of.node_id, content, title=name)


def link_projects(app: Any, doctree: nodes.document) -> None:
    """Turn the first mention of each project in the paragraphs of a page into a link."""
    if "/" in app.env.docname:  # the reference and the gallery
        return
    seen: set[str] = set()
    for text in [
        text
        for paragraph in doctree.findall(nodes.paragraph)
        for text in paragraph.findall(nodes.Text)
    ]:
        parent, inside = text.parent, text.parent
        while not isinstance(inside, (nodes.paragraph, *NOT_PROSE)):
            inside = inside.parent
        parts = MENTION.split(str(text))  # names are at odd places
        if isinstance(inside, NOT_PROSE) or not set(parts[1::2]) - seen:
            continue
        new: list[nodes.Node] = []
        for number, part in enumerate(parts):
            if number % 2 and part not in seen:
                seen.add(part)
                new.append(nodes.reference("", part, internal=False, refuri=PROJECTS[part]))
            elif part:
                new.append(nodes.Text(part))
        parent.replace(text, new)


def setup(app: Any) -> None:
    """Connect to references that Sphinx cannot resolve, and to pages once they are read."""
    app.connect("missing-reference", resolve)
    app.connect("doctree-read", link_projects)
