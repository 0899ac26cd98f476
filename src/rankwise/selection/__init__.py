"""Comparison of rankers: splits by query, tuning on validation parts, leaderboards."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
