"""Probabilities of relevance from scores: isotonic, beta and logistic maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.isotonic import IsotonicRegression

from rankwise.runtime.messages import ArgumentError, check_choice
from rankwise.structure.state_rules import Rule, Word, floats, require
from rankwise.typing import ArrayLike, Float64Array

Method = Literal["isotonic", "beta", "logistic"]
METHODS: tuple[Method, ...] = ("isotonic", "beta", "logistic")


@dataclass(frozen=True, eq=False)
class ProbabilityMap:
    """A map from scores to probabilities of relevance that never decreases.

    Attributes
    ----------
    method : {"isotonic", "beta", "logistic"}
    knots : ndarray of shape (n_knots,), float64, ascending
        "isotonic": scores, between which probabilities are interpolated linearly. Otherwise the
        lowest and the highest score of the fit. Other scores are clipped to the range.
    values : ndarray, float64
        "isotonic": probability at each knot. "logistic": slope a and intercept b of
        ``p = F(a s + b)``. "beta": a, b, c, d and e of
        ``p = F(c ln F(u) - d ln (1 - F(u)) + e)`` with ``u = a s + b``. F is the logistic function.

    See Also
    --------
    fit_probability_map
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "method": Word(METHODS),
        "knots": floats("n_knots", ascending=True),
        "values": floats("n_values"),
    }

    method: Method
    knots: Float64Array
    values: Float64Array

    def transform(self, scores: ArrayLike) -> Float64Array:
        """Probability of each score, shape of ``scores``; in (0, 1) up to rounding."""
        s = np.clip(np.asarray(scores, dtype=np.float64), self.knots[0], self.knots[-1])
        if self.method == "isotonic":
            return np.interp(s, self.knots, self.values)
        u = self.values[0] * s + self.values[1]
        if self.method == "beta":
            u = _beta_columns(u) @ self.values[2:4] + self.values[4]
        return expit(u)

    def _check_structure(self) -> None:
        n = {"isotonic": len(self.knots), "logistic": 2, "beta": 5}[self.method]
        require(len(self.knots) >= 1, "knots", "have an item", "none")
        require(len(self.values) == n, "values", f"have {n} items", len(self.values))


def fit_probability_map(
    method: Method, scores: ArrayLike, relevant: ArrayLike, weight: ArrayLike | None = None
) -> ProbabilityMap:
    """Fit a map from scores to probabilities of relevance.

    Parameters
    ----------
    method : {"isotonic", "beta", "logistic"}
        "isotonic" [2]_ is any step function that ascends, and needs the most rows. "logistic" [1]_
        has two parameters. "beta" [3]_ has two slopes, one for low and one for high scores.
    scores : array-like of shape (n_samples,)
        Finite scores of rows that the model was not trained on.
    relevant : array-like of shape (n_samples,)
        True or 1 for relevant rows.
    weight : array-like of shape (n_samples,), optional
        Weight of each row, >= 0.

    Returns
    -------
    ProbabilityMap

    Raises
    ------
    ValueError
        If there are no rows, lengths differ, or scores are not finite.

    Notes
    -----
    No probability is 0 or 1. "isotonic" adds half a relevant and half an irrelevant row at the
    lowest and at the highest score. "logistic" and "beta" use Platt's targets
    ``(n1 + 1) / (n1 + 2)`` for n1 relevant and ``1 / (n0 + 2)`` for n0 irrelevant rows. "beta" is
    defined for probabilities; the logistic map turns the scores into some. O(n log n).

    References
    ----------
    .. [1] Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
       likelihood methods", Advances in Large Margin Classifiers, 1999.
    .. [2] Zadrozny & Elkan, "Transforming classifier scores into accurate multiclass probability
       estimates", KDD 2002.
    .. [3] Kull, Silva Filho & Flach, "Beta calibration: a well-founded and easily implemented
       improvement on logistic calibration for binary classifiers", AISTATS 2017.

    Examples
    --------
    >>> from rankwise.rankers.calibration import fit_probability_map
    >>> found = fit_probability_map("isotonic", [1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])
    >>> found.transform([1.0, 2.5, 9.0])
    array([0.25, 0.5 , 0.75])
    """
    check_choice("method", method, METHODS)
    s = np.asarray(scores, dtype=np.float64)
    y = np.asarray(relevant, dtype=bool).astype(np.float64)
    w = np.ones(len(s)) if weight is None else np.asarray(weight, dtype=np.float64)
    if s.ndim != 1 or s.shape != y.shape or s.shape != w.shape or not w.any():
        raise ArgumentError(
            "scores",
            f"must have one entry per label and weight, and a positive weight; got shapes "
            f"{s.shape}, {y.shape} and {w.shape}.",
        )
    if not np.isfinite(s).all():
        raise ArgumentError("scores", "must be finite. Drop rows without a score.")
    s, y, w = s[w > 0], y[w > 0], w[w > 0]
    ends = np.array([s.min(), s.max()])
    if method == "isotonic":
        found = IsotonicRegression(out_of_bounds="clip").fit(
            np.append(s, ends), np.append(y, [0.5, 0.5]), np.append(w, [1.0, 1.0])
        )
        return ProbabilityMap(
            method,
            np.asarray(found.X_thresholds_, dtype=np.float64),
            np.asarray(found.y_thresholds_, dtype=np.float64),
        )
    targets = platt_targets(y, w)
    slope, intercept = fit_logistic(s[:, None], targets, w, [True])
    line = np.array([slope[0], intercept])
    if method == "beta":
        columns = _beta_columns(line[0] * s + line[1])
        slopes, intercept = fit_logistic(columns, targets, w, [True, True])
        line = np.array([*line, *slopes, intercept])
    return ProbabilityMap(method, ends, line)


def platt_targets(y: Float64Array, weight: Float64Array) -> Float64Array:
    """Targets in (0, 1) for labels 0 and 1, so that separated classes have a finite solution."""
    n1 = float(weight @ y)
    n0 = float(weight.sum()) - n1
    return np.where(y > 0, (n1 + 1.0) / (n1 + 2.0), 1.0 / (n0 + 2.0))


def fit_logistic(
    X: Float64Array,
    targets: Float64Array,
    weight: Float64Array,
    ascending: Sequence[bool],
    ridge: float = 0.0,
) -> tuple[Float64Array, float]:
    """Slopes (n_columns,) and intercept of a logistic model; slopes of ``ascending`` are >= 0.

    Minimises the weighted log loss plus ``ridge / 2`` times the squared slopes of columns scaled to
    variance 1.
    """
    largest = np.maximum(np.abs(X).max(axis=0), np.finfo(np.float64).tiny)  # squares stay numbers
    Z = X / largest
    center = np.average(Z, axis=0, weights=weight)
    spread = np.sqrt(np.average((Z - center) ** 2, axis=0, weights=weight))
    known = spread > 1e-12  # smaller ones are rounding
    Z = (Z - center) / np.where(known, spread, np.inf)
    share = weight / weight.sum()
    mean = float(share @ targets)
    ridge = ridge / float(weight.sum())

    def objective(w: Float64Array) -> tuple[float, Float64Array]:
        f = Z @ w[:-1] + w[-1]
        value = -share @ (targets * log_expit(f) + (1.0 - targets) * log_expit(-f))
        slopes = share * (expit(f) - targets)
        gradient = np.append(slopes @ Z + ridge * w[:-1], slopes.sum())
        return float(value + 0.5 * ridge * w[:-1] @ w[:-1]), gradient

    start = np.append(np.zeros(Z.shape[1]), np.log(mean / (1.0 - mean)))
    bounds = [(0.0 if up else None, None) for up in ascending] + [(None, None)]
    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-9}
    w = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    slopes = np.where(known, w[:-1] / np.where(known, spread, 1.0), 0.0)
    return slopes / largest, float(w[-1] - slopes @ center)


def _beta_columns(u: Any) -> Float64Array:
    """``ln F(u)`` and ``-ln(1 - F(u))``, shape (n_samples, 2)."""
    return np.stack([log_expit(u), -log_expit(-u)], axis=-1)
