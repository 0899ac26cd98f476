"""Compiled forms of functions that are one instruction.

:mod:`rankwise.runtime.jit` registers them with Numba before the first kernel is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba.extending
from llvmlite import ir
from numba import types

intrinsic: Any = numba.extending.intrinsic  # its stub keeps the arguments that Numba fills in

_BYTE, _INT, _BIT = ir.IntType(8), ir.IntType(32), ir.IntType(1)
# Arguments of LLVM's prefetch: for a read, of data that is needed soon and often.
_READ, _KEEP, _DATA = _INT(0), _INT(3), _INT(1)
_OF_WORD = types.uint64(types.uint64)


@intrinsic
def _prefetch(_typing: Any, _address: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        call = ir.FunctionType(ir.VoidType(), [pointer.type, _INT, _INT, _INT])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], call)
        builder.call(function, [pointer, _READ, _KEEP, _DATA])
        return ir.Constant(_BYTE.as_pointer(), None)  # what Numba has for None

    return types.void(types.uintp), generate


@intrinsic
def _leading_zeros(_typing: Any, _word: Any) -> Any:
    # The bit: a word of 0 has 64 zeros.
    return _OF_WORD, lambda _c, builder, _s, arguments: builder.ctlz(arguments[0], _BIT(0))


@intrinsic
def _trailing_zeros(_typing: Any, _word: Any) -> Any:
    return _OF_WORD, lambda _c, builder, _s, arguments: builder.cttz(arguments[0], _BIT(0))


def register(
    prefetch: Callable[..., Any],
    leading_zeros: Callable[..., Any],
    trailing_zeros: Callable[..., Any],
) -> None:
    """Compile calls of these functions, which kernels see under their own names."""
    numba.extending.overload(prefetch)(lambda address: lambda address: _prefetch(address))
    numba.extending.overload(leading_zeros)(lambda word: lambda word: _leading_zeros(word))
    numba.extending.overload(trailing_zeros)(lambda word: lambda word: _trailing_zeros(word))
