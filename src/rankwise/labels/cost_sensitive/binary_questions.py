"""Reduction to weighted binary questions, answered by least squares or by any classifier.

Question p of a row is whether class ``second[p]`` is cheaper than class ``first[p]``. The answer is
the sign of ``values[:, first[p]] - values[:, second[p]]``, and the weight is its absolute value.
One-versus-one uses all pairs of classes; the ordinal reduction uses adjacent classes.

Ridge regression of a question minimises ``sum_n w_np (t_np - x_n' beta - b)^2 + alpha |beta|^2``
with t = 1 or -1. Since ``w t`` is linear in the values that the contrasts compare, one product
gives the right-hand sides of all questions. If weights depend only on the class of a row, one Gram
matrix per class is enough for any number of questions.

Ridge regression for all pairs jointly, by differences of linear class scores, minimises
``sum_n sum_{a<b} w_nab (t_nab - (s_b(x_n) - s_a(x_n)))^2 + alpha sum_k |beta_k|^2`` with
``s_k(x) = x' beta_k + b_k``. The sum over pairs is a Laplacian form in the scores of a row. The
normal equations therefore have the moments of the pairs (a, b) as blocks, and the pairs of a row
are never built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.base import clone, is_regressor

from rankwise.checks.cost_tables import CostTable
from rankwise.checks.parameter_constraints import N_JOBS, POSITIVE, HasMethods
from rankwise.losses.class_costs import all_pairs_costs
from rankwise.prediction import fit_clone
from rankwise.runtime.threads import single_threaded_blas, thread_map, threads_asked
from rankwise.structure.state_rules import (
    Array,
    Fitted,
    Many,
    Optional,
    Rule,
    Sometimes,
    floats,
    require_attributes,
)
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

# Number of rows above which threads are worth their start-up time.
FEW_ROWS = 256


class BinaryQuestions:
    """Base of the reductions to weighted binary classification.

    A subclass accepts ``estimator``, ``alpha`` and ``n_jobs``. ``_ask`` trains one binary model for
    each question; ``_answers`` applies the models to other rows.
    """

    coef_: Float64Array
    intercept_: Float64Array

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": Sometimes(floats("n_questions", "n_features_in_")),
        "intercept_": Sometimes(floats("n_questions")),
        "estimators_": Sometimes(Many(Optional(Fitted("n_features_in_")), "n_questions")),
        "constants_": Sometimes(Array(("n_questions",), numbers="any")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "alpha": [POSITIVE],
        "n_jobs": N_JOBS,
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
        self.estimators_: list[Any] = [model for model, _ in fitted]
        self.constants_: Float64Array = np.array(
            [constant for _, constant in fitted], dtype=np.float64
        )

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
    rows = X if len(asking) == X.shape[0] else X[asking]
    weight = np.abs(signed[asking])
    if (weight == 1.0).all():  # classifiers without sample_weight are accepted if all weights are 1
        model: Any = clone(estimator)
        model.fit(rows, label)
        return model, np.nan
    return fit_clone(estimator, rows, label, weight), np.nan


def confidence_of(model: Any, X: Matrix) -> Float64Array | float:
    if is_regressor(model):
        return np.ravel(model.predict(X))
    if hasattr(model, "decision_function"):
        return np.ravel(model.decision_function(X))
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else 0.0


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Binary questions of all rows.

    ``values`` is (n_groups, n_classes): the values of each row; or of each class, if all rows of a
    class have the same values. ``group`` (n_samples,) is the row of ``values`` for each training
    row; None: ``values`` has one row for each. ``first`` and ``second`` (n_questions,) are the
    numbers of the two classes of each question, and ``weight`` (n_samples,) weights the rows.
    """

    values: Float64Array
    group: Int64Array | None
    first: Int64Array
    second: Int64Array
    weight: Float64Array | None

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.first)

    def of_groups(self, question: int) -> Float64Array:
        """Answer times weight for every row of ``values``, without row weights."""
        return self.values[:, self.first[question]] - self.values[:, self.second[question]]

    def of_rows(self, question: int) -> Float64Array:
        """Answer times weight for every row, shape (n_samples,)."""
        signed = self.of_groups(question)
        signed = signed if self.group is None else signed[self.group]
        return signed if self.weight is None else signed * self.weight


def cost_contrasts(
    table: CostTable,
    weight: Float64Array | None,
    *,
    transformed: bool = False,
    neighbours: bool = False,
) -> Contrasts:
    """Questions of all pairs a < b of classes, in the order of ``numpy.triu_indices``.

    ``weight`` (n_samples,) weights the rows. ``transformed`` says whether costs are transformed,
    see :mod:`rankwise.losses.class_costs`. ``neighbours``: only the pairs of adjacent classes.
    """
    values = table.by_row if table.by_class is None else table.by_class
    group = None if table.by_class is None else table.codes
    n_classes = len(table.classes)
    first, second = np.triu_indices(n_classes, 1)
    if neighbours:
        first, second = np.arange(n_classes - 1), np.arange(1, n_classes)
    values = all_pairs_costs(values) if transformed else values
    return Contrasts(values, group, first.astype(np.int64), second.astype(np.int64), weight)


def class_votes(
    chosen: Float64Array, confidence: Float64Array, pairs: Int64Array, n_classes: int
) -> Float64Array:
    """Votes (n_samples, n_classes) for every class, with ties broken by the sum of confidences.

    ``chosen`` and ``confidence`` are (n_samples, n_pairs): votes for the second class of the pair
    (0, 1, or 1/2), and the confidence in it. ``pairs`` (n_pairs, 2) holds the class numbers.

    For the sum s of the confidences of a class, ``s / (3 (|s| + 1))`` is added, as in
    scikit-learn's one-versus-one. The addition breaks ties and keeps the order of classes that
    differ by a vote.
    """
    votes, total = np.zeros((2, len(chosen), n_classes))
    for question, (first, second) in enumerate(pairs.tolist()):
        votes[:, first] += 1.0 - chosen[:, question]
        votes[:, second] += chosen[:, question]
        total[:, first] -= confidence[:, question]
        total[:, second] += confidence[:, question]
    return votes + total / (3.0 * (np.abs(total) + 1.0))


def fit_binary_ridge(
    X: Matrix, contrasts: Contrasts, alpha: float, n_threads: int
) -> tuple[Float64Array, Float64Array]:
    """Coefficients (n_questions, n_features) and intercepts (n_questions,) of all questions.

    ``alpha > 0`` is the factor of ``|beta|^2``; the intercept is not penalised. Coefficients and
    intercept of a question without weight are 0. Questions are solved in parallel, with
    bit-identical results for any ``n_threads``.

    p questions cost O(N d^2 + p d^2 (K + d)) if costs depend only on the class, and O(p d^2 (N +
    d)) otherwise. If there are more features than rows, features are first rotated into the row
    space, so d becomes N. Scores do not change.
    """
    with single_threaded_blas():
        rows, rotation, centre = centre_rows(X)
        moments = QuestionMoments(rows, contrasts)
        solved = thread_map(
            lambda question: _solve(*moments.of(question), alpha),
            range(contrasts.n_questions),
            n_threads,
        )
    coef = np.array([beta for beta, _ in solved]).reshape(len(solved), rows.shape[1])
    intercept = np.array([intercept for _, intercept in solved])
    return restore_features(coef, intercept, rotation, centre)


def centre_rows(X: Matrix) -> tuple[Matrix, Matrix | None, Float64Array | None]:
    """``(Z, R, c)`` with ``X = Z R' + c``, and orthonormal columns of R for more columns than rows.

    Dense rows are centred at their means c, which accurate moments need. None for sparse rows, and
    for R if there are at least as many rows as columns.
    """
    centre = None if is_sparse(X) else X.mean(axis=0, dtype=np.float64)
    X = (X if centre is None else X - centre).astype(np.float64, copy=False)
    if X.shape[1] <= X.shape[0]:
        return X, None, centre
    eigenvalues, vectors = scipy.linalg.eigh(densify(X @ X.T))
    kept = eigenvalues > eigenvalues[-1] * len(eigenvalues) * np.finfo(np.float64).eps
    roots = np.sqrt(eigenvalues[kept])
    return vectors[:, kept] * roots, np.asarray(X.T @ (vectors[:, kept] / roots)), centre


def restore_features(
    coef: Float64Array,
    intercept: Float64Array,
    rotation: Matrix | None,
    centre: Float64Array | None,
) -> tuple[Float64Array, Float64Array]:
    """Coefficients of the original features, from those of :func:`centre_rows`."""
    if rotation is not None:
        coef = np.asarray((rotation @ coef.T).T)
    return coef, intercept if centre is None else intercept - coef @ centre


class QuestionMoments:
    """Weighted moments of the rows for every question, computed from class moments if possible."""

    def __init__(self, X: Matrix, contrasts: Contrasts) -> None:
        self.X = X
        self.contrasts = contrasts
        self.by_class: Float64Array | None = None
        if contrasts.group is not None:
            weight = np.ones(X.shape[0]) if contrasts.weight is None else contrasts.weight
            rows_of = [contrasts.group == index for index in range(len(contrasts.values))]
            self.by_class = np.array(
                [compute_weighted_moments(X[rows], weight[rows]) for rows in rows_of]
            )

    def of(self, question: int) -> tuple[Float64Array, Float64Array]:
        """``sum_n w_n [x_n 1] [x_n 1]'`` and ``sum_n w_n t_n [x_n 1]`` of a question."""
        if self.by_class is None:
            signed = self.contrasts.of_rows(question)
            return compute_weighted_moments(self.X, np.abs(signed)), _moments_of(self.X, signed)
        signed = self.contrasts.of_groups(question)
        return np.tensordot(np.abs(signed), self.by_class, axes=1), signed @ self.by_class[:, -1]


def compute_weighted_moments(X: Matrix, weight: Float64Array) -> Float64Array:
    """``sum_n w_n [x_n 1] [x_n 1]'``; the last row equals :func:`_moments_of`."""
    n_features = X.shape[1]
    moments = np.empty((n_features + 1, n_features + 1))
    if is_sparse(X):
        moments[:-1, :-1] = (X.T @ X.multiply(weight[:, None]).tocsr()).toarray()
    else:
        used = weight > 0
        X, weight = (X, weight) if used.all() else (X[used], weight[used])
        half = X * np.sqrt(weight)[:, None]
        np.matmul(half.T, half, out=moments[:-1, :-1])
    moments[-1] = moments[:, -1] = _moments_of(X, weight)
    return moments


def _moments_of(X: Matrix, signed: Float64Array) -> Float64Array:
    """``sum_n s_n [x_n 1]``."""
    return np.append(X.T @ signed, signed.sum())


def _solve(gram: Float64Array, total: Float64Array, alpha: float) -> tuple[Float64Array, float]:
    """Coefficients and intercept; the intercept is eliminated first."""
    weight = gram[-1, -1]
    if weight <= 0:
        return np.zeros(len(total) - 1), 0.0
    mean = gram[-1, :-1] / weight
    centred = gram[:-1, :-1] - weight * np.outer(mean, mean)
    centred[np.diag_indices_from(centred)] += alpha
    beta = solve_positive(centred, total[:-1] - mean * total[-1])
    return beta, float(total[-1] / weight - mean @ beta)


def solve_positive(matrix: Float64Array, right: Float64Array) -> Float64Array:
    """``matrix^-1 right`` by Cholesky; minimum-norm solution if the matrix is singular."""
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix), right)
    except np.linalg.LinAlgError:
        return scipy.linalg.pinvh(matrix) @ right


def fit_pair_ridge(
    X: Matrix, contrasts: Contrasts, n_classes: int, alpha: float, n_threads: int
) -> tuple[Float64Array, Float64Array]:
    """Coefficients (n_classes, n_features) and intercepts (n_classes,); the intercepts sum to 0.

    ``contrasts`` holds the questions of all pairs. ``alpha > 0`` does not penalise intercepts.
    Needs ``8 K^2 (d + 1)^2`` bytes of memory, and O(K^3 d^3) time in addition to the moments of the
    pairs.
    """
    with single_threaded_blas():
        rows, rotation, centre = centre_rows(X)
        moments = QuestionMoments(rows, contrasts)
        found = thread_map(moments.of, range(contrasts.n_questions), n_threads)
        width = rows.shape[1] + 1
        gram = np.zeros((n_classes, width, n_classes, width))
        total = np.zeros((n_classes, width))
        for (of_pair, answer), a, b in zip(found, contrasts.first, contrasts.second, strict=True):
            gram[a, :, b] = gram[b, :, a] = -of_pair
            gram[a, :, a] += of_pair
            gram[b, :, b] += of_pair
            total[a] -= answer
            total[b] += answer
        heaviest = max((of_pair[-1, -1] for of_pair, _ in found), default=0.0)
        if heaviest == 0:
            return np.zeros((n_classes, X.shape[1])), np.zeros(n_classes)
        classes = np.arange(n_classes)
        for column in range(width - 1):
            gram[classes, column, classes, column] += alpha
        gram[:, -1, :, -1] += heaviest / n_classes  # fixes the common shift of the intercepts
        size = n_classes * width
        theta = solve_positive(gram.reshape(size, size), total.ravel()).reshape(n_classes, width)
    return restore_features(theta[:, :-1], theta[:, -1], rotation, centre)
