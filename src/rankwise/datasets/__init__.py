"""Data sets: readers, writers, a catalog, lint for judged data; ratings, compounds, classes."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
