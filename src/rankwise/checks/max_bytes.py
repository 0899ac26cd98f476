"""The parameter ``max_bytes``: how much memory the kernel values or terms of a fit may take."""

from __future__ import annotations

from rankwise.checks.parameter_constraints import minimum

DEFAULT_MAX_BYTES = 2**33  # 8 GiB
MAX_BYTES_CONSTRAINT = [minimum(1)]
