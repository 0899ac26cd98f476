"""Linear rankers."""
