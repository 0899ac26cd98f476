"""BM25 and learnt reranking on five text collections."""
