"""Models for other programs: ONNX runtimes, Solr, Elasticsearch and OpenSearch, RankLib.

Public names are imported when first used.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rankwise.export.elasticsearch import to_elasticsearch
    from rankwise.export.maps import ExportError
    from rankwise.export.onnx_converters import register as register_onnx_converters
    from rankwise.export.onnx_model import to_onnx
    from rankwise.export.ranklib import to_ranklib
    from rankwise.export.solr import to_solr

_WHERE = {
    "ExportError": "maps:ExportError",
    "register_onnx_converters": "onnx_converters:register",
    "to_elasticsearch": "elasticsearch:to_elasticsearch",
    "to_onnx": "onnx_model:to_onnx",
    "to_ranklib": "ranklib:to_ranklib",
    "to_solr": "solr:to_solr",
}

__all__ = [
    "ExportError",
    "register_onnx_converters",
    "to_elasticsearch",
    "to_onnx",
    "to_ranklib",
    "to_solr",
]


def __getattr__(name: str) -> _Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'rankwise.export' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    value = getattr(_import_module(f"rankwise.export.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
