"""Why is A above B: differences of scores shared out among the features."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
