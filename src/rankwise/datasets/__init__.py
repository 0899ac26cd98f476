"""Judged data: readers, writers, the catalog of known sets, lint; ratings, compounds, classes."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
