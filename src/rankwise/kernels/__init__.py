"""Compiled loops (imports numpy and rankwise.runtime.jit, nothing else)."""
