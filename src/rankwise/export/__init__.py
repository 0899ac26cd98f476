"""Export of models to ONNX runtimes, Solr, Elasticsearch and OpenSearch, and RankLib."""

from rankwise._exports import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
