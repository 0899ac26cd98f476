"""The parameter ``max_bytes``: how much memory the kernel values or terms of a fit may take."""

from __future__ import annotations

from numbers import Integral

from sklearn.utils._param_validation import Interval

DEFAULT_MAX_BYTES = 2**33  # 8 GiB
MAX_BYTES_CONSTRAINT = [Interval(Integral, 1, None, closed="left")]
