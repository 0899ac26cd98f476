"""Modules and public names of the packages that are installed."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGES = ("rankwise", "rankwise_papers")
# Public modules that are no packages.
PUBLIC_FILES = ("rankwise.experiments", "rankwise.metrics.significance", "rankwise.typing")


def modules() -> Iterator[tuple[str, Path]]:
    """Name and file of every module of the packages that are installed."""
    for package in PACKAGES:
        try:
            root = Path(importlib.import_module(package).__path__[0])
        except ImportError:
            continue
        for path in sorted(root.rglob("*.py")):
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            yield name.removesuffix(".__init__"), path


def public() -> Iterator[tuple[str, Any]]:
    """What ``__all__`` of every package names, and the public members of its classes."""
    for name, path in modules():
        is_public = path.name == "__init__.py" or name in PUBLIC_FILES
        module = importlib.import_module(name) if is_public else None
        for word in sorted(getattr(module, "__all__", ())):
            thing = getattr(module, word)
            yield f"{name}.{word}", thing
            for member in dir(thing) if inspect.isclass(thing) else ():
                if not member.startswith("_"):
                    yield f"{name}.{word}.{member}", inspect.getattr_static(thing, member)
