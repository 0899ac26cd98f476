"""Runner of published experiments, with tables of our values beside the paper's.

Users and experiments import these names from :mod:`rankwise.experiments`.
"""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
