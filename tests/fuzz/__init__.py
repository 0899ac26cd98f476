"""Mutational fuzzing of everything that reads files: seeded cases, checked properties."""
