"""Support vector machine for ordered classes (ORSVM, REDSVM) [1]_.

Composition: kernel x hinge of ordinal margins with costs x SMO over (row, threshold) pairs.

References
----------
.. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.column_sizes import CENTRED_PRODUCTS, kernel_limit
from rankwise.checks.parameter_constraints import (
    DEFAULT_MAX_BYTES,
    MAX_BYTES_CONSTRAINT,
    POSITIVE,
    StrOptions,
    minimum,
)
from rankwise.checks.rows import check_rows
from rankwise.equation import Equation, FunctionFeatures
from rankwise.features.kernels import (
    GAMMA_CONSTRAINT,
    KERNEL_NAMES,
    Gamma,
    Kernel,
    find_searched_gamma,
    gamma_candidates,
    resolve_kernel_of_fit,
)
from rankwise.features.score_expansions import (
    Expansion,
    ExpansionAttribute,
    LinearKernelExpansion,
    PrecomputedExpansion,
    SupportExpansion,
)
from rankwise.groups import FitData
from rankwise.losses.class_costs import COSTS, costs_of_rows, fit_threshold_weights, query_setting
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.ordinal.ordinal_ranker import SearchedOrdinalRanker
from rankwise.ordinal.score_probabilities import ScoreProbabilities
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.svm.ordinal_path import OrdinalPath
from rankwise.solvers.svm.ordinal_smo import OrdinalSMO
from rankwise.structure.state_rules import Instance, Number, Rule, integers
from rankwise.tuning import Penalty
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

PENALTY = Penalty("C", "C", default=10.0 ** np.arange(-3, 3))


class OrdinalSVM(ScoreProbabilities, SearchedOrdinalRanker):
    """Support vector machine for ordered classes, with a kernel (ORSVM).

    Minimises
    ``|f|_K^2 / 2 + |theta|^2 / 2 + C sum_nk w_nk max(0, 1 - s_nk (f(x_n) + b + theta_k))``: a sum
    over rows n and thresholds k. ``s_nk`` is 1 if the class of row n is above threshold k and -1
    otherwise. The intercept b is not penalised. The weights ``w_nk`` are derived from ``costs``.

    Parameters
    ----------
    kernel : str or callable, default='perceptron'
        "perceptron", "stump", "laplacian", "rbf", "polynomial", "linear", "sigmoid", "precomputed",
        or a function ``K(X, Z)`` that returns an array of shape (n_x, n_z) and is called once with
        both matrices, see :func:`rankwise.features.kernels.resolve_kernel`. Features are not
        scaled. For a linear kernel and many rows use :class:`PolyOrdinalSVM`.
    gamma : float > 0, list of floats, "cv", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list is searched
        together with C; so are powers of two around the median width for "cv" and "val", as for C.
        "scale" and "auto" are defined as in scikit-learn. Kernels without gamma ignore it and warn.
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
    fit_intercept : bool, default=True
        Whether to fit the intercept b. Without it, the kernel must itself be positive definite
        (perceptron and stump are not), and steps move all variables of one row.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial kernel, "coef0" of the
        sigmoid kernel, "delta" of the perceptron and stump kernels (without effect), or keyword
        arguments of a callable.
    max_bytes : int, default=2**33
        Memory limit for kernel values, in bytes. All values are stored in float64 if they fit, or
        else in float32; otherwise the most recently used rows are cached in float32. ``8 n^2``
        bytes for n distinct rows are fastest.
    measure : str, Measure or callable, default="MAE"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`. Measures of predicted
        labels receive class numbers; all others receive the scores.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-3
        Tolerance as in LIBSVM: largest violation of the optimality conditions, in units of the
        margin. It does not bound ``dual_gap_``: with a large C on separable rows, small violations
        times C can leave a gap near 1 without a warning. Use a smaller value if the objective
        itself matters.
    max_iter : int, optional
        Largest number of steps for each C. None: 10^7, or 100 per variable if that is more.
    probability : bool, default=False
        Whether to provide ``predict_proba``. ``fit`` then trains five more models, see
        ``predict_proba``.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text; numbers, booleans and ordered
        categoricals already have an order.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    classes_ : ndarray of shape (n_classes,)
        Ordered classes, lowest first.
    thresholds_ : ndarray of shape (n_classes - 1,), float64
        ``-theta``, ascending.
    intercept_ : float
        Intercept b, included in ``rank_score``.
    C_ : float
        The given or chosen C.
    dual_objective_ : float
        Final value of the dual objective ``(1/2) alpha' Q alpha - sum alpha``, <= 0. Its minimum is
        minus the minimum of the objective.
    objective_ : float
        Final value of the objective.
    dual_gap_ : float
        Relative duality gap ``(objective_ + dual_objective_) / objective_``: upper bound on the
        relative excess of ``objective_`` over the minimum.
    n_iter_ : int
        Number of steps for ``C_``, not counting those for smaller values of a grid.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients a of ``rank_score(x) = sum_i a_i K(x, x_i) + intercept_``. For a precomputed
        kernel: coefficients of all rows, shape (n_samples,).
    X_fit_ : ndarray of shape (n_support, n_features_in_), float64 (CSR beyond 1/8 of ``max_bytes``)
        Distinct rows with a nonzero coefficient. Not for precomputed and linear kernels.
    coef_ : ndarray of shape (n_features_in_,)
        Replaces the two attributes above if the kernel is linear.
    support_ : ndarray of shape (n_support,), int64
        Numbers of the training rows with a nonzero coefficient, one for each group of equal rows.
    kernel_, gamma_ : Kernel, float or None
        The kernel used and its width.
    path_ : dict with "C" of shape (n_C,), "coef", "intercept" and "thresholds"
        Solutions for the chosen gamma. "coef" holds the coefficients of the training rows, shape
        (n_C, n_samples); equal rows share theirs.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search; also "gamma" if it is searched.
    calibration_ : ScoreCalibration
        Calibration that ``predict_proba`` uses: ``slope``, ``thresholds`` and the range of the
        scores. Only with ``probability=True``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` steps are not enough; the message gives the remaining violation.

    Notes
    -----
    The binary problem over all N (K - 1) pairs of row and threshold is never built. The variables
    of a row share its kernel row, which needs ``8 N^2`` bytes in all; LIBSVM on the expanded kernel
    needs ``(K - 1)^2`` times as much. A step costs O(N + K^2), and O(N K) more if it changes the
    order of the thresholds. The number of steps is a multiple of N, and grows with C and the number
    of classes. Time grows at least with N^2, so the limit is tens of thousands of rows; use
    :class:`PolyOrdinalSVM` for more. Many classes are slow: 300 rows of 300 classes take tens of
    seconds.

    With an intercept the coefficients sum to 0, so a constant in the kernel (``delta``) has no
    effect. If costs are convex in the predicted class ("absolute", "squared"), the solution has
    ordered thresholds [1]_, up to ``tol``. Other costs need not order them. The thresholds are then
    sorted, which does not change predictions: the class number is the number of thresholds that a
    score reaches. A weight multiplies C, which is equivalent to repeating the row. Equal rows are
    merged, and results are bit-identical for any order of the rows; with a precomputed kernel,
    whose rows have no content that orders them, they are equal up to ``tol``. With ``costs="err"``
    the costs of a query are computed from all its rows passed to ``fit``. They are far below 1:
    with five classes and queries of 5 to 20 rows they are 1/30 of absolute costs. C must therefore
    be one or two orders of magnitude larger. Callable and precomputed kernels are not checked for
    semidefiniteness.

    With a linear kernel, steps of two variables converge slowly if C is large or if column scales
    differ by factors of 100 or more. After 10^5 steps (or 20 per variable if that is more) without
    convergence, Newton steps on the columns find a point near the optimum, from which the steps
    continue. If column scales differ by more than 10^5, ``max_iter`` may still be reached.

    Differs from the authors' program, a modified LIBSVM: all thresholds of a row share one kernel
    row, the duality gap is reported, and costs can be given for each row.

    References
    ----------
    .. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).
    .. [2] Lin & Li, "Support vector machinery for infinite ensemble learning", JMLR 9 (2008), the
       perceptron and stump kernels.
    .. [3] Fan, Chen & Lin, "Working set selection using second order information for training
       support vector machines", JMLR 6 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import OrdinalSVM
    >>> X = np.arange(9.0).reshape(-1, 1) / 4
    >>> y = ["poor"] * 3 + ["fair"] * 3 + ["good"] * 3
    >>> machine = OrdinalSVM(C=10.0, classes=["poor", "fair", "good"]).fit(X, y)
    >>> machine.predict([[0.1], [1.0], [1.9]]).tolist()
    ['poor', 'fair', 'good']
    >>> round(machine.dual_objective_, 3)
    -9.0
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "C_": Number(low=0),
        "expansion_": Instance((LinearKernelExpansion, PrecomputedExpansion, SupportExpansion)),
        "support_": integers("n_support", low=0),
        "dual_objective_": Number(finite=False),
        "dual_gap_": Number(finite=False),
    }

    expansion_: Expansion
    kernel_: ExpansionAttribute[Kernel] = ExpansionAttribute()
    gamma_: ExpansionAttribute[float | None] = ExpansionAttribute()
    coef_: ExpansionAttribute[Float64Array] = ExpansionAttribute()
    dual_coef_: ExpansionAttribute[Float64Array] = ExpansionAttribute()
    X_fit_: ExpansionAttribute[Matrix] = ExpansionAttribute()
    intercept_: ExpansionAttribute[float] = ExpansionAttribute()
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "gamma": GAMMA_CONSTRAINT,
        "C": PENALTY.constraint,
        "costs": [StrOptions(set(COSTS)), "array-like"],
        "fit_intercept": ["boolean"],
        "kernel_params": [dict, None],
        "max_bytes": MAX_BYTES_CONSTRAINT,
        "measure": MEASURE_KINDS,
        "cv": ["cv_object"],
        "tol": [POSITIVE],
        "max_iter": [minimum(1), None],
        "probability": ["boolean"],
        "classes": ["array-like", None],
    }

    def __init__(
        self,
        kernel: Any = "perceptron",
        gamma: Gamma = None,
        *,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        costs: Literal["absolute", "squared", "zero_one", "err"] | ArrayLike = "absolute",
        fit_intercept: bool = True,
        kernel_params: dict[str, Any] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "MAE",
        cv: Any = 5,
        tol: float = 1e-3,
        max_iter: int | None = None,
        probability: bool = False,
        classes: ArrayLike | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.costs = costs
        self.fit_intercept = fit_intercept
        self.kernel_params = kernel_params
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.probability = probability
        self.classes = classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Score that is compared with ``thresholds_``, shape (n_samples,), float64."""
        check_is_fitted(self)
        return self.expansion_.scores(check_rows(self, X))

    @property
    def _query_setting(self) -> str | None:
        return query_setting(self.costs)

    def _equation(self) -> Equation:
        is_centred = self.kernel == "linear" and self.fit_intercept
        limit = CENTRED_PRODUCTS if is_centred else kernel_limit(self.kernel)
        widths = find_searched_gamma(self.kernel, self.gamma)
        solver = OrdinalSMO(self.tol, self.fit_intercept, self.max_iter)
        return Equation(
            FunctionFeatures(self._kernels, [widths], limit),
            partial(fit_threshold_weights, self.costs),
            partial(OrdinalPath, solver=solver, max_bytes=self.max_bytes),
            PENALTY,
        )

    def _kernels(self, rows: FitData) -> Iterator[tuple[dict[str, Any], Kernel]]:
        """The kernel with each width."""
        for gamma in gamma_candidates(rows.X, self.kernel, self.gamma):
            kernel = resolve_kernel_of_fit(self.kernel, rows, gamma, self.kernel_params)
            is_named = self.gamma is not None and kernel.gamma is not None
            yield {"gamma": kernel.gamma} if is_named else {}, kernel

    def _complete_fit(self, rows: FitData) -> None:
        chosen = {"C": self.C_} if self.gamma_ is None else {"C": self.C_, "gamma": self.gamma_}
        self._calibrate(
            rows, lambda fold: {**chosen, "costs": costs_of_rows(self.costs, rows, fold)}
        )
