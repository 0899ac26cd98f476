"""Rounds of boosting: searches for weak learners and their exact steps."""
