"""Read an exported file of any format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.feature_names import NONE_FORBIDDEN, XGBOOST_FORBIDDEN
from rankwise.export.parity.engine_trees import sum_trees
from rankwise.export.parity.exported_file import ExportedFile
from rankwise.export.parity.file_checks import check_names, check_tree_sizes
from rankwise.export.parity.runtimes import (
    lightgbm_score,
    onnx_score,
    python_score,
    xgboost_score,
)
from rankwise.export.parity.search_engines import plugin_file, ranklib_file, solr_file
from rankwise.export.parity.tree_files import (
    lightgbm_trees,
    native_trees,
    opensearch_trees,
    vespa_trees,
    xgboost_trees,
)

_ONNX_START = b"\x08"  # its first entry, the version
_INTERPRETER = "interpreter"
_PYTHON_START = '"""Scores of '


def read_exported(path: Path, names: list[str]) -> ExportedFile:
    """File that rankwise exported; the format is recognised by the content.

    ``names`` are the names of the columns, for formats that refer to features by name. ValueError:
    the file has no known format, is damaged, or names other features. ImportError: it is ONNX and
    onnxruntime is not installed.
    """
    data = path.read_bytes()
    if path.suffix == ".onnx" or data.startswith(_ONNX_START):
        reader, score = onnx_score(path)
        return ExportedFile("onnx", reader, score, dtype=np.float32)
    try:
        text = data.decode()
        if text.startswith("tree\n"):
            return _read_lightgbm(path, text, names)
        if text.startswith("## "):
            return ranklib_file(text)
        if text.startswith(_PYTHON_START):
            reader, score, listed = python_score(path)
            check_names(listed, names, NONE_FORBIDDEN)
            return ExportedFile("python", reader, score)
        return _read_json(path, json.loads(text), names)
    except KeyError as error:
        raise ValueError(
            f"{path.name} cannot be verified: it is damaged or no export of rankwise, it lacks "
            f"{error}."
        ) from error
    except (IndexError, TypeError, AttributeError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path.name} cannot be verified: {error}") from error


def _read_lightgbm(path: Path, text: str, names: list[str]) -> ExportedFile:
    listed = re.search(r"^feature_names=(.*)$", text, re.MULTILINE)
    check_names(listed.group(1).split(" ") if listed else [], names)
    check_tree_sizes(text.encode())
    trees = lightgbm_trees(text)
    found = lightgbm_score(path)
    reader, score = found or (_INTERPRETER, lambda X: sum_trees(trees, X))
    return ExportedFile("lightgbm", reader, score, trees, smallest=1e-35)


def _read_json(path: Path, model: Any, names: list[str]) -> ExportedFile:
    if "learner" in model:
        listed = model["learner"].get("feature_names") or names
        check_names(listed, names, XGBOOST_FORBIDDEN)
        trees, constant = xgboost_trees(model)
        found = xgboost_score(path, listed)
        reader, score = found or (_INTERPRETER, lambda X: sum_trees(trees, X, constant))
        return ExportedFile("xgboost", reader, score, trees, np.float32)
    if model.get("class", "").startswith("org.apache.solr.ltr.model."):
        return solr_file(model, names)
    if model.get("model_type") == "tree_ensemble":
        trees = native_trees(model, names)
        return _interpret("elasticsearch native", trees)
    if "tree_info" in model:
        return _interpret("vespa", vespa_trees(model, names))
    if model["model"]["model"]["type"] == "model/xgboost+json":
        trees = opensearch_trees(model, names)
        return ExportedFile("opensearch", _INTERPRETER, lambda X: sum_trees(trees, X), trees,
                            np.float32, is_shifted=True)  # fmt: skip
    return plugin_file(model, names)


def _interpret(format: str, trees: Any) -> ExportedFile:
    return ExportedFile(format, _INTERPRETER, lambda X: sum_trees(trees, X), trees)
