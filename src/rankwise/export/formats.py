"""Formats that a fitted model can be exported to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from rankwise.export.chains import chain_of, own_model, reads_categories
from rankwise.export.maps import Affine, ExportError, Trees
from rankwise.export.onnx_model import to_onnx
from rankwise.export.parts import (
    behind_columns,
    check_float32_keys,
    check_numbered,
    is_network,
    split_scalers,
)
from rankwise.export.python_source import is_source
from rankwise.export.solr import ACTIVATIONS

_OF_SUMS = ("python", "solr", "elasticsearch", "ranklib")
_OF_TREES = ("lightgbm", "xgboost", "vespa", "opensearch")


def export_formats(estimator: Any) -> list[str]:
    """Formats that a fitted model can be exported to, as ``rankwise export --format`` names them.

    Parameters
    ----------
    estimator : fitted estimator
        Ranker, ordinal estimator, transformer, pipeline or search; or a model of LightGBM, XGBoost
        or CatBoost.

    Returns
    -------
    list of str
        Some of "onnx", "python", "solr", "elasticsearch", "ranklib", "lightgbm", "xgboost", "vespa"
        and "opensearch", for :func:`to_onnx`, :func:`to_python` and so on. A model with "lightgbm"
        and "elasticsearch" takes ``to_elasticsearch(native=True)``, too. Empty: the model cannot be
        exported; the exporters say why. Vespa also needs names of rank features.

    Notes
    -----
    Nothing is written. The answer depends on the fitted model, not only on its class: trees that
    split unordered categories, or compare statistics of them, fit fewer formats, and AutoRanker
    keeps different families.

    Examples
    --------
    >>> from rankwise import PairwiseELM, RidgeRanker
    >>> from rankwise.export import export_formats
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 2]
    >>> export_formats(RidgeRanker().fit(X, y, qid=0))
    ['onnx', 'python', 'solr', 'elasticsearch', 'ranklib']
    >>> export_formats(PairwiseELM(10, random_state=0).fit(X, y, qid=0))
    ['onnx', 'python', 'solr']
    """
    estimator = own_model(estimator)
    check_is_fitted(estimator)
    try:
        chain = chain_of(estimator)
    except ExportError:
        try:
            to_onnx(estimator)  # skl2onnx may convert steps that are not known here
        except (ExportError, ImportError):
            return []
        return ["onnx"]
    scaled, rest = split_scalers(behind_columns(chain))
    match rest:
        case (Affine() as weighted,) if weighted.weights.shape[1] == 1:
            return ["onnx", *_OF_SUMS]
        case (Trees(),) if not reads_categories(rest):
            return ["onnx", *_OF_SUMS, *_OF_TREES]
        case (Trees() as trees,):
            sets = [] if scaled or not _passes(check_numbered, trees) else ["lightgbm", "xgboost"]
            onnx = ["onnx"] if _passes(check_float32_keys, trees) else []
            return [*onnx, "python", *sets]
        case _ if is_network(rest, tuple(ACTIVATIONS)):
            return ["onnx", "python", "solr"]
    return ["onnx", "python"] if is_source(chain) else ["onnx"]


def _passes(check: Callable[..., None], trees: Trees) -> bool:
    try:
        check(trees, None, "")
    except ExportError:
        return False
    return True
