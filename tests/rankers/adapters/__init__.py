"""Tests of the boosting adapters."""
