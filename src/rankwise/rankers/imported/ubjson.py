"""Universal Binary JSON [1]_, as far as XGBoost writes it.

References
----------
.. [1] https://ubjson.org, Draft 12.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4",
            b"D": ">f8"}  # fmt: skip
_CONSTANTS = {b"T": True, b"F": False, b"Z": None}
_MAX_DEPTH = 64


def read_ubjson(data: bytes) -> Any:
    """Value of a document; arrays of one number type become lists of Python numbers.

    At most 64 levels may be nested.
    """
    reader = _DocumentReader(data)
    value = reader.value(reader.take(1), 0)
    if reader.place != len(data):
        raise ValueError(f"UBJSON ends at byte {reader.place} of {len(data)}.")
    return value


class _DocumentReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.place + size > len(self.data):
            raise ValueError(f"UBJSON is cut off at byte {self.place}.")
        taken = self.data[self.place : self.place + size]
        self.place += size
        return taken

    def value(self, kind: bytes, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"UBJSON nests more than {_MAX_DEPTH} levels.")
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == b"S":
            return self.take(self.size()).decode()
        if kind == b"C":
            return self.take(1).decode()
        if kind == b"[":
            return self._array(depth)
        if kind == b"{":
            return self._object(depth)
        raise ValueError(f"UBJSON has an unknown type {kind!r} at byte {self.place - 1}.")

    def size(self) -> int:
        kind = self.take(1)
        size = self.value(kind, 0) if kind in _NUMBERS else -1
        if not isinstance(size, int) or size < 0:
            raise ValueError(f"UBJSON has no size at byte {self.place}.")
        return size

    def _header(self) -> tuple[bytes | None, int | None]:
        """Type and number of the items, where the container states them."""
        kind = None
        if self.data[self.place : self.place + 1] == b"$":
            self.take(1)
            kind = self.take(1)
            if kind in _CONSTANTS:  # items without bytes: any number of them fits into a file
                raise ValueError("UBJSON has a list of constants, which is not supported.")
        if self.data[self.place : self.place + 1] == b"#":
            self.take(1)
            return kind, self.size()
        return kind, None

    def _array(self, depth: int) -> list[Any]:
        kind, size = self._header()
        if kind in _NUMBERS and size is not None:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(size * dtype.itemsize), dtype).tolist()
        items = []
        while size is None or len(items) < size:
            marker = self.take(1) if kind is None else kind
            if size is None and marker == b"]":
                break
            items.append(self.value(marker, depth + 1))
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        kind, size = self._header()
        items: dict[str, Any] = {}
        while size is None or len(items) < size:
            if size is None and self.data[self.place : self.place + 1] == b"}":
                self.take(1)
                break
            name = self.take(self.size()).decode()
            items[name] = self.value(self.take(1) if kind is None else kind, depth + 1)
        return items
