"""CalibratedRanker: probabilities of relevance from scores, by an isotonic, beta or logistic map.

Composition: held-out scores of any ranker x features of each list x a map that never decreases.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.isotonic import IsotonicRegression

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import HasMethods, Interval, StrOptions
from rankwise.checks.rows import check_rows, warn_of_one_query
from rankwise.features.query_scaling import scale_rows
from rankwise.groups import QueryGroups
from rankwise.metrics.default import GRADED, MISRANKING, is_graded
from rankwise.prediction import reads_queries, scores_of
from rankwise.rankers.ensemble.members import (
    check_training,
    fit_member,
    make_member,
    parts,
    query_numbers,
    row_rules,
    score_held_out,
    set_input_tags,
)
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.messages import callers_level
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.structure.state_rules import Fitted, Instance, Number, Rule, Word, floats, require
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Seed

Method = Literal["isotonic", "beta", "logistic"]
METHODS: tuple[Method, ...] = ("isotonic", "beta", "logistic")


@dataclass(frozen=True, eq=False)
class ProbabilityMap:
    """A map from scores to probabilities of relevance that never decreases.

    "logistic" is ``F(a s + b)`` and "beta" ``F(c ln F(u) - d ln (1 - F(u)) + e)`` with
    ``u = a s + b``, where F is the logistic function. "isotonic" interpolates linearly.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "method": Word(METHODS),
        "knots": floats("n_knots", ascending=True),
        "values": floats("n_values"),
    }

    method: Method
    knots: Float64Array  # scores; those outside are clipped. Not "isotonic": lowest and highest
    values: Float64Array  # "isotonic": probabilities at the knots; otherwise a, b, c, d, e

    def transform(self, scores: ArrayLike) -> Float64Array:
        """Probability of each score, shape of ``scores``."""
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
    method: Method, s: Float64Array, y: Float64Array, w: Float64Array
) -> ProbabilityMap:
    """Fit a map from finite scores to labels 0 and 1 of weight >= 0, arrays (n_samples,).

    No probability is 0 or 1: "isotonic" adds half a relevant and half an irrelevant row at the
    lowest and at the highest score, and the others have Platt's targets. "beta" is defined for
    probabilities; the logistic map turns the scores into some. O(n log n).
    """
    s, y, w = s[w > 0], y[w > 0], w[w > 0]
    ends = np.array([s.min(), s.max()])
    if method == "isotonic":
        found = IsotonicRegression().fit(
            np.append(s, ends), np.append(y, [0.5, 0.5]), np.append(w, [1.0, 1.0])
        )
        knots, values = found.X_thresholds_, found.y_thresholds_
        return ProbabilityMap(method, np.asarray(knots, float), np.asarray(values, float))
    targets = platt_targets(y, w)
    (slope,), intercept = fit_logistic(s[:, None], targets, w, [True])
    values = [slope, intercept]
    if method == "beta":
        columns = _beta_columns(slope * s + intercept)
        slopes, intercept = fit_logistic(columns, targets, w, [True, True])
        values += [*slopes, intercept]
    return ProbabilityMap(method, ends, np.array(values))


def platt_targets(y: Float64Array, weight: Float64Array) -> Float64Array:
    """Targets in (0, 1) for labels 0 and 1, so that separated classes have a finite solution.

    ``(n1 + 1) / (n1 + 2)`` for n1 relevant and ``1 / (n0 + 2)`` for n0 irrelevant rows.
    """
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


# Weight of the penalty on the slopes of list features: with few queries, their effects are noise.
_RIDGE = 10.0


@dataclass(frozen=True, eq=False)
class ListCalibration:
    """Probabilities of relevance from scores of whole lists; within each, in their order.

    A logistic model of the list features gives one number per row, and ``map`` its probability.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "map": Instance((ProbabilityMap,)),
        "weights": floats("n_list_features"),
        "intercept": Number(),
        "low": floats("n_list_features"),
        "high": floats("n_list_features"),
        "share": Number(low=0, high=1),
    }

    map: ProbabilityMap
    weights: Float64Array  # of the columns of ``list_features``; (1,) for the score alone
    intercept: float
    low: Float64Array  # with ``high``, range of the columns in the fit; others are clipped
    high: Float64Array
    share: float  # of relevant rows in the fit

    def probabilities(self, scores: Float64Array, groups: QueryGroups) -> Float64Array:
        """Probability of each row, shape (n_samples,)."""
        columns = list_features(scores, groups)[:, : len(self.weights)]
        columns = np.clip(columns, self.low, self.high)
        return self.map.transform(columns @ self.weights + self.intercept)

    def _check_structure(self) -> None:
        n = len(self.weights)
        require(n in (1, 3), "weights", "have 1 or 3 items", n)
        require((self.weights[:2] >= 0).all(), "weights", "ascend with the score", self.weights)


def fit_list_calibration(
    method: Method,
    scores: Float64Array,
    relevant: ArrayLike,
    groups: QueryGroups,
    weight: Float64Array | None = None,
    features: Literal["list", "score"] = "list",
) -> ListCalibration:
    """Fit probabilities to the scores of lists, arrays (n_samples,); one query: to scores alone."""
    X = list_features(scores, groups, weight)
    y = np.asarray(relevant, dtype=np.float64)
    w = np.ones(len(y)) if weight is None else weight
    weights, intercept = np.ones(1), 0.0
    if features == "list" and groups.n_queries > 1:
        ascending = [True, True, False]
        weights, intercept = fit_logistic(X, platt_targets(y, w), w, ascending, _RIDGE)
    X = X[:, : len(weights)]
    found = fit_probability_map(method, X @ weights + intercept, y, w)
    share = float(np.average(y, weights=w))
    return ListCalibration(found, weights, intercept, X.min(axis=0), X.max(axis=0), share)


def list_features(
    scores: Float64Array, groups: QueryGroups, weight: Float64Array | None = None
) -> Float64Array:
    """Score, score standardised within its list, and log of the list's rows; (n_samples, 3)."""
    sizes = np.bincount(groups.codes(), weight)[groups.codes()]
    standard = scale_rows("standard", scores[:, None], groups, weight)[:, 0]
    return np.column_stack([scores, standard, np.log(sizes)])


class CalibratedRanker(Ranker):
    """Ranker with probabilities of relevance that are comparable across queries.

    Scores of a ranker order the documents of one query; a score of 0.7 means something else in the
    next query, and for the next ranker. This ranker keeps the order of ``estimator``, and maps its
    scores to probabilities, so that one threshold serves all queries and all rankers.

    Parameters
    ----------
    estimator : estimator, registry key or None, default=None
        Any ranker. A bare key is its tuned recipe. None: :class:`rankwise.LambdaMART`. A fitted
        model in a ``sklearn.frozen.FrozenEstimator`` is not fitted again: pass rows to ``fit`` that
        it was not trained on.
    method : {"beta", "isotonic", "logistic"}, default="beta"
        Map from scores to probabilities. "logistic" [1]_: an S-shaped curve with two parameters.
        "beta" [3]_: five parameters, with two slopes. "isotonic" [2]_: any steps that ascend, for
        many thousand rows.
    features : {"list", "score"}, default="list"
        "list": the map also reads how far a score lies above the mean of its list, in standard
        deviations, and the number of rows of the list. "score": the score alone, so that a row does
        not need its list.
    rel : float, default=1
        Lowest relevant grade.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of folds of queries. The map is fitted to scores of queries that the ranker of the
        fold was not trained on.
    random_state : int, RandomState, Generator or None, default=None
        Seed for ``estimator`` if its own ``random_state`` is None.

    Attributes
    ----------
    estimator_ : fitted estimator
        The ranker, fitted on all rows.
    calibration_ : ListCalibration
        Weights of the list features, and the map to probabilities.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    ``predict`` returns the scores of ``estimator_`` unchanged. Measures such as nDCG are therefore
    those of ``estimator``, and equal probabilities (the steps of "isotonic") remain in the order of
    the scores. Exported models compute these scores.

    In-sample scores would make the probabilities too extreme. The folds cost ``cv`` more fits. If
    there are fewer queries than folds, folds contain single rows, and probabilities may be too
    sure. With a single query, the map reads the score alone.

    No probability is 0 or 1. They are true for queries and lists like those of ``fit``, from the
    same retrieval with the same number of documents per list. A row of weight w counts as w equal
    rows. Apart from the ranker, N rows take O(N log N) time and O(N) memory.

    References
    ----------
    .. [1] Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
       likelihood methods", Advances in Large Margin Classifiers, 1999.
    .. [2] Zadrozny & Elkan, "Transforming classifier scores into accurate multiclass probability
       estimates", KDD 2002.
    .. [3] Kull, Silva Filho & Flach, "Beta calibration: a well-founded and easily implemented
       improvement on logistic calibration for binary classifiers", AISTATS 2017.

    See Also
    --------
    rankwise.metrics.relevance_calibration : log loss and calibration error of probabilities.

    Examples
    --------
    >>> from rankwise import CalibratedRanker, RankSVM
    >>> from rankwise.datasets import load_dataset
    >>> rows = load_dataset("lambdarank", fold=1).train
    >>> model = CalibratedRanker(RankSVM()).fit(rows.X, rows.y, qid=rows.qid)
    >>> first = rows.qid == rows.qid[0]
    >>> model.predict_relevance(rows.X[first], qid=rows.qid[first]).round(2)
    array([0.69])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "estimator_": Fitted("n_features_in_"),
        "calibration_": Instance((ListCalibration,)),
    }
    __metadata_request__predict: ClassVar[dict[str, Any]] = {"qid": True}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [
            HasMethods(["fit", "predict"]),
            HasMethods(["fit", "rank_score"]),
            str,
            None,
        ],
        "method": [StrOptions(set(METHODS))],
        "features": [StrOptions({"list", "score"})],
        "rel": [Interval(Real, None, None, closed="neither")],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: Method = "beta",
        features: Literal["list", "score"] = "list",
        rel: float = 1.0,
        cv: Any = 5,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.method: Method = method
        self.features: Literal["list", "score"] = features
        self.rel = rel
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        return set_input_tags(super().__sklearn_tags__(), [self._ranker()], "estimator")

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Fit the ranker on each fold, the map to held-out scores, and the ranker on all rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Features. Sparse X and missing values are accepted if the ranker supports them.
        y : array-like of shape (n_samples,)
            Grades; rows of at least ``rel`` are relevant.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one query, and folds contain single rows.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0, if the ranker accepts weights.
        X_val, y_val, qid_val : array-like, optional
            Validation data for a ranker that tunes parameters or stops early on it, in every fold.
        """
        self._validate_params()
        given = X_val, y_val, qid_val
        data, validation = check_training(self, X, y, qid, sample_weight, given)
        self._set_score_name(data.y)
        seed = int(check_random_state(self.random_state).randint(2**31))
        measure, has_validation = GRADED if is_graded(data.y) else MISRANKING, bool(validation)
        member = make_member(
            self._ranker(), measure, seed, has_validation=has_validation, setting="estimator"
        )
        splits = parts(self.cv, None, data, query_numbers(data))
        queries, has_qid = data.groups.codes(), qid is not None
        held = score_held_out({"estimator": member}, data, splits, queries, has_qid, validation)
        lists = data.groups.take(np.concatenate([test for _, test in splits]))
        self.calibration_: ListCalibration = fit_list_calibration(
            self.method, held.scores[:, 0], held.y >= self.rel, lists, held.weight, self.features
        )
        ids = data.groups.row_ids() if has_qid else None
        self.estimator_: Any = fit_member(
            member, data.X, data.y, ids, validation, data.sample_weight, setting="estimator"
        )
        return self

    def predict(self, X: FrameLike, *, qid: ArrayLike | QueryGroups | None = None) -> Float64Array:
        """Score of every row by ``estimator_``; a higher score ranks higher within its query.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        qid : array-like of shape (n_samples,), optional
            Query of each row, for rankers whose scores depend on the other rows of the query.

        Returns
        -------
        ndarray of shape (n_samples,), float64
            See ``predict_relevance`` for probabilities.
        """
        check_is_fitted(self)
        X = check_rows(self, X, **row_rules(self))
        ids = None if qid is None else QueryGroups.from_qid(qid, X.shape[0]).row_ids()
        return scores_of(self.estimator_, X, ids)

    def predict_relevance(
        self, X: FrameLike, *, qid: ArrayLike | QueryGroups | None = None
    ) -> Float64Array:
        """Probability of every row that it is relevant.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of whole lists, unless ``features="score"``.
        qid : array-like of shape (n_samples,), optional
            Query of each row. None: all rows form one list.

        Returns
        -------
        ndarray of shape (n_samples,), float64
            Probability of a grade of at least ``rel``, in (0, 1).

        Warns
        -----
        OneQueryWarning
            If ``qid`` is missing, but the model was fitted on several queries and reads lists.
        UserWarning
            If no row of ``fit`` was relevant, or every row: all probabilities are nearly equal.
        """
        scores = self.predict(X, qid=qid)
        if len(self.calibration_.weights) > 1:
            warn_of_one_query(self, f"{type(self).__name__}.predict_relevance", qid, len(scores))
        if (share := self.calibration_.share) in (0.0, 1.0):
            warnings.warn(
                f"{'every' if share else 'no'} row of fit had a grade of at least rel="
                f"{self.rel:g}, so all probabilities are nearly equal. Fit again with another rel.",
                UserWarning,
                stacklevel=callers_level(),
            )
        groups = QueryGroups.from_qid(qid, len(scores))
        return self.calibration_.probabilities(scores, groups)

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Float64Array:
        return self.predict(X, qid=qid)

    def _reads_queries(self) -> bool:
        """Whether scores, unlike probabilities, depend on the other rows of the query."""
        return reads_queries(self.estimator_)

    def _ranker(self) -> Any:
        return "lambdamart()" if self.estimator is None else self.estimator
