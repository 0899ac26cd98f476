"""Decisions after the ranking: answer or abstain, where to cut, which weights, which depth."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
