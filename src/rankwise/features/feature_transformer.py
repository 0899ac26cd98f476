"""Base class of the feature transformers for dense and CSR rows."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator, TransformerMixin

from rankwise.runtime.finite import FiniteResults, restore_on_error
from rankwise.structure.state_rules import TRAINED_ON, Rule
from rankwise.typing import ArrayLike, FrameLike


class FeatureTransformer(FiniteResults, TransformerMixin, BaseEstimator):
    """Transformer of dense and CSR rows in float32 and float64."""

    _structure: ClassVar[dict[str, Rule]] = TRAINED_ON

    def fit_transform(  # type: ignore[override]  # takes no other fit parameters
        self, X: FrameLike, y: ArrayLike | None = None
    ) -> Any:
        """:meth:`fit` and :meth:`transform` of the same rows."""
        transformer: Any = self
        with restore_on_error(self):
            return transformer.fit(X, y).transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
