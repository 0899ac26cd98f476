"""Compiled loops (imports numpy and rankwise.runtime.jit, nothing else).

Some NumPy expressions take seconds to compile: the assignment of one array to another
(``a[:] = b``, 4 s), ``np.argsort`` (2.3 s), ``np.arange`` (0.7 s). Loops and
:mod:`rankwise.kernels.sorting` replace them; assigning a number (``a[:] = 0.0``) is quick.
"""
