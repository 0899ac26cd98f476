"""Torch, or what to install."""

from __future__ import annotations

try:
    import torch  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(
        "Neural rankers are trained by torch, which is not installed. "
        'Run: pip install "rankwise[neural]"'
    ) from error

__all__ = ["torch"]
