"""Reports: plots of a comparison and one self-contained HTML page of it."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
