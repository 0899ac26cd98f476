"""Closed-form rankers on rows spread over several machines; only sums are transferred.

:func:`fit` runs on Dask (the ``dask`` extra). :func:`plan`, :func:`partition_statistics`,
:func:`merge` and :func:`solve` are its steps and need no Dask: they run on any system that maps a
function over partitions and reduces the results, such as Spark or Ray.
"""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
