"""Reproductions of papers on learning to rank, for ``rankwise reproduce``."""

__version__ = "0.4.0.dev0"
