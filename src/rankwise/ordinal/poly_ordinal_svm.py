"""Linear support vector machine for ordered classes on powers of the features (Poly-ORSVM) [1]_.

Composition: powers of the features x hinge of ordinal margins with costs x dual coordinate descent,
then Newton steps, along C.

References
----------
.. [1] Tsai, Chen, Chen, Ferng, Wang, Wen & Lin, "An ensemble ranking solution to the Yahoo!
   Learning to Rank Challenge", technical report, National Taiwan University (2010), section 3.
.. [2] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.parameter_constraints import (
    DEFAULT_MAX_BYTES,
    MAX_BYTES_CONSTRAINT,
    POSITIVE,
    StrOptions,
    minimum,
)
from rankwise.checks.rows import check_rows
from rankwise.equation import Equation, FunctionFeatures
from rankwise.features.polynomial_terms import TERMS, TermMap, check_room, draw_terms
from rankwise.groups import FitData
from rankwise.losses.class_costs import COSTS, costs_of_rows, fit_threshold_weights, query_setting
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.ordinal.ordinal_ranker import SearchedOrdinalRanker
from rankwise.ordinal.score_probabilities import ScoreProbabilities
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.svm.ordinal_path import ThresholdPath
from rankwise.solvers.svm.threshold_solver import STEPS, PowerMap, Steps, ThresholdSolver
from rankwise.structure.state_rules import Instance, Number, Optional, Rule, floats, require
from rankwise.tuning import Penalty
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix, Seed, densify, is_sparse

PENALTY = Penalty("C", "C", default=10.0 ** np.arange(-3, 3))
LOSSES = ("hinge", "squared_hinge")


class PolyOrdinalSVM(ScoreProbabilities, SearchedOrdinalRanker):
    """Linear support vector machine for ordered classes on powers of the features (Poly-ORSVM).

    Minimises ``(|w|^2 + |theta|^2) / 2 + C sum_nk w_nk h(1 - s_nk (w.z_n + theta_k))``: a sum over
    rows n and thresholds k. ``h(s)`` is ``max(0, s)`` or its square (``loss``), and z consists of
    the features and their powers. ``s_nk`` is 1 if the class of row n is above threshold k and -1
    otherwise. The weights ``w_nk`` are derived from ``costs``.

    Parameters
    ----------
    degree : int, default=4
        Highest power, >= 1: a feature t has the columns ``t, t^2, ..., t^degree``. 1 is a linear
        model, suitable for rows from a feature map (use ``scaling=False`` then).
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Factor of the SUM of the losses over rows and thresholds; half the squared norm has factor
        1. A grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries.
        "cv" and "val" search 10^-3, 10^-2, ..., 10^2.
    costs : {"absolute", "squared", "zero_one", "err"} or array, default="absolute"
        Cost of an error, see ``rankwise.losses.class_costs.row_costs``. "absolute": number of
        ranks off. "squared": its square. "zero_one": the same cost for every error. "err": loss of
        expected reciprocal rank in the row's query. An array has shape (n_classes, n_classes), by
        true and predicted class, or (n_samples, n_classes), by row and predicted class. Costs must
        not be negative, and must not decrease with the distance from the true class. "err" needs
        ``qid`` in ``fit``, and a larger C because its costs are far below 1, see the notes.
    terms : {"powers", "random", "cross"}, default="powers"
        Columns in addition to the features. "powers": powers of the features, which are not stored.
        "random": the same number of random products of different features. "cross": all products.
        Products are stored, see :class:`PolynomialTerms`.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss h of a margin.
    scaling : bool, default=True
        Whether to divide every feature by its largest absolute value in the training rows. Powers
        of unscaled features differ by orders of magnitude, and a single C could not penalise their
        weights evenly.
    solver : {"auto", "descent", "newton"}, default="auto"
        "descent": dual coordinate descent. "newton": proximal Newton steps, which need O(D^3) time
        and 8 D^2 bytes for D columns. "auto": 30 passes of descent, then Newton steps if there are
        at most 2,000 columns.
    measure : str, Measure or callable, default="MAE"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`. Measures of predicted
        labels receive class numbers; all others receive the scores.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-4
        Duality gap at which the solver stops, relative to the objective.
    max_iter : int, default=1000
        Largest number of descent passes, and of Newton steps, for each C and each intermediate C;
        >= 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed for ``terms="random"``.
    max_bytes : int, default=2**33
        Memory limit in bytes for the products of "random" and "cross" and for the list of products.
        Products of sparse rows are not counted. ``fit`` raises before it creates products beyond
        the limit.
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
        ``-theta``, ascending.
    coef_ : ndarray of shape (n_columns,), float64
        Coefficients of the columns computed from ``X / scale_``: the features, then their second
        powers, and so on; or the products in ``terms_``. ``rank_score`` is the sum of coefficients
        times columns.
    scale_ : ndarray of shape (n_features_in_,), float64
        Largest absolute value of each feature. 1 for a feature of zeros (or of subnormal numbers
        below 2.3e-308, whose inverse overflows) and if ``scaling=False``.
    terms_ : TermMap or None
        Products of features. None for powers.
    C_ : float
        The given or chosen C.
    objective_ : float
        Final value of the objective.
    dual_objective_ : float
        Final value of the dual objective, which is minimised: at most 0, and ``-objective_`` at the
        optimum.
    dual_gap_ : float
        Relative duality gap ``(objective_ + dual_objective_) / objective_``: upper bound on the
        relative excess of ``objective_`` over the minimum.
    n_iter_ : int
        Number of passes and Newton steps for ``C_``, not counting those for smaller values of a
        grid.
    path_ : dict with "C" of shape (n_C,), "coef" (n_C, n_columns), "thresholds"
        Penalties, and coefficients and thresholds of their models.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    calibration_ : ScoreCalibration
        Calibration that ``predict_proba`` uses: ``slope``, ``thresholds`` and the range of the
        scores. Only with ``probability=True``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` passes are not enough; the message gives the remaining gap.

    Notes
    -----
    A pass over N rows costs O(N D) time, 4 N D operations, for D columns, and a handful of passes
    is enough for a small C. Memory is O(N D). A larger C is reached through smaller values, each of
    which starts from the previous dual values. The binary problem is never built, because all its
    pairs of one row share a score. The K - 1 dual values of a row are solved jointly and exactly.

    Thresholds are penalised, as in the reduction to LIBLINEAR. With many rows the effect is
    negligible; :class:`OrdinalSVM` has an additional unpenalised intercept. Thresholds are sorted,
    which does not change predictions: the class number is the number of thresholds that the score
    reaches. A threshold with no weighted row equals its neighbour.

    Equal rows are merged and their weights added: a weight is equivalent to repeating the row, and
    the order of the rows does not matter. With ``costs="err"`` the costs of a query are computed
    from all its rows passed to ``fit``. They are far below 1, so C must be larger. On synthetic
    rows of five classes in queries of 5 to 20 rows, their mean was 1/30 of that of absolute costs.
    C from 100 to 1000 worked best, and with C = 1 up to three of the classes were never predicted.
    Powers grow fast outside the feature range of the training rows. If C is small, a hinge loss may
    predict the majority class for all rows; a squared hinge does not.

    A compromise between this class and :class:`OrdinalSVM` is a pipeline whose features approximate
    a kernel, such as ``make_pipeline(Nystroem("perceptron"), PolyOrdinalSVM(1, scaling=False))``,
    or a pipeline that starts with :class:`RandomPerceptrons`.

    References
    ----------
    .. [1] Tsai, Chen, Chen, Ferng, Wang, Wen & Lin, "An ensemble ranking solution to the Yahoo!
       Learning to Rank Challenge", technical report, National Taiwan University (2010), section 3.
    .. [2] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).
    .. [3] Hsieh, Chang, Lin, Keerthi & Sundararajan, "A dual coordinate descent method for
       large-scale linear SVM", ICML 25 (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PolyOrdinalSVM
    >>> X = np.linspace(-1, 1, 9).reshape(-1, 1)
    >>> y = [1, 1, 2, 2, 3, 2, 2, 1, 1]
    >>> PolyOrdinalSVM(degree=2, C=1e4).fit(X, y).predict([[-0.9], [0.05], [0.4]])
    array([1, 3, 2])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "scale_": floats("n_features_in_"),
        "terms_": Optional(Instance((TermMap,))),
        "coef_": floats("n_coefficients"),
        "C_": Number(low=0),
        "dual_objective_": Number(finite=False),
        "dual_gap_": Number(finite=False),
    }

    scale_: Float64Array
    terms_: TermMap | None
    coef_: Float64Array
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [minimum(1)],
        "C": PENALTY.constraint,
        "costs": [StrOptions(set(COSTS)), "array-like"],
        "terms": [StrOptions(set(TERMS))],
        "loss": [StrOptions(set(LOSSES))],
        "scaling": ["boolean"],
        "solver": [StrOptions(set(STEPS))],
        "measure": MEASURE_KINDS,
        "cv": ["cv_object"],
        "tol": [POSITIVE],
        "max_iter": [minimum(1)],
        "random_state": ["random_state"],
        "max_bytes": MAX_BYTES_CONSTRAINT,
        "probability": ["boolean"],
        "classes": ["array-like", None],
    }

    def __init__(
        self,
        degree: int = 4,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        *,
        costs: Literal["absolute", "squared", "zero_one", "err"] | ArrayLike = "absolute",
        terms: Literal["powers", "random", "cross"] = "powers",
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        scaling: bool = True,
        solver: Steps = "auto",
        measure: MeasureLike = "MAE",
        cv: Any = 5,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Seed = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        probability: bool = False,
        classes: ArrayLike | None = None,
    ) -> None:
        self.degree = degree
        self.C = C
        self.costs = costs
        self.terms = terms
        self.loss = loss
        self.scaling = scaling
        self.solver = solver
        self.measure = measure
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.max_bytes = max_bytes
        self.probability = probability
        self.classes = classes

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Score that is compared with ``thresholds_``, shape (n_samples,), float64."""
        check_is_fitted(self)
        rows = PowerMap(self.scale_, self.terms_, self.degree)(check_rows(self, X))
        return rows.scores(self.coef_)

    @property
    def _additive_scores(self) -> bool:
        """Whether scores are sums of functions of single features, which excludes products."""
        return self.terms == "powers"

    def _check_structure(self) -> None:
        require((self.scale_ > 0).all(), "scale_", "be > 0", self.scale_)
        n = self.degree * self.n_features_in_ if self.terms_ is None else len(self.terms_.factors)
        require(len(self.coef_) == n, "coef_", f"have {n} entries", len(self.coef_))

    def _draw_terms(self, X: Matrix) -> TermMap | None:
        if self.terms == "powers":
            return None
        n_samples, n_features = X.shape
        column_bytes = 0 if is_sparse(X) else 8 * n_samples
        check_room(n_features, self.degree, self.terms, None, column_bytes, self.max_bytes)
        random = check_random_state(self.random_state)
        return draw_terms(n_features, self.degree, self.terms, None, random)

    @property
    def _query_setting(self) -> str | None:
        return query_setting(self.costs)

    def _equation(self) -> Equation:
        solver = ThresholdSolver(self.solver, self.tol, self.max_iter)
        is_squared = self.loss == "squared_hinge"
        return Equation(
            FunctionFeatures(self._columns),
            partial(fit_threshold_weights, self.costs),
            partial(ThresholdPath, squared=is_squared, solver=solver),
            PENALTY,
        )

    def _columns(self, rows: FitData) -> Iterator[tuple[dict[str, Any], PowerMap]]:
        """Powers or products of the scaled features."""
        scale = largest_magnitudes(rows.X) if self.scaling else np.ones(rows.X.shape[1])
        yield {}, PowerMap(scale, self._draw_terms(rows.X), self.degree)

    def _complete_fit(self, rows: FitData) -> None:
        self._calibrate(
            rows, lambda fold: {"C": self.C_, "costs": costs_of_rows(self.costs, rows, fold)}
        )


def largest_magnitudes(X: Matrix) -> Float64Array:
    """Largest absolute value of every column, shape (n_features,), float64.

    1 for a column of zeros or subnormal numbers, whose inverse may be infinite.
    """
    ends = [X.max(axis=0), X.min(axis=0)]
    high, low = (np.asarray(densify(end), dtype=np.float64).ravel() for end in ends)
    largest = np.maximum(high, -low)
    return np.where(largest >= np.finfo(np.float64).tiny, largest, 1.0)
