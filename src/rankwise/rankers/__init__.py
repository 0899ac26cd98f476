"""Rankers, one algorithm per file. ``predict`` returns scores; higher is better."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
