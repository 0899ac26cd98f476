"""Class probabilities of ordinal estimators that have only a score and thresholds.

The thresholds of a support vector machine or an ensemble choose a class but not its probability,
and a model scores its own training rows better than other rows. The probabilities are therefore
fitted to scores of rows by models that were trained without these rows:
``P(y <= k | s) = F(theta_k - a s)``, a cumulative link model of one column. F is logistic, the
slope a is not negative and the thresholds ascend. Probabilities therefore lie between 0 and 1, sum
to 1, and move to higher classes as the score rises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from rankwise.groups import FitData, QueryGroups
from rankwise.losses.cumulative_link import LINKS
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.newton.cumulative_newton import (
    CumulativeModel,
    CumulativeNewton,
    CumulativePath,
)
from rankwise.structure.state_rules import Instance, Number, Rule, Sometimes, floats
from rankwise.tuning import DEFAULT_FOLDS, Penalties, split_stratified
from rankwise.typing import Float64Array, FrameLike, Int64Array, Matrix

# Parameters of a model that is trained on a part of the rows.
Refit = Callable[[Int64Array], dict[str, Any]]
MOST_COPIES = 2**24


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    """A map from scores, clipped to ``low`` and ``high``, to probabilities."""

    _structure: ClassVar[dict[str, Rule]] = {
        "slope": Number(low=0),
        "thresholds": floats("n_classes - 1"),
        "low": Number(),
        "high": Number(),
    }

    slope: float
    thresholds: Float64Array  # ascending; -1e300 and 1e300 below and above all classes with rows
    low: float
    high: float

    @classmethod
    def of(
        cls,
        codes: Float64Array,
        weight: Float64Array | None,
        n_classes: int,
        scores: Float64Array,
        low: float,
        high: float,
    ) -> Self:
        """Maximum-likelihood slope and thresholds, with a light penalty on the slope.

        ``codes`` are class numbers; ``codes``, ``weight`` and ``scores`` are (n_samples,).
        """

        def solved(column: Float64Array) -> CumulativeModel:
            rows = FitData(
                column[:, None],
                codes,
                QueryGroups.single(len(codes)),
                weight,
                classes=np.arange(n_classes),
            )
            return CumulativePath(rows, None, LINK, C, SOLVER).solve().models[0]

        scores = np.clip(scores, low, high)
        _, spread = mean_and_deviation(scores, weight)
        if spread == 0.0:
            return cls(0.0, solved(np.zeros(len(scores))).thresholds, low, high)
        model = solved(scores / spread)
        if model.coef[0] < 0:  # scores that mislead tell nothing
            model = solved(np.zeros(len(scores)))
        return cls(float(model.coef[0] / spread), model.thresholds, low, high)

    def probabilities(self, scores: Float64Array) -> Float64Array:
        """Probability of every class, shape (n_samples, n_classes)."""
        return LINK.probabilities(
            self.slope * np.clip(scores, self.low, self.high), self.thresholds
        )


class ScoreProbabilities:
    """Mixin for ``predict_proba`` if ``probability`` is set; ``fit`` ends with ``_calibrate``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "calibration_": Sometimes(Instance((ScoreCalibration,))),
    }

    probability: bool
    calibration_: ScoreCalibration

    def _is_asked_for(self) -> bool:
        if self.probability:
            return True
        raise AttributeError(
            f"predict_proba of {type(self).__name__} needs probability=True, got "
            "probability=False. Set it before fit, or wrap the estimator in "
            "sklearn.calibration.CalibratedClassifierCV."
        )

    @available_if(_is_asked_for)
    def predict_proba(self, X: FrameLike) -> Float64Array:
        """Probability of every class, calibrated by cross-validation. Needs ``probability=True``.

        ``P(y <= k | x) = F(theta_k - a s(x))`` for the score ``s = rank_score``, with F logistic,
        ``a >= 0`` and ascending thresholds theta that differ from ``thresholds_``. ``fit`` chooses
        a and theta by maximum likelihood, with a small penalty on a. It uses scores of rows by
        models that were trained without them. These are five more fits, each without a fifth of the
        queries (of the rows if there is one query). Every fold has about the same class shares, and
        the folds do not depend on the seed. The fits use the parameters that ``fit`` chose, such as
        C. Scores outside the range of the training scores are clipped to it.

        ``predict`` uses ``thresholds_``, so its class need not be the most probable one.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Rows sum to 1. A declared class without rows has probability zero.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted, or was fitted without ``probability=True``.
        """
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                f"{type(self).__name__} was fitted with probability=False. Fit it again with "
                "probability=True."
            )
        model: Any = self
        return self.calibration_.probabilities(model.rank_score(X))

    def _calibrate(self, data: FitData, refit: Refit = lambda _: {}) -> None:
        """Set ``calibration_`` if ``probability`` is set; otherwise remove an earlier one."""
        vars(self).pop("calibration_", None)
        if self.probability:
            with warnings.catch_warnings():
                # The fit on all rows has already warned of convergence, column names and the like.
                warnings.simplefilter("ignore")
                self.calibration_ = calibrated(self, data, refit)


def calibrated(model: Any, data: FitData, refit: Refit) -> ScoreCalibration:
    """Calibration of a fitted model's scores.

    Models of the folds are trained on fewer rows and can score on a different scale. Their scores
    are therefore shifted and scaled to the mean and deviation of the model's scores on its training
    rows. A single row for several classes raises ValueError, as no model can be trained without it.
    """
    rows, weight = _copies(data)
    X, y, groups = data.X[rows], data.y[rows], data.groups.take(rows)
    own = _scores(model, X)
    low, high = float(own.min()), float(own.max())
    held_out = own
    if len(model.classes_) > 1:
        held_out = np.empty(len(own))
        center, scale = mean_and_deviation(own, weight)
        codes = np.arange(len(model.classes_))
        for train, test in split_stratified(X, y, groups, DEFAULT_FOLDS):
            fold: Any = clone(model)
            fold.set_params(probability=False, classes=codes, **refit(rows[train]))
            of_train = None if weight is None else weight[train]
            weights = {} if of_train is None else {"sample_weight": of_train}
            columns = _columns(model, data, rows[train])
            seen = X[train][:, columns]
            fold.fit(seen, y[train].astype(np.int64), qid=groups.take(train), **weights)
            mean, deviation = mean_and_deviation(_scores(fold, seen), of_train)
            held_out[test] = center
            if deviation > 0:
                others = _scores(fold, X[test][:, columns])
                held_out[test] += scale / deviation * (others - mean)
    return ScoreCalibration.of(y, weight, len(model.classes_), held_out, low, high)


def _copies(data: FitData) -> tuple[Int64Array, Float64Array | None]:
    """Row numbers, repeated by their weights, and the weights if these are fractional.

    Copies of a row may fall into different folds, just like repeated rows.
    """
    rows, weight = np.arange(len(data.y)), data.sample_weight
    if weight is None or (weight % 1).any() or weight.sum() > MOST_COPIES:
        return rows, weight
    return np.repeat(rows, weight.astype(np.int64)), None


def _scores(model: Any, X: Matrix) -> Float64Array:
    return np.asarray(model.rank_score(X), dtype=np.float64)


def _columns(model: Any, data: FitData, rows: Int64Array) -> Any:
    """Columns of X for a model of some rows; of a precomputed kernel the values with these rows."""
    if not get_tags(model).input_tags.pairwise:
        return slice(None)
    return rows if data.kept is None else np.flatnonzero(data.kept)[rows]


LINK = LINKS["logit"]
SOLVER = CumulativeNewton(tol=1e-6, max_iter=100)
# Weight of the losses relative to half the squared slope per standard deviation of the scores. The
# penalty keeps the slope finite if the scores separate the classes.
C = Penalties(np.array([10.0]), "C")
# Spreads below this share of the largest score are rounding.
ROUNDING = 1e-12


def mean_and_deviation(scores: Float64Array, weight: Float64Array | None) -> tuple[float, float]:
    """Weighted mean and standard deviation; a deviation due to rounding alone becomes 0."""
    mean = float(np.average(scores, weights=weight))
    largest = float(np.abs(scores).max()) or 1.0  # so that squares of tiny scores stay numbers
    share = float(np.sqrt(np.average(((scores - mean) / largest) ** 2, weights=weight)))
    return mean, largest * share if share > ROUNDING else 0.0
