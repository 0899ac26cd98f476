"""Decision trees over ordered classes: growing them and using grown trees."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
