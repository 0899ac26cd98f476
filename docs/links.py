"""Sphinx extension: links to public names, of rankwise and of other libraries.

A docstring may say ``:func:`compare``` or name the module in which a function lives, while the
reference documents it under its public name. The last part of the name finds it; of several, the
shortest one is the public one.

Addresses in other libraries follow from the name, so a build needs no network and no stored
inventory. The repository's addresses are those of ``pyproject.toml``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
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


def setup(app: Any) -> None:
    """Connect to references that Sphinx cannot resolve."""
    app.connect("missing-reference", resolve)
