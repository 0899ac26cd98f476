"""Structure of fitted state: rules declared by classes, and the check of objects against them.

A class lists its fitted attributes in ``_structure``, each with a rule: the shape of an array in
symbols, its kind of numbers and their range. Subclasses inherit the rules of their bases. Equal
symbols stand for equal sizes within an object and in the objects that it holds, so
``Array("n_nodes")`` in two attributes requires arrays of equal length. Relations between attributes
that symbols cannot express belong in a method ``_check_structure``, which raises ValueError.

The rules serve :mod:`rankwise.persistence`: kernels compiled by Numba index arrays without bounds
checks, so the numbers of a model file are checked before any method of the model is called.
"""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
