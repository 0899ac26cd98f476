"""Click logs: judgements with intervals, click models, and tests of systems online and offline."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
