"""Checks of judged data for problems in training or comparison."""
