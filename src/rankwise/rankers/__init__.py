"""Rankers: predict gives scores, higher is better; one algorithm a file."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
