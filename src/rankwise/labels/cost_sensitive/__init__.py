"""Classifiers for errors of different cost."""
