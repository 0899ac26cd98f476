"""Row values stored between trees, in one byte each if there are few distinct values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.typing import Float64Array

CHUNK = 65_536
MOST = 256  # number of distinct values that fit in a byte


@dataclass(frozen=True, eq=False)
class CodedValues:
    """An array whose slices are decoded on access."""

    # indices into ``levels``, or the values themselves if ``levels`` is None
    codes: NDArray[np.uint8] | Float64Array
    levels: Float64Array | None  # distinct values, ascending

    @classmethod
    def of(cls, values: Float64Array) -> CodedValues:
        """Encode an array of at most 256 distinct values; leave other arrays unchanged."""
        levels = np.empty(0)
        starts = range(0, len(values), CHUNK)
        for start in starts:
            # Chunk by chunk: sorting all values at once would need as much memory as the encoding
            # saves.
            levels = np.union1d(levels, values[start : start + CHUNK])
            if len(levels) > MOST:
                return cls(values, None)
        codes = np.empty(len(values), dtype=np.uint8)
        for start in starts:
            rows = slice(start, start + CHUNK)
            codes[rows] = np.searchsorted(levels, values[rows])
        return cls(codes, levels)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice) -> Float64Array:
        return self.codes[rows] if self.levels is None else self.levels[self.codes[rows]]
