"""Export of models to the formats of other programs, with a certificate that they rank alike.

``to_NAME`` writes a format from the maps that :mod:`rankwise.export.chains` reads out of a model.
"""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
