"""Measures of agreement between labels and scores over pairs or values."""
