"""Rows of training data in their forms; hashes and orders that depend on their content alone."""
