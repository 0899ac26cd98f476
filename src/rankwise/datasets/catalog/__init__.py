"""Known data sets: where they are, whether they are intact, and their loaders."""
