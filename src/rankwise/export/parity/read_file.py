"""Read an exported file of any format.

Programs that score exported files themselves, where they are installed.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.export.maps import NONE_FORBIDDEN, XGBOOST_FORBIDDEN
from rankwise.export.parity.interpreters import (
    ExportedFile,
    check_names,
    check_tree_sizes,
    lightgbm_trees,
    native_trees,
    opensearch_trees,
    plugin_file,
    ranklib_file,
    solr_file,
    sum_trees,
    vespa_trees,
    xgboost_trees,
)
from rankwise.rankers.adapters.read_booster import library_of
from rankwise.typing import Float64Array, is_sparse

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


Score = Callable[[NDArray[Any]], Float64Array]


def lightgbm_score(path: Path) -> tuple[str, Score] | None:
    """Name and score function of LightGBM; None if it is not installed.

    The file must have passed :func:`check_tree_sizes`.
    """
    if find_spec("lightgbm") is None:
        return None
    import lightgbm

    booster = lightgbm.Booster(model_file=path)

    def score(X: NDArray[Any]) -> Float64Array:
        return np.asarray(booster.predict(X, raw_score=True, num_threads=1), dtype=np.float64)

    return f"LightGBM {lightgbm.__version__}", score


def xgboost_score(path: Path, names: Sequence[str] = ()) -> tuple[str, Score] | None:
    """Name and score function of XGBoost; None if it is not installed.

    ValueError is raised if XGBoost reads other feature names than ``names``.
    """
    if find_spec("xgboost") is None:
        return None
    import xgboost

    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(path.read_bytes()))  # a path would need the suffix .json
    if booster.feature_names and names and booster.feature_names != list(names):
        raise ValueError(f"XGBoost reads its feature names as {booster.feature_names}.")

    def score(X: NDArray[Any]) -> Float64Array:
        rows = X.astype(np.float32)
        return np.asarray(booster.inplace_predict(rows, predict_type="margin"), dtype=np.float64)

    return f"XGBoost {xgboost.__version__}", score


def onnx_score(path: Path) -> tuple[str, Score]:
    """Name and score function of onnxruntime.

    ImportError is raised if it is not installed: ONNX files have no interpreter here.
    """
    if find_spec("onnxruntime") is None:
        raise ImportError(
            "verify needs onnxruntime to score an ONNX file, which is not installed. Run: "
            "pip install onnxruntime"
        )
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def score(X: NDArray[Any]) -> Float64Array:
        (found,) = session.run(["score"], {"X": X.astype(np.float32)})
        return np.asarray(found, dtype=np.float64)[:, 0]

    return f"onnxruntime {version('onnxruntime')}", score


def python_score(path: Path) -> tuple[str, Score, list[str]]:
    """Name, score function and features of a file of ``to_python``, which is run."""
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return f"NumPy {np.__version__}", names["score"], list(names["FEATURES"])


def library_scores(model: Any, X: Any) -> Float64Array:
    """Scores (n_samples,) before the link function, by the library that trained a model.

    Absent entries of CSR are zeros, as in exported files.
    """
    rows = X.toarray() if is_sparse(X) else X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        found = _SCORES[str(library_of(model))](model, rows)
    return np.asarray(found, dtype=np.float64).reshape(-1)


def _score_with_lightgbm(model: Any, X: Any) -> Any:
    scores = model.predict(X, raw_score=True)
    booster = getattr(model, "booster_", model)
    # Raw scores of random forests are sums, of which their files are means.
    text = booster.model_to_string()
    is_mean = "\naverage_output\n" in text.partition("\nTree=")[0]
    return scores / max(text.count("\nTree="), 1) if is_mean else scores


def _score_with_xgboost(model: Any, X: Any) -> Any:
    if hasattr(model, "get_booster"):
        return model.predict(X, output_margin=True, validate_features=False)
    return model.inplace_predict(X, predict_type="margin", validate_features=False)


def _score_with_catboost(model: Any, X: Any) -> Any:
    return model.predict(X, prediction_type="RawFormulaVal")


_SCORES = {
    "lightgbm": _score_with_lightgbm,
    "xgboost": _score_with_xgboost,
    "catboost": _score_with_catboost,
}
