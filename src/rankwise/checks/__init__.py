"""Checks of user input: rows, classes, labels, costs, and names for data."""
