"""The processor's instruction to fetch a line of memory, for kernels that know what they read next.

It does not wait. Without it, a kernel that reads rows in any order but that of memory waits for
each of them in turn, however far ahead it knows their numbers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_BYTE, _INT = ir.IntType(8), ir.IntType(32)
# Arguments of LLVM's intrinsic: for a read, of data that is needed soon and often.
_READ, _KEEP, _DATA = _INT(0), _INT(3), _INT(1)


@intrinsic
def prefetch(_typing: Any, _address: Any) -> Any:
    """Fetch the line of memory at an address, a whole number, into the cache."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        call = ir.FunctionType(ir.VoidType(), [pointer.type, _INT, _INT, _INT])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], call)
        builder.call(function, [pointer, _READ, _KEEP, _DATA])
        return ir.Constant(_BYTE.as_pointer(), None)  # what Numba has for None

    return types.void(types.uintp), generate
