"""Unjudged documents: what they could change, and which of them to judge next."""
