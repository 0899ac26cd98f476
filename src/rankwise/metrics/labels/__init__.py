"""Measures of label sets and of rankings of labels."""
