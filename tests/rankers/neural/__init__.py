"""Tests of the neural rankers."""
