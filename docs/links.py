"""Sphinx extension: links to public names, however a docstring abbreviates them.

A docstring may say ``:func:`compare``` or name the module in which a function lives, while the
reference documents it under its public name. The last part of the name finds it; of several, the
shortest one is the public one.
"""

from __future__ import annotations

from typing import Any

from sphinx.util.nodes import make_refnode

# Documented elsewhere; there is no network to look them up in while the pages are built.
OTHERS = ("collections", "matplotlib", "pathlib", "scipy", "sklearn")


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """The link, plain text for names of other libraries, or None if the name is unknown."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].lstrip("~.")
    if target.split(".")[0] in OTHERS:
        return content
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
