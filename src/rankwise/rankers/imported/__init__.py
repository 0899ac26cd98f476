"""Models that boosting libraries trained, read from their files and objects."""
