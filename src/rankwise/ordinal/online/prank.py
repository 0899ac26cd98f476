"""PRank: one perceptron with a threshold between every two classes.

The class of x is the first r with ``w.x - b_r < 0``. A mistake moves every threshold on the wrong
side of the score by one, ``b_r -= tau_r``, and ``w += (sum_r tau_r) x``, ``tau_r`` in {-1, 0, 1}.

Composition: columns, their products, or a kernel x perceptron steps with ordered thresholds.
"""

from __future__ import annotations

from typing import Any, Literal

from rankwise.ordinal.online.online_ranker import OnlineRanker
from rankwise.typing import ArrayLike


class PRank(OnlineRanker):
    """Perceptron ranking: online, one weight vector and ordered thresholds.

    Parameters
    ----------
    degree : {1, 2}, default=1
        1: the columns as they are. 2: their products and a constant, as the kernel
        ``(x.z + 1)^2`` has them: ``x_i^2``, ``sqrt(2) x_i x_j``, ``sqrt(2) x_i``, 1.
    kernel : str, callable or None, default=None
        In place of explicit columns a kernel of :func:`rankwise.features.kernels.resolve_kernel`
        (but "precomputed"), on the rows that a step was made on. It is called for each row.
    gamma : float > 0, "scale", "auto" or None, default=None
        Of the kernel.
    kernel_params : dict, optional
        "degree" and "coef0" of the polynomial and sigmoid, "delta" of perceptron and stump, or
        keyword arguments of a callable.
    n_epochs : int >= 1, default=1
        Passes of ``fit`` over the rows.
    shuffle : bool, default=True
        Whether ``fit`` reads the rows in a random order, drawn anew for each pass. False: in the
        order given, as a stream; rows sorted by class then teach little, because the last class
        wins. ``partial_fit`` always reads its rows in the order given. Chosen on ten data sets
        (``python -m benchmarks.study_defaults``).
    random_state : int, RandomState or None, default=None
        Seed of ``shuffle``; pass an int for the same result in every fit.
    probability : bool, default=False
        Whether ``predict_proba`` is there. It takes five more fits, see there, and
        ``partial_fit`` refuses it.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Needed if y holds text; numbers, booleans and ordered
        categoricals have an order of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    thresholds_ : ndarray of shape (n_classes - 1,), float64
        Ascending, whole numbers. The class of a row is the number of them that its score reaches.
    coef_ : ndarray of shape (n_columns,), float64
        Of the columns that ``degree`` names, in that order.
    X_fit_ : ndarray or CSR of shape (n_support, n_features_in_), or None
    dual_coef_ : ndarray of shape (n_support,), float64
        In place of ``coef_`` with a kernel: the score is ``sum_i dual_coef_[i] K(x, X_fit_[i])``.
    kernel_ : Kernel
    n_mistakes_ : int
        Rows put into a wrong class when they were first seen.
    total_loss_ : int
        Sum of ``|predicted rank - rank|`` over the rows as they were seen.
    n_seen_ : int
        Rows seen, each pass counted.
    hypotheses_ : Hypotheses
    began_with_ : dict
        Parameters that shape the model, as they were when it began: ``partial_fit`` and
        predictions need them unchanged.
    calibration_ : ScoreCalibration
        ``slope``, ``thresholds`` and range of the scores that ``predict_proba`` is made of, where
        ``probability`` is set.
    score_name_ : str

    Notes
    -----
    O(n_columns + n_classes) for each row. With a kernel O(n_support n_features), and n_support
    grows with the mistakes. ``partial_fit`` on any cut of the rows gives the bits of one ``fit``
    with ``shuffle=False``. Class numbers are whole and thresholds start at 0, so thresholds stay
    in order [1]_. A row of weight 2 is not two rows to a method that depends on their order: there
    is no ``sample_weight``.

    Where some ``|(w, b)| = 1`` keeps every row at least gamma away from the thresholds, on its
    side, ``total_loss_ <= (n_classes - 1) (R^2 + 1) / gamma^2`` with R the largest norm of a row
    (of its products with ``degree=2``) [1]_.

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
        random_state: Any = None,
        probability: bool = False,
        classes: ArrayLike | None = None,
    ) -> None:
        self.degree = degree
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.probability = probability
        self.classes = classes
