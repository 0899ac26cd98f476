"""Gradient trees, grown from histograms."""
