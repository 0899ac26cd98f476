"""Text ranking: index, retrieval models, query-document features and reranking."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
