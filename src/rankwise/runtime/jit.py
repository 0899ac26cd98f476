"""One way to compile: every kernel in ``kernels/`` is decorated with :func:`njit` from here.

The compiled code is cached on disk where a cache folder is writable and kept in memory only
where none is (a read-only container, say): numba itself raises in that case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, overload

import numba

# Numba returns Python numbers where the function of a kernel would return NumPy scalars: Any.
P = ParamSpec("P")

# IEEE semantics for NaN and infinities are kept; only reassociation and contraction are allowed.
REASSOCIATE = frozenset({"contract", "reassoc", "nsz", "arcp", "afn"})


@overload
def njit(func: Callable[P, Any], /) -> Callable[P, Any]: ...


@overload
def njit(*, fastmath: frozenset[str] | bool) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...


def njit(func: Callable[..., Any] | None = None, *, fastmath: frozenset[str] | bool = False) -> Any:
    """Compile ``func`` lazily, without the GIL, cached on disk where that is possible."""

    def compile_lazily(f: Callable[..., Any]) -> Any:
        options: dict[str, Any] = {
            "nogil": True,
            "fastmath": set(fastmath) if isinstance(fastmath, frozenset) else fastmath,
            "no_cfunc_wrapper": True,  # missing in numba's stubs, hence the dictionary
        }
        try:
            return numba.njit(cache=True, **options)(f)
        except RuntimeError:  # "no locator available": nowhere to write
            return numba.njit(cache=False, **options)(f)

    return compile_lazily if func is None else compile_lazily(func)
