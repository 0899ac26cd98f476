"""Rankers: predict gives scores, higher is better; one algorithm a file."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
