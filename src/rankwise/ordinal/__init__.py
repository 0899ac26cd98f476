"""Ordinal estimators: classifiers for ordered classes that rank by a single score."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
