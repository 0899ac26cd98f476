"""Measures of rankings: spec strings, conventions by name, per query first and mean second."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
