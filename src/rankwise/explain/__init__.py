"""Explain rankings: contributions of features to scores, and the effect of one feature."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
