"""Compiled loops (imports numpy and rankwise.runtime.jit, nothing else).

Some NumPy expressions take seconds to compile: assigning one array to another (``a[:] = b``, 4 s),
``np.argsort`` (2.3 s) and ``np.arange`` (0.7 s). The kernels use loops and
:mod:`rankwise.kernels.sorting` instead. Assigning a number (``a[:] = 0.0``) compiles quickly.
"""
