"""Models for the Learning to Rank plugins of Elasticsearch and OpenSearch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankwise.datasets.writers.output import write_file
from rankwise.export.features import feature_names
from rankwise.export.parts import LinearPart, composed, part_of
from rankwise.export.ranklib import ranklib_text


def to_elasticsearch(
    estimator: Any,
    path: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    name: str = "rankwise",
) -> dict[str, Any]:
    """Write a fitted model as the body of ``POST _ltr/_featureset/SET/_createmodel``.

    Parameters
    ----------
    estimator : fitted estimator
        Linear, or a sum of trees or stumps; or a pipeline of StandardScaler, MinMaxScaler,
        MaxAbsScaler or RobustScaler and such a model.
    path : path-like, optional
        File to write besides.
    features : sequence of str, optional
        Names of the feature set, in its order, which is that of the columns; None: those of the
        fit, or f1, f2, ...
    name : str, default="rankwise"
        Of the model.

    Returns
    -------
    dict
        A "model/linear", with ``feature_normalizers`` where a scaler stands before it, or a
        "model/ranklib" of trees, whose features are numbers in the feature set.

    Raises
    ------
    ExportError
        Where the model is neither, or splits categories.
    ValueError
        Where the names do not fit the columns.

    Warns
    -----
    UserWarning
        Where trees had missing values in training: a feature that does not match is 0.

    Notes
    -----
    The plugins compute in float32. A linear model has no constant there: scores are less by one,
    in the same order. Every float32 value takes its way through the trees.

    Composition: chain of maps x the plugins' JSON.

    Examples
    --------
    >>> from rankwise import RidgeRanker
    >>> from rankwise.export import to_elasticsearch
    >>> ranker = RidgeRanker(alpha=0.0).fit([[0.0], [2.0], [4.0]], [0, 1, 2], qid=0)
    >>> model = to_elasticsearch(ranker, features=["title_query"])["model"]["model"]
    >>> model["type"], model["definition"]
    ('model/linear', '{"title_query": 0.5}')
    """
    names = feature_names(estimator, features)
    part = part_of(estimator, "to_elasticsearch")
    model: dict[str, Any]
    if isinstance(part, LinearPart):
        weights = dict(zip(names, part.sum.weights[:, 0].tolist(), strict=True))
        model = {"type": "model/linear", "definition": json.dumps(weights)}
        if part.scaled:
            scaled = composed(part.scaled)
            pairs = zip(scaled.center.tolist(), scaled.spread.tolist(), strict=True)
            model["feature_normalizers"] = {
                feature: _normalizer(center, spread, scaled.to_unit)
                for feature, (center, spread) in zip(names, pairs, strict=True)
            }
    else:
        text = ranklib_text(part, "Elasticsearch")
        model = {"type": "model/ranklib", "definition": text}
    body = {"model": {"name": name, "model": model}}
    if path is not None:
        write_file(path, json.dumps(body, indent=1).encode())
    return body


def _normalizer(center: float, spread: float, to_unit: bool) -> dict[str, Any]:
    """The plugins take no minimum below 0."""
    if to_unit and center >= 0:
        return {"min_max": {"minimum": center, "maximum": center + spread}}
    return {"standard": {"mean": center, "standard_deviation": spread}}
