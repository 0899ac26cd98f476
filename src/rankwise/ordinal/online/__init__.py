"""Online learners for ordered classes, trained row by row."""
