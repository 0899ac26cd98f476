"""Closed-form rankers on rows that lie on several machines: sums travel, rows stay.

:func:`fit` runs on Dask (the ``dask`` extra). :func:`plan`, :func:`partition_statistics`,
:func:`merge` and :func:`solve` are its steps and need no Dask: they run on any system that maps a
function over partitions and reduces the results, such as Spark or Ray.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
