"""Classifiers whose errors differ in cost."""
