"""Runner of published experiments, with tables of our values beside the paper's.

The experiments come from other packages through the entry points that
:mod:`rankwise.experiments.experiment` reads; ``rankwise-papers`` contains those of the papers.
"""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
