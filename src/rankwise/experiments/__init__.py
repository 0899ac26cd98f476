"""Runner of published experiments: cells computed once, tables of our values beside the paper's.

The experiments themselves come from other packages, through the entry points that
:mod:`rankwise.experiments.registry` reads; ``rankwise-papers`` has those of the papers.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
