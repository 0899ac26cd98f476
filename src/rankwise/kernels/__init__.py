"""Compiled loops (imports numpy and rankwise._jit, nothing else)."""
