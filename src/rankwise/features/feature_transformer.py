"""Base class of the feature transformers for dense and CSR rows."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator, TransformerMixin

from rankwise.runtime.finite import FiniteResults
from rankwise.structure.rules import TRAINED_ON, Rule


class FeatureTransformer(FiniteResults, TransformerMixin, BaseEstimator):
    """Transformer of dense and CSR rows in float32 and float64."""

    _structure: ClassVar[dict[str, Rule]] = TRAINED_ON

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
