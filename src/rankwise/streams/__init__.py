"""Streams of rows that need not fit in memory: sources, checked chunks and cutting."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
