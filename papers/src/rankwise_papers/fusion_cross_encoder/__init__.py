"""Fusion of BM25 with a cross-encoder on SciFact and NFCorpus."""
