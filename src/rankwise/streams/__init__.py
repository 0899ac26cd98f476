"""Rows that need not fit in memory: sources, checked chunks, cuts as in memory."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
