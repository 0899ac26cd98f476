"""Import of torch, with an error message that names the package to install."""

from __future__ import annotations

try:
    import torch  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(
        'Neural rankers need torch, which is not installed. Run: pip install "rankwise[neural]"'
    ) from error

__all__ = ["torch"]
