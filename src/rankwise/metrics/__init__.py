"""Measures of rankings: spec strings, conventions by name, per query first and mean second."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
