"""Known data sets: locations, checksums and loaders."""
