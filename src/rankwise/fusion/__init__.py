"""Fusion of result lists: rules, learned weights and export to search engines."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
