"""Voted PRank: all hypotheses of a PRank vote, weighted by the number of rows they survived.

Composition: PRank x votes of all its hypotheses, replayed from the rows with mistakes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.rows import check_rows
from rankwise.kernels.perceptron_ranking import replay_thresholds, replay_votes
from rankwise.ordinal.online.online_ranker import OnlineRanker, check_range, largest
from rankwise.ordinal.online.rank_votes import VOTES, Votes
from rankwise.runtime.threads import thread_map
from rankwise.structure.rules import MatrixRows, Number, Rule, floats, integers
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FrameLike,
    Int64Array,
    Matrix,
    densify,
    is_sparse,
)

SLICE_VALUES = 2**21  # kernel values of a slice
PIECES = 8  # parts of a slice for threads


class VotedPRank(Votes, OnlineRanker):
    """PRank whose hypotheses vote, weighted by the number of rows that each survived.

    Parameters
    ----------
    votes : {"mode", "median", "mean"}, default="mode"
        Rule that derives a class from the votes. "mode": the class with the most votes. "median":
        the lowest class that half of the votes do not exceed, which has the least expected rank
        loss under the votes. "mean": the rounded mean.
    degree : {1, 2}, default=1
        Degree of the explicit columns. 1: the features. 2: their products and a constant, which are
        the columns of the kernel ``(x.z + 1)^2``.
    kernel : str, callable or None, default=None
        Kernel that replaces explicit columns, see :class:`PRank`.
    gamma : float > 0, "scale", "auto" or None, default=None
        Width of the kernel, see :class:`PRank`.
    kernel_params : dict, optional
        Further kernel parameters, see :class:`PRank`.
    n_epochs : int >= 1, default=1
        Number of passes of ``fit`` over the rows.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows before each pass. False: rows are read in the given order,
        see :class:`PRank`.
    random_state : int, RandomState or None, default=None
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
        0.5, 1.5, ..., the thresholds of the mean vote for ``votes="mean"``.
    X_fit_ : ndarray or CSR of shape (n_mistakes_, n_features_in_), float64
        Rows on which PRank made a mistake, in order. Each one starts a new hypothesis.
    dual_coef_ : ndarray of shape (n_mistakes_,), float64
        Coefficient of the step on each of these rows.
    threshold_path_ : ndarray of shape (n_mistakes_ + 1, n_classes - 1), float64
        Thresholds of every hypothesis; the first hypothesis is zero.
    survival_ : ndarray of shape (n_mistakes_ + 1,), int64
        Number of votes of every hypothesis: the rows after which it was the current one. The votes
        sum to ``n_seen_``.
    n_mistakes_, total_loss_ : int
        Number of mistakes and total rank loss, as in :class:`PRank`.
    n_seen_ : int
        Number of rows seen, counted once for each pass.
    kernel_ : Kernel
        The kernel used. Only if ``kernel`` is given.
    hypotheses_ : Hypotheses
        The last hypothesis, from which ``partial_fit`` continues.
    began_with_ : dict
        Values of the parameters that shape the model, recorded when training began. ``partial_fit``
        and predictions need them unchanged.
    calibration_ : ScoreCalibration
        Calibration that ``predict_proba`` uses. Only with ``probability=True``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Fitting costs as much as fitting :class:`PRank` and also stores the rows with mistakes. A
    prediction costs O(M (n_features + n_classes)) for M mistakes and any degree.

    ``rank_score`` is the unrounded mean class number of the votes, for any rule. Comparing it with
    ``thresholds_`` gives the predicted class for ``votes="mean"`` only. The other rules use all
    votes; their class is the argmax of ``decision_function``.

    Scores of earlier hypotheses are sums of kernel values with ``X_fit_``. They are summed in a
    different order than ``w.x`` in training (and in another one for CSR), so rounding differs. If
    exact arithmetic puts a score on a threshold, as with columns in tenths, the score may fall on
    either side, and a few votes may differ from those of the weights. Columns of whole numbers have
    no rounding errors. Storing the weights of every hypothesis would cost n_columns instead of
    n_features steps for each mistake, about n_features / 2 times as many with ``degree=2``.

    References
    ----------
    .. [1] Freund & Schapire, "Large margin classification using the perceptron algorithm",
       Machine Learning 37 (1999).
    .. [2] Crammer & Singer, "Pranking with ranking", NIPS 14 (2001).

    Examples
    --------
    >>> from rankwise import VotedPRank
    >>> from rankwise.datasets import make_ordinal_square
    >>> X, y = make_ordinal_square(5000, random_state=0)
    >>> ranker = VotedPRank(degree=2, random_state=0).fit(X[:4000], y[:4000])
    >>> round(ranker.score(X[4000:], y[4000:]), 3)
    -0.152
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "X_fit_": MatrixRows("n_support", "n_features_in_"),
        "dual_coef_": floats("n_support"),
        "threshold_path_": floats("n_support + 1", "n_classes - 1"),
        "survival_": integers("n_support + 1", low=0),
        "n_mistakes_": Number("i", low=0, size="n_support"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineRanker._parameter_constraints,
        "votes": [VOTES],
    }

    def __init__(
        self,
        votes: str = "mode",
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
        self.votes = votes
        self.degree = degree
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.probability = probability
        self.classes = classes

    def _start(self, X: Matrix, rng: np.random.RandomState, *, streams: bool) -> None:
        super()._start(X, rng, streams=streams)
        shape = (0, X.shape[1])
        self.X_fit_ = sparse.csr_array(shape) if is_sparse(X) else np.empty(shape)
        self.dual_coef_ = np.zeros(0)
        self.threshold_path_ = np.zeros((1, len(self.classes_) - 1))
        self.survival_ = np.zeros(1, dtype=np.int64)

    def _see(self, X: Matrix, codes: Int64Array, order: Int64Array) -> None:
        moves = np.concatenate([moves[:, 0] for moves in self._learn(X, codes, order)])
        mistakes = np.flatnonzero(moves.any(axis=1))
        ends = np.diff(np.concatenate([[0], mistakes, [len(codes)]]))
        self.survival_ = np.concatenate([self.survival_, ends[1:]])
        self.survival_[-len(ends)] += ends[0]
        steps = (moves[mistakes, 0] - moves[mistakes, 1]).astype(np.float64)
        self.dual_coef_ = np.concatenate([self.dual_coef_, steps])
        path = np.empty((len(mistakes) + 1, self.threshold_path_.shape[1]))
        path[0] = self.threshold_path_[-1]
        replay_thresholds(moves[mistakes], codes[mistakes], path)
        self.threshold_path_ = np.concatenate([self.threshold_path_, path[1:]])
        if self.kernel is None:  # a kernel has already stored them
            self.X_fit_ = _join_kept(self.X_fit_, X[order[mistakes]])

    def _publish(self) -> None:
        self.thresholds_ = self._half_steps()
        self.n_mistakes_ = len(self.dual_coef_)
        self.total_loss_ = int(self.hypotheses_.total_loss[0])

    def _count_votes(self, X: FrameLike) -> Float64Array:
        check_is_fitted(self)
        X = check_rows(self, X)
        self._check_unchanged()
        votes = np.zeros((X.shape[0], len(self.classes_)))
        size = max(1, SLICE_VALUES // (self.n_mistakes_ + 1))
        for lo in range(0, X.shape[0], size):
            self._replay(self._values(X[lo : lo + size]), votes[lo : lo + size])
        return votes

    def _replay(self, values: Float64Array, votes: Float64Array) -> None:
        """Add the votes of every hypothesis to ``votes``, in place."""
        history = (self.dual_coef_, self.threshold_path_, self.survival_.astype(np.float64))
        step = max(1, -(-len(values) // PIECES))
        thread_map(
            lambda lo: replay_votes(values[lo : lo + step], *history, votes[lo : lo + step]),
            range(0, len(values), step),
        )

    def _values(self, X: Matrix) -> Float64Array:
        """Kernel values with the rows of ``X_fit_``, shape (n_rows, n_mistakes_)."""
        if self.n_mistakes_ == 0:
            return np.zeros((X.shape[0], 0))
        kernel = self._features().kernel if self.kernel is None else self.kernel_
        with np.errstate(over="ignore", invalid="ignore"):
            values = kernel(X.astype(np.float64, copy=False), self.X_fit_)
        check_range(largest(values) * float(np.abs(self.dual_coef_).sum()))
        return np.ascontiguousarray(values, dtype=np.float64)


def _join_kept(kept: Matrix, more: Matrix) -> Matrix:
    """Kept rows followed by more rows, in float64, as CSR if the kept rows are CSR."""
    if is_sparse(kept):
        rows: Any = sparse.vstack([kept, sparse.csr_array(more, dtype=np.float64)], format="csr")
        return rows
    dense = densify(more)
    return np.concatenate([kept, dense.astype(np.float64, copy=False)])
