"""The methods, each with the settings that cross-validation tries, and the features they get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from rankwise import ORBoost, OrdinalSVM
from rankwise.features import RandomPerceptrons
from rankwise.labels import (
    CSOVO,
    ClassCosts,
    CostSensitiveOneVsAllRegression,
    OrdinalReduction,
    WeightedAllPairs,
)
from rankwise.metrics import mean_cost
from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.lin2010_csovo.sets import Split
from rankwise_papers.ordinal_benchmark.tuning import fold_numbers

N_NODES = 100
N_FOLDS = 3
ALPHAS = tuple(10.0 ** np.arange(-2, 5))
LOGIT_C = tuple(10.0 ** np.arange(-3, 3))
SVM_C = (0.03, 0.3, 3.0, 30.0)
ROUNDS = (30, 100, 300)


class KernelLookup:
    """Kernel values looked up by row number, so that machines of one split share them.

    Rows are a column of their numbers.
    """

    def __init__(self, values: Float64Array) -> None:
        self.values = values

    def __call__(self, rows: Float64Array, columns: Float64Array) -> Float64Array:
        return self.values[np.ix_(rows[:, 0].astype(int), columns[:, 0].astype(int))]

    def __deepcopy__(self, memo: Any) -> KernelLookup:
        return self


class LeastExpectedCost:
    """Multinomial logistic regression; the class of the least expected cost is predicted."""

    def __init__(self, C: float) -> None:
        self.model = LogisticRegression(C=C, max_iter=500, tol=1e-3)

    def fit(self, X: Float64Array, y: Int64Array, *, costs: ClassCosts) -> Self:
        self.model.fit(X, y)
        self.costs = costs.costs[self.model.classes_]
        return self

    def predict(self, X: Float64Array) -> Int64Array:
        return (self.model.predict_proba(X) @ self.costs).argmin(axis=1)


class OneVsAll:
    """A machine per class against the rest; the highest decision value wins."""

    def __init__(self, base: SVC) -> None:
        self.base = base

    def fit(self, X: Float64Array, y: Int64Array) -> Self:
        self.model = OneVsRestClassifier(self.base).fit(X, y)
        return self

    def predict(self, X: Float64Array) -> Int64Array:
        return np.asarray(self.model.predict(X))


class KernelThresholds:
    """OrdinalSVM with the costs of those classes that the training rows show."""

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: Float64Array, y: Int64Array, *, costs: ClassCosts) -> Self:
        seen = np.unique(y)
        of_seen = costs.costs[np.ix_(seen, seen)]
        self.model = OrdinalSVM(kernel="perceptron", C=self.C, costs=of_seen, tol=1e-2)
        self.model.fit(X, y)
        return self

    def predict(self, X: Float64Array) -> Int64Array:
        return self.model.predict(X)


@dataclass(frozen=True)
class Method:
    """A learner and its settings.

    Attributes
    ----------
    make : callable
        ``make(setting, rows, costs)`` gives an estimator; ``rows`` is a :class:`SplitRows`.
    settings : tuple
    rows : {"nodes", "numbers", "columns"}
        Random perceptrons, numbers of rows for :class:`KernelLookup`, or the columns themselves.
    takes_costs : bool
        Whether its ``fit`` gets the costs.
    """

    make: Callable[[Any, SplitRows, ClassCosts], Any]
    settings: tuple[Any, ...]
    rows: str = "nodes"
    takes_costs: bool = True


class SplitRows:
    """What the methods get for the training rows of a split, followed by its test rows."""

    def __init__(self, split: Split, seed: int) -> None:
        self.split = split
        self.seed = seed
        self.columns = np.vstack([split.Z, split.Z_test])

    @cached_property
    def nodes(self) -> Float64Array:
        """Outputs of random perceptrons."""
        nodes = RandomPerceptrons(n_nodes=N_NODES, random_state=self.seed).fit(self.split.Z)
        return np.asarray(nodes.transform(self.columns))

    @cached_property
    def numbers(self) -> Float64Array:
        """Row numbers, for :class:`KernelLookup`."""
        return np.arange(len(self.columns), dtype=np.float64)[:, None]

    @cached_property
    def kernel(self) -> KernelLookup:
        """Perceptron kernel, up to a constant that machines with a bias do not feel."""
        distance = cdist(self.columns, self.columns)
        return KernelLookup(distance.max() - distance)


def _svm(C: float, rows: SplitRows, costs: ClassCosts) -> SVC:
    kernel: Any = rows.kernel
    return SVC(kernel=kernel, C=C)


RIDGE: dict[str, Method] = {
    "OVO": Method(lambda alpha, rows, costs: CSOVO(alpha=alpha), ALPHAS, takes_costs=False),
    "OVA": Method(lambda a, rows, costs: RidgeClassifier(alpha=a), ALPHAS, takes_costs=False),
    "CSOVO": Method(lambda alpha, rows, costs: CSOVO(alpha=alpha), ALPHAS),
    "weighted all-pairs": Method(
        lambda alpha, rows, costs: CSOVO(weights="transformed", alpha=alpha), ALPHAS
    ),
    "weighted all-pairs, one machine": Method(
        lambda alpha, rows, costs: WeightedAllPairs(alpha=alpha), ALPHAS
    ),
    "OSR, squared": Method(
        lambda alpha, rows, costs: CostSensitiveOneVsAllRegression(alpha=alpha), ALPHAS
    ),
    "OSR, one-sided": Method(
        lambda alpha, rows, costs: CostSensitiveOneVsAllRegression(
            loss="one_sided", alpha=alpha, max_iter=500
        ),
        ALPHAS,
    ),
}
SVM: dict[str, Method] = {
    "SVM, OVO": Method(
        lambda C, rows, costs: CSOVO(_svm(C, rows, costs)), SVM_C, "numbers", takes_costs=False
    ),
    "SVM, OVA": Method(
        lambda C, rows, costs: OneVsAll(_svm(C, rows, costs)), SVM_C, "numbers", takes_costs=False
    ),
    "SVM, CSOVO": Method(lambda C, rows, costs: CSOVO(_svm(C, rows, costs)), SVM_C, "numbers"),
    "SVM, weighted all-pairs": Method(
        lambda C, rows, costs: CSOVO(_svm(C, rows, costs), weights="transformed"), SVM_C, "numbers"
    ),
}
PLUG_IN: dict[str, Method] = {
    "logistic, least expected cost": Method(lambda C, rows, costs: LeastExpectedCost(C), LOGIT_C),
}
BY_RANK: dict[str, Method] = {
    "OrdinalReduction": Method(lambda alpha, rows, costs: OrdinalReduction(alpha=alpha), ALPHAS),
    "SVM, OrdinalReduction": Method(
        lambda C, rows, costs: OrdinalReduction(_svm(C, rows, costs)), SVM_C, "numbers"
    ),
    "SVM, OrdinalSVM": Method(lambda C, rows, costs: KernelThresholds(C), SVM_C, "columns"),
    "ORBoost": Method(lambda rounds, rows, costs: ORBoost(rounds), ROUNDS, "columns", False),
}
# Without what the other kind of costs shows: fewer for time.
ORDINAL = {
    **{name: RIDGE[name] for name in ("OVO", "OVA", "CSOVO", "OSR, squared", "OSR, one-sided")},
    **PLUG_IN,
    **{name: SVM[name] for name in ("SVM, OVO", "SVM, CSOVO")},
    **BY_RANK,
}
# What each kind of costs is tried with.
METHODS = {"random": {**RIDGE, **PLUG_IN, **SVM}, "absolute": ORDINAL, "squared": ORDINAL}


def predicted_by(
    method: Method,
    rows: SplitRows,
    y: Int64Array,
    costs: ClassCosts,
    train: Int64Array,
    test: Int64Array,
    setting: Any,
) -> Int64Array:
    """Class numbers of some rows after a fit on others."""
    X, given = getattr(rows, method.rows), {"costs": costs} if method.takes_costs else {}
    model = method.make(setting, rows, costs).fit(X[train], y[train], **given)
    return np.asarray(model.predict(X[test]))


def tune_and_measure(
    method: Method, split: Split, rows: SplitRows, seed: int
) -> tuple[float, float, Any]:
    """Mean test cost in the costs' own unit, test accuracy, and the chosen setting.

    The setting of the least mean cost over folds of the training rows is taken, of equal ones the
    first.
    """
    train = np.arange(len(split.y))
    fold = fold_numbers(split.y, N_FOLDS, seed)
    held_out = []
    for setting in method.settings:
        predicted = np.empty_like(split.y)
        for number in range(N_FOLDS):
            held, kept = train[fold == number], train[fold != number]
            predicted[held] = predicted_by(method, rows, split.y, split.costs, kept, held, setting)
        held_out.append(mean_cost(split.y, predicted, split.costs))
    chosen = method.settings[int(np.argmin(held_out))]
    test = len(train) + np.arange(len(split.y_test))
    predicted = predicted_by(method, rows, split.y, split.costs, train, test, chosen)
    cost = split.scale * mean_cost(split.y_test, predicted, split.costs)
    return cost, float(np.mean(predicted == split.y_test)), chosen
