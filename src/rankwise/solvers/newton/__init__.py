"""Convex losses of scores: truncated and proximal Newton steps, linear or with a kernel."""
