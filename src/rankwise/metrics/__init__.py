"""Measures of rankings: named by spec strings, computed per query and averaged over queries."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
