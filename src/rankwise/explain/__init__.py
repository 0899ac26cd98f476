"""Why is A above B: scores shared out among the features, and the effect of one feature."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
