"""Neural networks trained with torch (extra ``neural``).

Torch is only needed to fit. A fitted network holds NumPy arrays, so loading and predicting work
without torch.
"""
