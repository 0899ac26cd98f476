"""Public names of the packages: listed in stub files and imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import lazy_loader

from rankwise._packages import explain_missing


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of the package with this ``__init__.py``.

    The error for an unknown name suggests the most similar public name, and that for a missing
    package names the public name that needs it.
    """
    found, directory, names = lazy_loader.attach_stub(package, file)

    def find(name: str) -> Any:
        if name in names:
            try:
                return found(name)
            except ImportError as error:
                raise explain_missing(error, f"{package}.{name}") from error
        lower = {public.lower(): public for public in names}
        near = get_close_matches(name.lower(), lower, n=1) if not name.startswith("_") else []
        hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
        raise AttributeError(f"module {package!r} has no attribute {name!r}.{hint}", name=name)

    return find, directory, names
