"""Programs that score exported files themselves, where they are installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.rankers.imported.read_booster import library_of
from rankwise.typing import Float64Array, is_sparse

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
