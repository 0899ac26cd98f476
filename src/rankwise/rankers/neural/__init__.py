"""Networks trained by torch (extra ``neural``).

Torch is needed to fit; a fitted network holds NumPy arrays, so that it predicts and loads without.
"""
