from .elasticsearch import to_elasticsearch as to_elasticsearch
from .elasticsearch import to_ranklib as to_ranklib
from .formats import export_formats as export_formats
from .lightgbm_text import to_lightgbm as to_lightgbm
from .lightgbm_text import to_vespa as to_vespa
from .maps import ExportError as ExportError
from .onnx_converters import register_onnx_converters as register_onnx_converters  # needs skl2onnx
from .onnx_model import to_onnx as to_onnx
from .python_source import to_python as to_python
from .solr import to_solr as to_solr
from .verification import ParityCertificate as ParityCertificate
from .verification import verify as verify
from .xgboost_json import to_opensearch as to_opensearch
from .xgboost_json import to_xgboost as to_xgboost
