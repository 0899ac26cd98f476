"""rankwise: learning to rank behind one scikit-learn API."""

import lazy_loader as _lazy

from rankwise._version import __version__ as __version__

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
