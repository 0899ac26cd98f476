"""rankwise: learning to rank with a scikit-learn API."""

from rankwise._exports import attach as _attach
from rankwise._version import __version__ as __version__

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
