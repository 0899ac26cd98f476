"""Linear models of ordered classes."""
