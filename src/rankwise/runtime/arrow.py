"""pyarrow, imported when it is first used: lean installations do without.

Other modules import it from here, so that the error for a missing pyarrow says what to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankwise._packages import LazyPackage

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pa_parquet
    import pyarrow.types as pa_types

    pc: Any  # its functions are created on import, so type checkers do not see them
else:
    _FEATURE = "Reading or writing tables, TREC files, click logs or .zst files"
    pa = LazyPackage("pyarrow", _FEATURE)
    pa_csv = LazyPackage("pyarrow.csv", _FEATURE)
    pa_parquet = LazyPackage("pyarrow.parquet", _FEATURE)
    pa_types = LazyPackage("pyarrow.types", _FEATURE)
    pc = LazyPackage("pyarrow.compute", _FEATURE)

__all__ = ["pa", "pa_csv", "pa_parquet", "pa_types", "pc"]
