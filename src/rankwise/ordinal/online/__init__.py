"""Online learners of ordered classes, row by row."""
