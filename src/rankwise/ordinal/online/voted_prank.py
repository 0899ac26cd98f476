"""Voted PRank: every hypothesis that PRank ever held votes, as often as it survived rows.

Composition: PRank x votes of all its hypotheses, replayed from the rows it was wrong on.
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
from rankwise.structure.rules import Number, Rows, Rule, floats, integers
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FrameLike,
    Int64Array,
    Matrix,
    as_dense,
    is_sparse,
)

SLICE_VALUES = 2**21  # kernel values at a time
PIECES = 8  # of a slice, over threads


class VotedPRank(Votes, OnlineRanker):
    """PRank whose hypotheses vote, each weighted by the rows it survived.

    Parameters
    ----------
    votes : {"mode", "median", "mean"}, default="mode"
        Which class the votes choose: the one with the most; the lowest that half of them do not
        exceed, which has the least expected rank loss under the votes; or the rounded mean.
    degree : {1, 2}, default=1
        1: the columns as they are. 2: their products and a constant, as the kernel
        ``(x.z + 1)^2`` has them.
    kernel : str, callable or None, default=None
        In place of explicit columns, see :class:`PRank`.
    gamma : float > 0, "scale", "auto" or None, default=None
    kernel_params : dict, optional
    n_epochs : int >= 1, default=1
        Passes of ``fit`` over the rows.
    shuffle : bool, default=True
        Whether ``fit`` reads the rows in a random order, drawn anew for each pass. False: in the
        order given, see :class:`PRank`.
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
        0.5, 1.5, ..., which split the mean vote for ``votes="mean"``.
    X_fit_ : ndarray or CSR of shape (n_mistakes_, n_features_in_), float64
        The rows that PRank was wrong on, in their order: after each starts another hypothesis.
    dual_coef_ : ndarray of shape (n_mistakes_,), float64
        Step on each of them.
    threshold_path_ : ndarray of shape (n_mistakes_ + 1, n_classes - 1), float64
        Thresholds of every hypothesis, the one of zeros first.
    survival_ : ndarray of shape (n_mistakes_ + 1,), int64
        Votes of every hypothesis: the number of rows after which it was the one held. They sum to
        ``n_seen_``.
    n_mistakes_, total_loss_ : int
        As in :class:`PRank`.
    n_seen_ : int
        Rows seen, each pass counted.
    kernel_ : Kernel
    hypotheses_ : Hypotheses
        The last one.
    began_with_ : dict
        Parameters that shape the model, as they were when it began: ``partial_fit`` and
        predictions need them unchanged.
    calibration_ : ScoreCalibration
        Where ``probability`` is set.
    score_name_ : str

    Notes
    -----
    Fitting costs what PRank costs and keeps the rows of the mistakes; a prediction costs
    O(M (n_features + n_classes)), whatever the degree, for M mistakes.

    ``rank_score`` is the mean class number voted for, unrounded, under any rule. Its thresholds
    give the class for ``votes="mean"`` only; the other rules choose by all votes, and the argmax
    of ``decision_function`` is what they choose.

    Scores of earlier hypotheses are sums of kernel values with ``X_fit_``, rounded in another
    order than ``w.x`` was in training (and in another one for CSR). A score that exact arithmetic
    puts on a threshold, as of columns in tenths, can so fall on either side of it, and a few votes
    may differ from those of the weights; whole numbers have no rounding. Weights of every
    hypothesis would need n_columns in place of n_features steps for each mistake, with
    ``degree=2`` about n_features / 2 times as many.

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
        "X_fit_": Rows("n_support", "n_features_in_"),
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
        if self.kernel is None:  # else they are kept already
            self.X_fit_ = _joined(self.X_fit_, X[order[mistakes]])

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
        """Kernel values with the rows of the mistakes, (n_rows, n_mistakes_)."""
        if self.n_mistakes_ == 0:
            return np.zeros((X.shape[0], 0))
        kernel = self._features().kernel if self.kernel is None else self.kernel_
        with np.errstate(over="ignore", invalid="ignore"):
            values = kernel(X.astype(np.float64, copy=False), self.X_fit_)
        check_range(largest(values) * float(np.abs(self.dual_coef_).sum()))
        return np.ascontiguousarray(values, dtype=np.float64)


def _joined(kept: Matrix, more: Matrix) -> Matrix:
    """Rows kept and more of them, in float64, CSR where the kept ones are."""
    if is_sparse(kept):
        rows: Any = sparse.vstack([kept, sparse.csr_array(more, dtype=np.float64)], format="csr")
        return rows
    dense = as_dense(more)
    return np.concatenate([kept, dense.astype(np.float64, copy=False)])
