"""ORBoost: boosting of ordinal margins for large-margin thresholded ensembles [1]_.

References
----------
.. [1] Lin & Li, "Large-margin thresholded ensembles for ordinal regression: theory and practice",
   Algorithmic Learning Theory (2006).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.parameter_constraints import Interval, StrOptions, minimum
from rankwise.checks.rows import check_rows, check_validation
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.ordinal.ordinal_ranker import OrdinalRanker, check_ordinal_fit, class_margins
from rankwise.ordinal.score_probabilities import ScoreProbabilities
from rankwise.row_order import merge_rows, row_hashes
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.boosting.chosen_rounds import (
    CHOICE,
    ChoosesRounds,
    chooses_rounds,
    fit_chosen,
)
from rankwise.solvers.boosting.margin_boosting import MarginBoosting, class_order
from rankwise.solvers.boosting.perceptron_search import PerceptronEnsemble, PerceptronSearch
from rankwise.solvers.boosting.rounds import boost, check_warm_start, run_rounds
from rankwise.solvers.boosting.stump_search import StumpEnsemble, StumpSearch
from rankwise.structure.state_rules import Array, Instance, Number, Plain, Rule, Sometimes, forget
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix, Seed

ROW_WEIGHTS = ("rank", "query", "rank_query", "gain")
BY_QUERY = ("query", "rank_query")  # these need a qid
Ensemble = StumpEnsemble | PerceptronEnsemble
MOST_ROUNDS = 1000
ROUNDS_PER_ROOT = 3
Init = TypeVar("Init", bound=Callable[..., None])


def _takes_form_first(init: Init) -> Init:
    """Until 0.5: ``ORBoost("lr", 50)``, the first two parameters in their former order."""
    check = names_its_class(init)

    @wraps(init)
    def read(own: Any, *given: Any, **kwargs: Any) -> None:
        if given and isinstance(given[0], str):
            # The guards of the class add a frame between this one and the caller.
            warnings.warn(
                f"The first parameter of ORBoost is n_estimators: pass form={given[0]!r} by "
                "keyword. From version 0.5 on, a string there raises an error.",
                FutureWarning,
                stacklevel=3,
            )
            former = dict(zip(("form", "n_estimators"), given, strict=False))
            check(own, *given[2:], **former, **kwargs)
        else:
            check(own, *given, **kwargs)

    return cast("Init", read)


class ORBoost(ChoosesRounds, ScoreProbabilities, OrdinalRanker):
    """Boosted stumps or perceptrons with thresholds for ordered classes (ORBoost).

    The score of a row is a weighted sum of base learners with values -1 and 1. The class number is
    the number of thresholds that the score reaches.

    Parameters
    ----------
    n_estimators : int >= 1, optional
        Largest number of rounds. Training ends earlier if no base learner lowers the loss. None:
        three times the square root of the number of distinct training rows, at most 1,000; with
        early stopping, 1,000.
    form : {"all", "lr"}, default="all"
        Margins in the exponential loss. "all": the margins to all thresholds; the loss then bounds
        the absolute rank loss. "lr": the margins to the two thresholds next to the row's class,
        left and right; the loss then bounds the number of wrong classes.
    estimator : {"stump", "perceptron", "pocket"}, default="stump"
        Base learner. "stump": the best threshold on a single feature. "perceptron": a threshold on
        a linear combination of standardised features, trained by random coordinate descent.
        "pocket": the same, trained by the pocket algorithm.
    base_iter : int >= 1, default=100
        Iterations of a perceptron learner: line searches along coordinates for "perceptron", passes
        over drawn rows for "pocket".
    max_bins : int in [2, 255] or None, default=255
        Largest number of bins per feature for stumps. A feature with at most ``max_bins`` distinct
        values is cut between all of them; other features are cut between bins of about equal
        weight. None: cut between all values of every feature.
    row_weight : {"rank", "query", "rank_query", "gain"} or None, default=None
        Weight of a row in the loss. "rank": class number plus one (classes are numbered from 0).
        "query": 1 / number of rows of the query, so large queries count no more than small ones.
        "rank_query": product of both. "gain": ``2^k`` for class number k, which is the gain of nDCG
        and ERR plus one.
    measure : str, Measure or callable, default="MAE"
        Measure evaluated on X_val after every round, see :func:`rankwise.metrics.parse`. Measures
        of predicted labels receive class numbers; all others receive the scores. The value is the
        mean over the queries of ``qid_val``.
    early_stopping_rounds : int >= 1, optional
        Used with X_val, or in folds of ``cv``: stop after this many rounds without improvement and
        keep the rounds up to the best.
    refit : bool, default=False
        Whether the rounds kept by X_val are grown again on the rows of X and X_val.
    cv : int, splitter or iterable of (train rows, test rows), optional
        Folds of queries that choose the number of rounds, as in :class:`LambdaMART`.
    warm_start : bool, default=False
        Whether ``fit`` continues from the existing rounds up to ``n_estimators``. On the same rows
        the result is bit-identical to that of a single fit.
        The same ``n_estimators`` as before adds nothing, and ``fit`` warns.
    random_state : int, RandomState, Generator or None, default=None
        Seed for training perceptrons. Stumps use no random numbers.
    probability : bool, default=False
        Whether to provide ``predict_proba``. ``fit`` then trains five more models, see
        ``predict_proba``.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text; numbers, booleans and ordered
        categoricals already have an order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Ordered classes, lowest first.
    thresholds_ : ndarray of shape (n_classes - 1,), float64
        Ascending. A threshold without rows below or above it lies beyond every score.
    loss_curve_ : ndarray of shape (n_estimators_ + 1,), float64
        Sum of the loss over the (weighted) training rows, before the first round and after every
        round.
    threshold_curve_ : ndarray of shape (n_estimators_ + 1, n_classes - 1), float64
        Thresholds before the first round and after every round.
    n_estimators_ : int
        Number of rounds kept.
    ensemble_ : StumpEnsemble or PerceptronEnsemble
        Base learners in the order of the rounds. Stumps have ``features``, ``thresholds``,
        ``directions`` and ``steps``; perceptrons have ``coefs`` and ``steps``.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the sum of the steps.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round. Only with X_val or ``cv``.
    calibration_ : ScoreCalibration
        Calibration that ``predict_proba`` uses: ``slope``, ``thresholds`` and the range of the
        scores. Only with ``probability=True``.
    seed_ : int
        Seed used for training perceptrons.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Let H be the score of a row of class y. Its margins are ``H - theta_k`` to the thresholds below
    its class and ``theta_k - H`` to those above. A round weights rows by the sums of
    ``exp(-margin)`` over the thresholds on either side and takes the base learner that agrees most
    with these weights. It adds the learner with the step ``log(agree / disagree) / 2``, and sets
    the thresholds to ``log(sum_{y <= k} exp(H) / sum_{y > k} exp(-H)) / 2``. With "lr" these sums
    contain only classes k and k + 1, and thresholds out of order are pooled. Step and thresholds
    are exact minimisers, so the loss decreases in every round. For unweighted training rows the
    loss bounds the sum of absolute rank losses ("all") or the number of wrong classes ("lr").

    A round of stumps reads every value once, as a byte. For N rows, d features and K classes it
    costs O(N d), and O(N + K) for the rest. ``max_bins=None`` keeps 5 bytes per value for features
    with more than 255 distinct values. Sums are taken over integers, so results are bit-identical
    for any order of the rows and any number of threads. ``rank_score`` merges the stumps of a
    feature into one piecewise constant function.

    Training stops early in three cases: no base learner lowers the loss by more than rounding
    error; a base learner makes no mistake (it is kept, with a step of 14); or the exponential of a
    score would overflow.

    A stump cuts midway between two training values. As in the authors' program, a row whose value
    equals the midpoint belongs to the upper side. The entries of ``ensemble_.thresholds`` are the
    largest numbers below the midpoints, so ``x > threshold`` is the exact test.

    The default number of rounds was chosen on ten data sets that the documentation uses for nothing
    else (``python -m benchmarks.study_defaults``). Over set sizes from 48 to 10,000 rows, mean
    absolute errors were 1.6 % ("all") and 1.8 % ("lr") above those of the best fixed number for
    each set, compared with 7.6 % and 5.8 % with 1,000 rounds. Classes that are almost a noise-free
    function of the columns need more rounds: pass ``n_estimators``, or validation rows and
    ``early_stopping_rounds``.

    Differs from the authors' program: thresholds of classes without rows are finite numbers,
    training ends with a finite step after a stump without mistakes, and features with many values
    are binned.

    Composition: exponential loss of ordinal margins x stumps or perceptrons x boosting steps.

    References
    ----------
    .. [1] Lin & Li, "Large-margin thresholded ensembles for ordinal regression: theory and
       practice", Algorithmic Learning Theory (2006), section 3.
    .. [2] Tsai et al., "An ensemble ranking solution to the Yahoo! learning to rank challenge",
       technical report, National Taiwan University (2010), section 4.
    .. [3] Li & Lin, "Optimizing 0/1 loss for perceptrons by random coordinate descent",
       International Joint Conference on Neural Networks (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ORBoost
    >>> X = np.arange(12.0).reshape(-1, 1)
    >>> y = ["poor"] * 4 + ["fair"] * 4 + ["good"] * 4
    >>> booster = ORBoost(n_estimators=50, classes=["poor", "fair", "good"]).fit(X, y)
    >>> booster.predict([[1.0], [5.0], [9.0]]).tolist()
    ['poor', 'fair', 'good']
    >>> booster.loss_curve_[:3].round(3).tolist()
    [22.627, 12.829, 5.737]
    """

    n_estimators_: int

    _structure: ClassVar[dict[str, Rule]] = {
        "seed_": Number("i", low=0),
        "n_estimators_": Number("i", low=0, size="n_rounds"),
        "ensemble_": Instance((StumpEnsemble, PerceptronEnsemble)),
        "threshold_curve_": Array(("n_rounds + 1", "n_classes - 1"), numbers="not NaN"),
        "loss_curve_": Plain(),
        "validation_scores_": Sometimes(Plain()),
    }

    ensemble_: Ensemble
    n_features_in_: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [minimum(1), None],
        "form": [StrOptions({"all", "lr"})],
        "estimator": [StrOptions({"stump", "perceptron", "pocket"})],
        "base_iter": [minimum(1)],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "row_weight": [StrOptions(set(ROW_WEIGHTS)), None],
        "measure": MEASURE_KINDS,
        "early_stopping_rounds": [minimum(1), None],
        **CHOICE,
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "probability": ["boolean"],
        "classes": ["array-like", None],
    }

    @_takes_form_first
    def __init__(
        self,
        n_estimators: int | None = None,
        form: Literal["all", "lr"] = "all",
        *,
        estimator: Literal["stump", "perceptron", "pocket"] = "stump",
        base_iter: int = 100,
        max_bins: int | None = 255,
        row_weight: Literal["rank", "query", "rank_query", "gain"] | None = None,
        measure: MeasureLike = "MAE",
        early_stopping_rounds: int | None = None,
        refit: bool = False,
        cv: Any = None,
        warm_start: bool = False,
        random_state: Seed = None,
        probability: bool = False,
        classes: ArrayLike | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.form = form
        self.estimator = estimator
        self.base_iter = base_iter
        self.max_bins = max_bins
        self.row_weight = row_weight
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.cv = cv
        self.warm_start = warm_start
        self.random_state = random_state
        self.probability = probability
        self.classes = classes

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
        """Train on rows of ordered classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Ordered classes: numbers, an ordered categorical, or text with ``classes``.
        qid : array-like of shape (n_samples,), optional
            Query of each row. Required by ``row_weight="query"`` and ``"rank_query"``, otherwise
            unused.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w copies of it.
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` is evaluated after every round.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid (the message names it), if ``warm_start`` finds an earlier fit
            with other features, classes or base learners, or if ``n_estimators`` is less than the
            number of existing rounds. The model then keeps its state from before the call.
        """
        self._validate_params()
        # A copy, because the fit forgets the earlier one.
        earlier = copy(self) if self.warm_start and hasattr(self, "ensemble_") else None
        if chooses_rounds(self, X_val):
            by_row = {"qid": qid, "sample_weight": sample_weight}
            n_before = 0 if earlier is None else len(earlier.ensemble_)
            return fit_chosen(self, X, y, by_row, (X_val, y_val, qid_val), n_before=n_before)
        forget(self)
        by_query = f'row_weight="{self.row_weight}"' if self.row_weight in BY_QUERY else None
        data = check_ordinal_fit(self, X, y, qid, sample_weight, by_query=by_query)
        validation = check_validation(self, data, X_val, y_val, qid_val)
        measure = parse(self.measure)
        if validation is not None and not measure.reads_labels:
            # A label below all classes of the fit has the number -1, and no gain.
            validation = replace(validation, y=np.maximum(validation.y, 0.0))
        stops = validation is not None and self.early_stopping_rounds is not None
        n_rounds = self.n_estimators
        if n_rounds is None:
            n_rounds = MOST_ROUNDS
            if not stops:  # only distinct rows count, so repeated rows do not change the default
                distinct = len(np.unique(row_hashes(data.X, data.y)))
                n_rounds = min(math.ceil(ROUNDS_PER_ROOT * math.sqrt(distinct)), MOST_ROUNDS)
        if earlier is None:
            self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        else:
            self._check_earlier(earlier, n_rounds)
            self.seed_: int = earlier.seed_
        X, rows, class_ptr, weight, search, ensemble = self._training_rows(
            data, None if earlier is None else earlier.ensemble_
        )
        algorithm = MarginBoosting(class_ptr, weight, self.form)
        done = boost(
            ensemble,
            run_rounds(algorithm, search, ensemble, X, rows),
            lambda: algorithm.state,
            n_rounds,
            validation,
            measure,
            self.early_stopping_rounds,
        )
        self.ensemble_, self.n_estimators_ = done.ensemble, len(done.ensemble)
        self.loss_curve_: Float64Array = done.values
        self.threshold_curve_: NDArray[Any] = np.array([state.thresholds for state in done.states])
        self.thresholds_: Float64Array = self.threshold_curve_[-1]
        if done.validation_scores is not None:
            self.validation_scores_: Float64Array = done.validation_scores
        rounds = {"n_estimators": max(1, self.n_estimators_), "warm_start": False}
        self._calibrate(data, lambda _: rounds)
        return self

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Weighted sum of the base learners, shape (n_samples,), float64. Higher ranks higher."""
        check_is_fitted(self)
        return self.ensemble_.score(check_rows(self, X))

    def staged_rank_score(self, X: FrameLike) -> Iterator[Float64Array]:
        """Scores after every round, ``n_estimators_`` arrays of shape (n_samples,).

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        yield from self.ensemble_.staged_scores(check_rows(self, X))

    def staged_predict(self, X: FrameLike) -> Iterator[NDArray[Any]]:
        """Classes after every round, ``n_estimators_`` arrays of shape (n_samples,).

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        """
        for thresholds, scores in self._stages(X):
            yield self.classes_[np.searchsorted(thresholds, scores, side="right")]

    def staged_decision_function(self, X: FrameLike) -> Iterator[Float64Array]:
        """``decision_function`` after every round.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        """
        for thresholds, scores in self._stages(X):
            yield class_margins(scores, thresholds)

    @property
    def _additive_scores(self) -> bool:
        """Whether scores are sums of functions of single features, which is true of stumps."""
        return self.estimator == "stump"

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each feature in the sum of the steps; all 0 without base learners."""
        check_is_fitted(self)
        return self.ensemble_.importances(self.n_features_in_)

    def _stages(self, X: FrameLike) -> Iterator[tuple[Float64Array, Float64Array]]:
        """Thresholds and scores after every round."""
        check_is_fitted(self)
        return zip(self.threshold_curve_[1:], self.staged_rank_score(X), strict=True)

    def _check_earlier(self, earlier: Self, n_rounds: int) -> None:
        """Raise ValueError unless the fit can continue from an earlier one."""
        kind = StumpEnsemble if self.estimator == "stump" else PerceptronEnsemble
        same = earlier.classes_.tolist() == self.classes_.tolist()
        if not same or not isinstance(earlier.ensemble_, kind):
            raise ValueError(
                "warm_start needs the same classes and base learners as the earlier fit. Set "
                "warm_start=False to start again."
            )
        n_features = earlier.n_features_in_, self.n_features_in_
        check_warm_start(*n_features, len(earlier.ensemble_), n_rounds)

    def _training_rows(
        self, data: FitData, ensemble: Any
    ) -> tuple[Matrix, Int64Array, Int64Array, Float64Array, Any, Ensemble]:
        """Rows sorted by class, and the search for base learners that continues an ensemble.

        Returns X, the row of X that each weight belongs to, the limits of the classes in these rows
        (n_classes + 1,), their weights, the search, and the ensemble so far.
        """
        assert data.classes is not None
        weight, n_classes = row_weights(data, self.row_weight), len(data.classes)
        if self.estimator == "stump":
            rows, class_ptr = class_order(data.y, n_classes)
            search = StumpSearch(data.X, rows, self.max_bins, data.sample_weight, ties_above=True)
            ensemble = StumpEnsemble.empty() if ensemble is None else ensemble
            return data.X, rows, class_ptr, weight[rows], search, ensemble
        # Equal rows are merged and sorted by content. Otherwise draws of rows and floating-point
        # sums would depend on the order of the rows.
        merged = merge_rows(data.X, data.y, QueryGroups.single(len(data.y)), weight)
        X, y = data.X[merged.rows], data.y[merged.rows]
        order, class_ptr = class_order(y, n_classes)
        X, weight = X[order], merged.weight[order]
        ensemble = PerceptronEnsemble.empty(X, weight) if ensemble is None else ensemble
        search = PerceptronSearch(
            ensemble.prepare(X),
            pocket=self.estimator == "pocket",
            n_iter=self.base_iter,
            seed=self.seed_,
            first_round=len(ensemble),
        )
        return X, np.arange(len(y)), class_ptr, weight, search, ensemble


def row_weights(data: FitData, scheme: str | None) -> Float64Array:
    """Weight of every row: ``sample_weight`` times the factor of ``scheme``.

    Factors: "rank": the class number plus one. "query": 1 / the number of rows of the query.
    "rank_query": product of both. "gain": ``2^k`` for class number k, which is the gain of nDCG and
    ERR plus one.
    """
    repeats = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
    weight = repeats.copy()
    if scheme in ("rank", "rank_query"):
        weight *= data.y + 1.0
    if scheme in BY_QUERY:
        query = data.groups.codes()
        weight /= np.bincount(query, repeats, minlength=data.groups.n_queries)[query]
    if scheme == "gain":
        weight *= 2.0**data.y
    return weight
