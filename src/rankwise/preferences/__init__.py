"""Strengths of items from preferences: paired comparisons and orders of several items."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
