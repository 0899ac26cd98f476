"""Online learners with one hypothesis: PRank and Widrow-Hoff.

PRank is a perceptron with a threshold between every two adjacent classes. The class of x is the
first r with ``w.x - b_r < 0``. A mistake moves every threshold on the wrong side of the score by
one, ``b_r -= tau_r``, and ``w += (sum_r tau_r) x``, ``tau_r`` in {-1, 0, 1}.

Composition: columns, their products, or a kernel x perceptron steps with ordered thresholds.

Widrow-Hoff is least mean squares on the class numbers, rounded to a class: for a row x of rank r in
1, ..., K, ``w += eta (r - w.x) x``. The class is the rank nearest to w.x.

Composition: columns with a constant, their products, or a kernel x least mean squares.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.parameter_constraints import POSITIVE
from rankwise.kernels.perceptron_ranking import lms_csr, lms_rows, lms_value
from rankwise.ordinal.online_ranker import OnlineRanker
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Matrix, Seed, is_sparse


class PRank(OnlineRanker):
    """Perceptron ranking: an online learner with one weight vector and ordered thresholds.

    Parameters
    ----------
    degree : {1, 2}, default=1
        Degree of the explicit columns. 1: the features. 2: their products and a constant, which are
        the columns of the kernel ``(x.z + 1)^2``: ``x_i^2``, ``sqrt(2) x_i x_j``, ``sqrt(2) x_i``,
        1.
    kernel : str, callable or None, default=None
        Kernel that replaces explicit columns, see :func:`rankwise.features.kernels.resolve_kernel`;
        all kernels except "precomputed". The support rows are those on which a step was made. The
        kernel is called once for each row.
    gamma : float > 0, "scale", "auto" or None, default=None
        Width of the kernel.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial and sigmoid kernels,
        "delta" of the perceptron and stump kernels, or keyword arguments of a callable.
    n_epochs : int >= 1, default=1
        Number of passes of ``fit`` over the rows.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows before each pass. False: rows are read in the given order,
        as a stream. Avoid this for rows sorted by class, because the last class dominates.
        ``partial_fit`` always reads its rows in the given order. The default was chosen on ten data
        sets (``python -m benchmarks.study_defaults``).
    random_state : int, RandomState, Generator or None, default=None
        Seed for ``shuffle``. Pass an int for reproducible fits.
    probability : bool, default=False
        Whether to provide ``predict_proba``. ``fit`` then trains five more models, see
        ``predict_proba``; ``partial_fit`` raises ValueError.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text; numbers, booleans and ordered
        categoricals already have an order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Ordered classes, lowest first.
    thresholds_ : ndarray of shape (n_classes - 1,), float64
        Ascending whole numbers. The class number of a row is the number of thresholds that its
        score reaches.
    coef_ : ndarray of shape (n_columns,), float64
        Weights of the columns of ``degree``, in that order.
    X_fit_ : ndarray or CSR of shape (n_support, n_features_in_), or None
        Support rows of the kernel. None without a kernel.
    dual_coef_ : ndarray of shape (n_support,), float64
        Replaces ``coef_`` if a kernel is used: the score is
        ``sum_i dual_coef_[i] K(x, X_fit_[i])``.
    kernel_ : Kernel
        The kernel used. Only if ``kernel`` is given.
    n_mistakes_ : int
        Number of rows that were assigned to a wrong class when they were seen.
    total_loss_ : int
        Sum of ``|predicted rank - rank|`` over the rows when they were seen.
    n_seen_ : int
        Number of rows seen, counted once for each pass.
    hypotheses_ : Hypotheses
        State of the learner, from which ``partial_fit`` continues.
    began_with_ : dict
        Values of the parameters that shape the model, recorded when training began. ``partial_fit``
        and predictions need them unchanged.
    calibration_ : ScoreCalibration
        Calibration that ``predict_proba`` uses: ``slope``, ``thresholds`` and the range of the
        scores. Only with ``probability=True``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    A row costs O(n_columns + n_classes), or O(n_support n_features) with a kernel; n_support grows
    with the number of mistakes. The model needs as much memory. ``partial_fit`` on consecutive
    blocks of the rows is bit-identical to one ``fit`` with ``shuffle=False``. Steps are whole and
    thresholds start at 0, so thresholds stay in order [1]_. There is no ``sample_weight``: the
    method depends on the order of the rows, so a weight of 2 would not be equivalent to two rows.

    If some ``(w, b)`` of norm 1 puts every row on the correct side of all thresholds, at a distance
    of at least gamma, then ``total_loss_ <= (n_classes - 1) (R^2 + 1) / gamma^2``. R is the largest
    norm of a row (of its products with ``degree=2``) [1]_.

    References
    ----------
    .. [1] Crammer & Singer, "Pranking with ranking", NIPS 14 (2001), Figure 2, Lemma 1 and
       Theorem 2.

    Examples
    --------
    >>> from rankwise import PRank
    >>> from rankwise.datasets import make_ordinal_square
    >>> X, y = make_ordinal_square(5000, random_state=0)
    >>> ranker = PRank(degree=2, random_state=0).fit(X[:4000], y[:4000])
    >>> ranker.predict([[0.5, 0.5], [0.0, 1.0]])
    array([4, 1])
    >>> ranker.thresholds_
    array([-10.,  -4.,  -2.,   3.])
    """

    def __init__(
        self,
        degree: int = 1,
        *,
        kernel: Any = None,
        gamma: float | Literal["scale", "auto"] | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_epochs: int = 1,
        shuffle: bool = True,
        random_state: Seed = None,
        probability: bool = False,
        classes: ArrayLike | None = None,
    ) -> None:
        self.degree = degree
        self.kernel = kernel
        self.gamma: float | Literal["scale", "auto"] | None = gamma
        self.kernel_params = kernel_params
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.probability = probability
        self.classes = classes


class WidrowHoff(OnlineRanker):
    """Online least squares on class numbers, rounded to a class.

    Parameters
    ----------
    learning_rate : float > 0, default=0.1
        Step size, limited to 1 / ``|x|^2`` on a row x. At this limit the score of the row becomes
        its class number; from 2 / ``|x|^2`` on, the error would grow.
    degree : {1, 2}, default=1
        Degree of the explicit columns. 1: the features and a constant. 2: also their products,
        which gives the columns of the kernel ``(x.z + 1)^2``: ``x_i^2``, ``sqrt(2) x_i x_j``,
        ``sqrt(2) x_i``, 1.
    kernel : str, callable or None, default=None
        Kernel that replaces explicit columns, see :func:`rankwise.features.kernels.resolve_kernel`;
        all kernels except "precomputed". Every row is kept. The model has a constant only if the
        kernel has one.
    gamma : float > 0, "scale", "auto" or None, default=None
        Width of the kernel, see :class:`PRank`.
    kernel_params : dict, optional
        Further kernel parameters, see :class:`PRank`.
    n_epochs : int >= 1, default=1
        Number of passes of ``fit`` over the rows.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows before each pass. False: rows are read in the given order,
        see :class:`PRank`.
    random_state : int, RandomState, Generator or None, default=None
        Seed for ``shuffle``. Pass an int for reproducible fits.
    probability : bool, default=False
        Whether to provide ``predict_proba``. ``fit`` then trains five more models, see
        ``predict_proba``; ``partial_fit`` raises ValueError.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text; numbers, booleans and ordered
        categoricals already have an order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Ordered classes, lowest first.
    thresholds_ : ndarray of shape (n_classes - 1,), float64
        1.5, 2.5, ..., n_classes - 0.5, because scores estimate ranks that start at 1.
    coef_ : ndarray of shape (n_columns,), float64
        Weights of the columns of ``degree``, in that order.
    X_fit_ : ndarray or CSR of shape (n_support, n_features_in_), or None
        Support rows of the kernel. None without a kernel.
    dual_coef_ : ndarray of shape (n_support,), float64
        Replaces ``coef_`` if a kernel is used: the score is
        ``sum_i dual_coef_[i] K(x, X_fit_[i])``.
    kernel_ : Kernel
        The kernel used. Only if ``kernel`` is given.
    n_mistakes_, total_loss_ : int
        Number of mistakes and total rank loss, as in :class:`PRank`.
    n_seen_ : int
        Number of rows seen, counted once for each pass.
    hypotheses_ : Hypotheses
        State of the learner, from which ``partial_fit`` continues.
    began_with_ : dict
        Values of the parameters that shape the model, recorded when training began. ``partial_fit``
        and predictions need them unchanged.
    calibration_ : ScoreCalibration
        Calibration that ``predict_proba`` uses. Only with ``probability=True``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    A row costs O(n_columns), or O(n_support n_features) with a kernel, and the model as much
    memory. ``partial_fit`` on consecutive blocks of the rows is bit-identical to one ``fit`` with
    ``shuffle=False``.

    ``rank_score`` is the unrounded estimate of the rank; the lowest class has rank 1.

    Differs from plain least mean squares: the step size is at most 1 / ``|x|^2``.

    References
    ----------
    .. [1] Widrow & Hoff, "Adaptive switching circuits", IRE WESCON Convention Record 4 (1960).
    .. [2] Harrington, "Online ranking/collaborative filtering using the perceptron algorithm",
       ICML (2003).

    Examples
    --------
    >>> from rankwise import WidrowHoff
    >>> from rankwise.datasets import make_ordinal_square
    >>> X, y = make_ordinal_square(5000, random_state=0)
    >>> ranker = WidrowHoff(learning_rate=0.1, degree=2, random_state=0).fit(X[:4000], y[:4000])
    >>> round(ranker.score(X[4000:], y[4000:]), 3)
    -0.289
    """

    _constant: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineRanker._parameter_constraints,
        "learning_rate": [POSITIVE],
    }

    def __init__(
        self,
        learning_rate: float = 0.1,
        degree: int = 1,
        *,
        kernel: Any = None,
        gamma: float | Literal["scale", "auto"] | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_epochs: int = 1,
        shuffle: bool = True,
        random_state: Seed = None,
        probability: bool = False,
        classes: ArrayLike | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.degree = degree
        self.kernel = kernel
        self.gamma: float | Literal["scale", "auto"] | None = gamma
        self.kernel_params = kernel_params
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.probability = probability
        self.classes = classes

    def _start(self, X: Matrix, rng: np.random.RandomState, *, streams: bool) -> None:
        super()._start(X, rng, streams=streams)
        self.hypotheses_.thresholds[0] = np.arange(len(self.classes_) - 1) + 1.5

    def _update_by_rows(
        self, features: Matrix, codes: Int64Array, coins: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        known = self.hypotheses_
        rate = float(self.learning_rate)
        state = (rate, known.weights[:, 0], known.thresholds[0], known.tallies[0])
        if is_sparse(features):
            lms_csr(features.data, features.indices, features.indptr, codes, *state)
        else:
            lms_rows(features, codes, *state)
        return np.zeros((len(codes), 1, 2), dtype=np.int32)

    def _update_by_values(
        self,
        values: Float64Array,
        code: int,
        coins: NDArray[np.bool_],
        weights: Float64Array,
        moves: NDArray[np.int32],
    ) -> bool:
        state = (self.hypotheses_.thresholds[0], self.hypotheses_.tallies[0])
        return lms_value(values, code, float(self.learning_rate), weights[:, 0], *state)
