"""Models for other programs: ONNX runtimes, Solr, Elasticsearch and OpenSearch, RankLib."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
