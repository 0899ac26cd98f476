"""Base classes of scikit-learn, with types for checkers, and its check that an estimator is fitted.

scikit-learn declares no types, so what a class derives from its own would be unknown to a checker
of a user's code. The declarations derive from scikit-learn's classes, so that a function with an
argument ``BaseEstimator`` takes every estimator. At run time these are those classes themselves.
"""

# Checkers infer descriptors and None where these declare what the methods return.
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn.utils import validation

if TYPE_CHECKING:
    from sklearn import base

    class BaseEstimator(base.BaseEstimator):
        """``sklearn.base.BaseEstimator``."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def set_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_partial_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_predict_request(self, **requests: bool | str | None) -> Self: ...
        def set_predict_proba_request(self, **requests: bool | str | None) -> Self: ...
        def set_score_request(self, **requests: bool | str | None) -> Self: ...
        def set_transform_request(self, **requests: bool | str | None) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def __sklearn_clone__(self) -> Self: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...

    class ClassifierMixin(base.ClassifierMixin):
        """``sklearn.base.ClassifierMixin``."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...
        def __sklearn_tags__(self) -> Any: ...

    class RegressorMixin(base.RegressorMixin):
        """``sklearn.base.RegressorMixin``."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...
        def __sklearn_tags__(self) -> Any: ...

    class TransformerMixin(base.TransformerMixin):
        """``sklearn.base.TransformerMixin``."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class OneToOneFeatureMixin(base.OneToOneFeatureMixin):
        """``sklearn.base.OneToOneFeatureMixin``."""

        def get_feature_names_out(self, input_features: Any = None) -> Any: ...

    class ClassNamePrefixFeaturesOutMixin(base.ClassNamePrefixFeaturesOutMixin):
        """``sklearn.base.ClassNamePrefixFeaturesOutMixin``."""

        def get_feature_names_out(self, input_features: Any = None) -> Any: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        OneToOneFeatureMixin,
        RegressorMixin,
        TransformerMixin,
    )


def check_is_fitted(estimator: Any) -> None:
    """``sklearn.utils.validation.check_is_fitted``, sooner if the estimator has seen columns.

    scikit-learn first collects all tags of the estimator, which takes longer than many models take
    to score a row.
    """
    if "n_features_in_" not in vars(estimator):
        validation.check_is_fitted(estimator)


__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "OneToOneFeatureMixin",
    "RegressorMixin",
    "TransformerMixin",
    "check_is_fitted",
]
