"""Judged data: readers, writers, the catalog of known sets, lint; ratings, compounds, classes."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
