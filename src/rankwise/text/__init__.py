"""From text to ranked documents: index, retrieval, features of pairs, reranking."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
