"""Runner of published experiments: cells computed once, tables of our values beside the paper's.

The experiments themselves come from other packages, through the entry points that
:mod:`rankwise.experiments.registry` reads; ``rankwise-papers`` has those of the papers.
"""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
