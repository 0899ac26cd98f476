from .elasticsearch import to_elasticsearch as to_elasticsearch
from .lightgbm_text import to_lightgbm as to_lightgbm
from .maps import ExportError as ExportError
from .onnx_converters import register_onnx_converters as register_onnx_converters
from .onnx_model import to_onnx as to_onnx
from .ranklib import to_ranklib as to_ranklib
from .solr import to_solr as to_solr
