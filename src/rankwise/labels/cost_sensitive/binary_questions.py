"""Reduction to weighted binary questions, answered by least squares or by any classifier."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_regressor

from rankwise.checks.parameter_constraints import POSITIVE, HasMethods, Interval, minimum
from rankwise.labels.cost_sensitive.binary_ridge import fit_binary_ridge
from rankwise.labels.cost_sensitive.contrasts import Contrasts
from rankwise.runtime.routing import fit_with
from rankwise.runtime.threads import single_threaded_blas, thread_map, threads_asked
from rankwise.structure.rules import (
    Array,
    Fitted,
    Many,
    Optional,
    Rule,
    Sometimes,
    floats,
    require_attributes,
)
from rankwise.typing import Float64Array, Matrix

# Number of rows above which threads are worth their start-up time.
FEW_ROWS = 256


class BinaryQuestions:
    """Base of the reductions to weighted binary classification.

    A subclass accepts ``estimator``, ``alpha`` and ``n_jobs``. ``_ask`` trains one binary model for
    each question; ``_answers`` applies the models to other rows.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": Sometimes(floats("n_questions", "n_features_in_")),
        "intercept_": Sometimes(floats("n_questions")),
        "estimators_": Sometimes(Many(Optional(Fitted("n_features_in_")), "n_questions")),
        "constants_": Sometimes(Array(("n_questions",), numbers="any")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "alpha": [POSITIVE],
        "n_jobs": [
            Interval(Integral, None, -1, closed="right"),
            minimum(1),
            None,
        ],
    }

    estimator: Any
    alpha: float
    n_jobs: int | None

    def _check_structure(self) -> None:
        names = ("coef_", "intercept_") if self.estimator is None else ("estimators_", "constants_")
        require_attributes(self, *names)

    def _ask(self, X: Matrix, contrasts: Contrasts) -> None:
        """Set ``coef_`` and ``intercept_``, or ``estimators_`` and ``constants_``."""
        for name in ("coef_", "intercept_", "estimators_", "constants_"):
            vars(self).pop(name, None)
        if self.estimator is None:
            n_threads = threads_asked(self.n_jobs) if X.shape[0] > FEW_ROWS else 1
            self.coef_, self.intercept_ = fit_binary_ridge(X, contrasts, self.alpha, n_threads)
            return
        with single_threaded_blas():
            fitted = thread_map(
                lambda question: _answer(self.estimator, X, contrasts.of_rows(question)),
                range(contrasts.n_questions),
                threads_asked(self.n_jobs),
            )
        self.estimators_ = [model for model, _ in fitted]
        self.constants_ = np.array([constant for _, constant in fitted], dtype=np.float64)

    def _answers(self, X: Matrix) -> tuple[Float64Array, Float64Array]:
        """Answer (1: second class, 0: first class) and confidence for every row and question.

        The answer is 1/2 if no training row concerned the question. Confidences are decision
        values, otherwise probabilities of the second class, otherwise 0. Both arrays have shape
        (n_samples, n_questions).
        """
        if self.estimator is None:
            confidence = X @ self.coef_.T + self.intercept_
            asked = (self.coef_ != 0).any(axis=1) | (self.intercept_ != 0)
            return np.where(asked, confidence > 0, 0.5), confidence
        chosen = np.empty((X.shape[0], len(self.estimators_)))
        confidence = np.zeros_like(chosen)

        def fill(question: int) -> None:
            model = self.estimators_[question]
            if model is None:
                chosen[:, question] = self.constants_[question]
                confidence[:, question] = np.sign(2.0 * self.constants_[question] - 1.0)
            else:
                chosen[:, question] = model.predict(X)
                confidence[:, question] = confidence_of(model, X)

        n_threads = threads_asked(self.n_jobs) if X.shape[0] > FEW_ROWS else 1
        with single_threaded_blas():
            thread_map(fill, range(chosen.shape[1]), n_threads)
        return chosen, confidence


def _answer(estimator: Any, X: Matrix, signed: Float64Array) -> tuple[Any, float]:
    """A fitted clone and NaN; or None and a constant answer: 0, 1, or 1/2 without rows."""
    asking = np.flatnonzero(signed)
    label = (signed[asking] > 0).astype(np.int64)
    if len(asking) == 0 or label.min() == label.max():
        return None, float(label[0]) if len(asking) else 0.5
    model: Any = clone(estimator)
    rows = X if len(asking) == X.shape[0] else X[asking]
    weight = np.abs(signed[asking])
    if (weight == 1.0).all():  # classifiers without sample_weight are accepted if all weights are 1
        model.fit(rows, label)
        return model, np.nan
    taken = fit_with(model, rows, label, {"sample_weight": weight})
    if "sample_weight" not in taken:
        raise TypeError(
            f"estimator must accept sample_weight, but {type(estimator).__name__}.fit does not. "
            "Use a classifier that does. In a pipeline, call set_fit_request(sample_weight=True) "
            "on the last step."
        )
    return model, np.nan


def confidence_of(model: Any, X: Matrix) -> Float64Array | float:
    if is_regressor(model):
        return np.ravel(model.predict(X))
    if hasattr(model, "decision_function"):
        return np.ravel(model.decision_function(X))
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else 0.0
