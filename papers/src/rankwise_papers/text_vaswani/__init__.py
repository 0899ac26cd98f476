"""Learnt reranking on the Vaswani collection: PyTerrier's 19 test topics, and five folds."""
