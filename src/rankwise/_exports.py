"""Public names of the packages: listed in stub files and imported on first use."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lazy_loader

from rankwise._packages import explain_missing


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of the package with this ``__init__.py``.

    The error for an unknown name gives the name that replaced it, or the most similar one; that for
    a missing package names the public name that needs it. Star imports leave out names whose line
    in the stub file ends in ``# needs LIBRARY`` if the library is not installed.
    """
    found, directory, names = lazy_loader.attach_stub(package, file)
    stub = Path(file).with_suffix(".pyi").read_text("utf-8")
    needs: dict[str, str] = dict(re.findall(r" as (\w+)  # needs (\w+)", stub))
    absent = set()
    for library in set(needs.values()):
        try:
            if find_spec(library) is None:
                absent.add(library)
        except (ImportError, ValueError):  # blocked, or half loaded
            absent.add(library)

    def find(name: str) -> Any:
        if name in names:
            try:
                return found(name)
            except ImportError as error:
                raise explain_missing(error, f"{package}.{name}") from error
        from rankwise.runtime.renames import PUBLIC

        kind: type[AttributeError | ImportError] = AttributeError
        if new := PUBLIC.get(f"{package}.{name}"):
            message = f"{package}.{name} is now {new}."
            # "from package import name" would replace the text of an AttributeError.
            if sys._getframe(1).f_globals.get("__name__", "").endswith("importlib._bootstrap"):
                kind = ImportError
        else:
            lower = {public.lower(): public for public in names}
            near = get_close_matches(name.lower(), lower, n=1) if not name.startswith("_") else []
            hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
            message = f"module {package!r} has no attribute {name!r}.{hint}"
        raise kind(message, name=name)

    return find, directory, [name for name in names if needs.get(name) not in absent]
