"""Export of models to ONNX runtimes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from rankwise._packages import explain_missing
from rankwise._version import __version__
from rankwise.export.chains import (
    categories_of,
    chain_of,
    class_chain,
    columns_of,
    maps_before,
    own_model,
)
from rankwise.export.maps import Chain, ExportError, feature_names
from rankwise.export.parts import check_float32_keys
from rankwise.prediction import innermost
from rankwise.runtime.files import check_folder, write_file

if TYPE_CHECKING:
    from onnx import ModelProto

INPUT = "X"
OPSETS = {"": 17, "ai.onnx.ml": 3}


def to_onnx(estimator: Any, path: str | Path | None = None, *, label: bool = False) -> ModelProto:
    """Write a fitted model as ONNX: rows of float32 in, scores out.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        Exportable ranker or ordinal estimator, or a pipeline that ends in one; the steps before it
        may be anything that skl2onnx converts.
    path : path-like, optional
        File to write in addition.
    label : bool, default=False
        Whether the predicted class of an ordinal estimator is a second output.

    Returns
    -------
    onnx.ModelProto
        Model with the input "X" (n_rows, n_features), float32. The output "score" (n_rows, 1),
        float32, ranks the rows. The output "label" (n_rows,) is int64, or text if classes are not
        whole numbers. Operators are of opset 17 and of opset 3 of ``ai.onnx.ml``. The metadata
        contain the estimator, the version of this library, and as JSON the feature names and the
        categories.

    Raises
    ------
    ExportError
        If the model, or a step of the pipeline, cannot be exported.
    ImportError
        If skl2onnx is not installed.
    FileNotFoundError
        If the folder of ``path`` does not exist.

    Notes
    -----
    Everything is computed in float64, except for models that are only sums of trees: their float32
    thresholds send every float32 row along the same path as the float64 thresholds. skl2onnx
    computes steps of scikit-learn other than the four scalers in float32, and so rows next to a
    threshold can take another path behind these. NaN is a missing value if the estimator accepts
    missing values. For a column of text or of ordered categories, pass the position of the category
    in the list of the metadata; for a nominal column of numbers, pass the numbers themselves. Any
    other number is an unknown category, which is scored also if
    ``OneHotEncoder(handle_unknown="error")`` refuses it. ExportError is raised if two categories
    are the same float32 number.

    Composition: chain of maps x one ONNX operator or a few for each.

    Examples
    --------
    >>> from rankwise import RidgeRanker
    >>> from rankwise.export import to_onnx
    >>> model = to_onnx(RidgeRanker().fit([[0.0], [1.0]], [0, 1], qid=0))
    >>> [output.name for output in model.graph.output]
    ['score']
    """
    estimator = own_model(estimator)
    check_is_fitted(estimator)
    if path is not None:
        check_folder(path)
    last = innermost(estimator)
    own = chain_of(last)
    if label:
        class_chain(last)
    before: Chain | None
    reason = ""
    try:
        before = maps_before(estimator)
    except ExportError as error:
        before, reason = None, str(error)
    chain = () if before is None else chain_of(estimator)
    check_float32_keys(chain or own, feature_names(estimator) if chain else None)
    try:
        from rankwise.export.onnx_converters import convert
    except ImportError as error:
        raise explain_missing(error, "to_onnx") from error
    try:
        model = convert(estimator, before, INPUT, OPSETS, label=label)
    except ExportError as error:
        raise ExportError(f"{reason} {error}".strip()) from error
    made = columns_of(estimator)
    listed = categories_of(estimator)[0] if made is None else made.categories
    _describe(model, last, feature_names(estimator), listed)
    if path is not None:
        write_file(path, model.SerializeToString())
    return model


def _describe(model: Any, last: Any, names: list[str], listed: dict[int, Any]) -> None:
    """Store the producer of the model and the description of its columns."""
    model.producer_name, model.producer_version = "rankwise", __version__
    model.doc_string = f"Scores of {type(last).__name__}, higher ranks higher."
    facts = {
        "estimator": f"{type(last).__module__}.{type(last).__qualname__}",
        "rankwise": __version__,
        "features": json.dumps(names),
    }
    if listed:
        texts = {names[column]: list(map(str, known)) for column, known in listed.items()}
        facts["categories"] = json.dumps(texts)
    for key, value in facts.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
