"""Ordinal estimators: classifiers over ordered classes that rank by one score."""
