"""Many hypotheses of PRank that vote: VotedPRank and AggregatePRank.

Voted PRank: all hypotheses of a PRank vote, weighted by the number of rows they survived.

Composition: PRank x votes of all its hypotheses, replayed from the rows with mistakes.

Online aggregate PRank: many PRanks trained in parallel on random subsets of the rows.

Composition: PRanks on random rows x mean of their weights, or votes of their ranks.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.checks.parameter_constraints import FRACTION, StrOptions, minimum
from rankwise.checks.rows import check_rows
from rankwise.kernels.perceptron_ranking import count_votes, replay_thresholds, replay_votes
from rankwise.ordinal.online_ranker import OnlineRanker, check_range, largest
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.runtime.threads import thread_map
from rankwise.structure.state_rules import (
    MatrixRows,
    Number,
    Rule,
    Word,
    floats,
    integers,
    require_attributes,
)
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FrameLike,
    Int64Array,
    Matrix,
    Seed,
    densify,
    is_sparse,
)

VOTES = StrOptions({"mode", "median", "mean"})


class Votes(OrdinalRanker):
    """Mixin of estimators that combine PRanks by votes."""

    votes: str

    def vote_shares(self, X: FrameLike) -> Float64Array:
        """Share of the votes for each class.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Rows sum to 1.
        """
        votes = self._count_votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Unrounded mean class number of the votes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
            Between 0, the lowest class, and n_classes - 1, for any rule in ``votes``.
        """
        votes = self._count_votes(X)
        return votes @ np.arange(votes.shape[1], dtype=np.float64) / votes.sum(axis=1)

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of every row according to the rule in ``votes``.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
            "mode": the class with the most votes; ties go to the lowest class. "median": the lowest
            class that half of the votes do not exceed. "mean": the rounded mean; halves are rounded
            up.
        """
        if self.votes == "mean":
            return super().predict(X)
        chosen = self._merits(X).argmax(axis=1)
        return self.classes_[chosen]

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Quantity that the rule in ``votes`` maximises, in scikit-learn's shape.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            "mode": share of the votes. "median": negative expected rank loss under the votes.
            "mean": distance of the mean from the thresholds 0.5, 1.5, .... For two classes: value
            of the upper class minus that of the lower class.
        """
        if self.votes == "mean":
            return super().decision_function(X)
        merits = self._merits(X)
        return merits[:, 1] - merits[:, 0] if merits.shape[1] == 2 else merits

    def _merits(self, X: FrameLike) -> Float64Array:
        votes = self._count_votes(X)
        if self.votes == "median":
            ranks = np.arange(votes.shape[1], dtype=np.float64)
            merits = -(votes @ np.abs(ranks[:, None] - ranks))
        else:
            merits = votes
        return merits / votes.sum(axis=1, keepdims=True)

    def _count_votes(self, X: FrameLike) -> Float64Array:
        """Votes of shape (n_samples, n_classes): whole numbers, at least one in every row."""
        raise NotImplementedError

    def _half_steps(self) -> Float64Array:
        return np.arange(len(self.classes_) - 1) + 0.5


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
    Fitting costs as much as fitting :class:`PRank` and also stores the rows with mistakes, O(M
    n_features) memory. A prediction costs O(M (n_features + n_classes)) for M mistakes and any
    degree.

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
        votes: Literal["mode", "median", "mean"] = "mode",
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
        self.votes = votes
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
        shape = (0, X.shape[1])
        self.X_fit_ = sparse.csr_array(shape) if is_sparse(X) else np.empty(shape)
        self.dual_coef_ = np.zeros(0)
        self.threshold_path_ = np.zeros((1, len(self.classes_) - 1))
        self.survival_ = np.zeros(1, dtype=np.int64)

    def _see(self, X: Matrix, codes: Int64Array, order: Int64Array) -> None:
        moves = np.concatenate([moves[:, 0] for moves in self._learn(X, codes, order)])
        mistakes = np.flatnonzero(moves.any(axis=1))
        ends = np.diff(np.concatenate([[0], mistakes, [len(codes)]]))
        self.survival_: Int64Array = np.concatenate([self.survival_, ends[1:]])
        self.survival_[-len(ends)] += ends[0]
        steps = (moves[mistakes, 0] - moves[mistakes, 1]).astype(np.float64)
        self.dual_coef_: Float64Array = np.concatenate([self.dual_coef_, steps])
        path = np.empty((len(mistakes) + 1, self.threshold_path_.shape[1]))
        path[0] = self.threshold_path_[-1]
        replay_thresholds(moves[mistakes], codes[mistakes], path)
        self.threshold_path_: Float64Array = np.concatenate([self.threshold_path_, path[1:]])
        if self.kernel is None:  # a kernel has already stored them
            more = X[order[mistakes]]
            if is_sparse(self.X_fit_):
                both: Any = [self.X_fit_, sparse.csr_array(more, dtype=np.float64)]
                joined: Any = sparse.vstack(both, format="csr")
                self.X_fit_ = joined
            else:
                dense = densify(more).astype(np.float64, copy=False)
                self.X_fit_: Matrix = np.concatenate([self.X_fit_, dense])

    def _publish(self) -> None:
        self.thresholds_: Float64Array = self._half_steps()
        self.n_mistakes_: int = len(self.dual_coef_)
        self.total_loss_: int = int(self.hypotheses_.total_loss[0])

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


LARGEST_SEED = 2**31 - 1
COMBINATIONS = ("bpm", "bag", "vote")


class AggregatePRank(Votes, OnlineRanker):
    """Many PRanks on random subsets of the rows, averaged or combined by votes.

    Parameters
    ----------
    combine : {"bpm", "bag", "vote"}, default="bpm"
        How the PRanks are combined. "bpm": one PRank with their mean weights and mean thresholds,
        an approximate Bayes point. "bag": vote with equal weights. "vote": vote weighted by the
        number of rows since the PRank's last mistake, including that row.
    tau : float in (0, 1], default=0.6
        Probability that a PRank sees a row; drawn independently for each row and PRank.
    n_prank : int >= 1, default=100
        Number of PRanks.
    votes : {"mode", "median", "mean"}, default="mode"
        Rule that derives a class from the votes, see :class:`VotedPRank`. Not used by "bpm".
    degree : {1, 2}, default=1
        Degree of the explicit columns. 1: the features. 2: their products and a constant, which are
        the columns of the kernel ``(x.z + 1)^2``.
    kernel : str, callable or None, default=None
        Kernel that replaces explicit columns, see :class:`PRank`. The support rows are those on
        which any PRank made a step.
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
        Seed for the subsets and for ``shuffle``. Pass an int for reproducible fits.
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
        "bpm": mean thresholds of the PRanks. Otherwise 0.5, 1.5, ..., the thresholds of the mean
        vote for ``votes="mean"``.
    coef_ : ndarray of shape (n_columns,), float64
        Mean weights of the columns of ``degree``. Only for "bpm".
    dual_coef_ : ndarray of shape (n_support,), float64
        Replaces ``coef_`` if a kernel is used.
    X_fit_ : ndarray or CSR of shape (n_support, n_features_in_), or None
        Support rows of the kernel. None without a kernel.
    kernel_ : Kernel
        The kernel used. Only if ``kernel`` is given.
    hypotheses_ : Hypotheses
        Weights and thresholds of the PRanks.
    n_seen_ : int
        Number of rows received, counted once for each pass.
    combine_ : str
        The value of ``combine`` from which ``thresholds_`` were computed.
    coin_seed_ : int
        Seed of the subsets. The draws for row i start at position ``i * n_prank`` of NumPy's PCG64
        stream of this seed.
    began_with_ : dict
        Values of the parameters that shape the model, recorded when training began. ``partial_fit``
        and predictions need them unchanged.
    calibration_ : ScoreCalibration
        Calibration that ``predict_proba`` uses. Only with ``probability=True``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    A row costs O(n_prank n_columns), or O(n_support (n_features + n_prank)) with a kernel. The
    model needs as much memory. PRanks are distributed over threads. ``partial_fit`` on consecutive
    blocks of the rows is bit-identical to one ``fit`` with ``shuffle=False``, including the
    subsets, for any number of threads.

    ``rank_score`` is the score of the mean PRank for "bpm", and otherwise the unrounded mean class
    number of the votes. Comparing it with ``thresholds_`` gives the predicted class for "bpm" and
    ``votes="mean"``. The other rules use all votes; their class is the argmax of
    ``decision_function``. If no PRank has seen a row yet, all votes have equal weight.

    References
    ----------
    .. [1] Harrington, "Online ranking/collaborative filtering using the perceptron algorithm",
       ICML (2003): OAP-BPM, OAP-Bagg and OAP-VP.

    Examples
    --------
    >>> from rankwise import AggregatePRank
    >>> from rankwise.datasets import make_ordinal_square
    >>> X, y = make_ordinal_square(5000, random_state=0)
    >>> ranker = AggregatePRank("bpm", tau=0.3, degree=2, random_state=0).fit(X[:4000], y[:4000])
    >>> round(ranker.score(X[4000:], y[4000:]), 3)
    -0.238
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "coin_seed_": Number("i", low=0),
        "combine_": Word(COMBINATIONS),
    }

    coef_: Float64Array
    dual_coef_: Float64Array
    _shaping: ClassVar[tuple[str, ...]] = (*OnlineRanker._shaping, "n_prank")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineRanker._parameter_constraints,
        "combine": [StrOptions(set(COMBINATIONS))],
        "tau": [FRACTION],
        "n_prank": [minimum(1)],
        "votes": [VOTES],
    }

    def __init__(
        self,
        combine: Literal["bpm", "bag", "vote"] = "bpm",
        tau: float = 0.6,
        *,
        n_prank: int = 100,
        votes: Literal["mode", "median", "mean"] = "mode",
        degree: int = 1,
        kernel: Any = None,
        gamma: float | Literal["scale", "auto"] | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_epochs: int = 1,
        shuffle: bool = True,
        random_state: Seed = None,
        probability: bool = False,
        classes: ArrayLike | None = None,
    ) -> None:
        self.combine = combine
        self.tau = tau
        self.n_prank = n_prank
        self.votes = votes
        self.degree = degree
        self.kernel = kernel
        self.gamma: float | Literal["scale", "auto"] | None = gamma
        self.kernel_params = kernel_params
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.probability = probability
        self.classes = classes

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Score under the mean weights, or mean class number of the votes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        check_is_fitted(self)
        self._check_combine()
        if self.combine == "bpm":
            self._check_unchanged()
            weights = self.coef_ if self.kernel is None else self.dual_coef_
            return self._scores(X, weights[:, None])[:, 0]
        return super().rank_score(X)

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of every row, according to the mean PRank or to the votes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
        """
        return OrdinalRanker.predict(self, X) if self.combine == "bpm" else super().predict(X)

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Distances from the mean thresholds, or the quantity that the rule of ``votes`` maximises.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
        """
        if self.combine == "bpm":
            return OrdinalRanker.decision_function(self, X)
        return super().decision_function(X)

    def _check_structure(self) -> None:
        super()._check_structure()
        self._check_combine()
        if self.combine == "bpm":
            require_attributes(self, "coef_" if self.kernel is None else "dual_coef_")

    @property
    def _n_hypotheses(self) -> int:
        return int(self.n_prank)

    def _start(self, X: Matrix, rng: np.random.RandomState, *, streams: bool) -> None:
        super()._start(X, rng, streams=streams)
        self.coin_seed_: int = int(rng.randint(LARGEST_SEED))

    def _coins(self, n_rows: int) -> NDArray[np.bool_]:
        stream = np.random.PCG64(self.coin_seed_).advance(self.n_seen_ * self._n_hypotheses)
        return np.random.Generator(stream).random((n_rows, self._n_hypotheses)) < self.tau

    def _publish(self) -> None:
        self.combine_: str = self.combine
        if self.combine == "bpm":
            self._set_coef(self.hypotheses_.weights.mean(axis=1))
            self.thresholds_ = self.hypotheses_.thresholds.mean(axis=0)
        else:
            for name in ("coef_", "dual_coef_"):
                vars(self).pop(name, None)
            self.thresholds_: Float64Array = self._half_steps()

    def _check_combine(self) -> None:
        """Raise ValueError if ``combine`` was changed to or from "bpm" after the fit."""
        if (self.combine == "bpm") != (self.combine_ == "bpm"):
            fitted = '"bpm"' if self.combine_ == "bpm" else '"bag" or "vote"'
            raise ValueError(
                f"combine must stay {fitted} as in the fitted model, got {self.combine!r}. Set it "
                "back, or call fit or partial_fit to apply the new value."
            )

    def _count_votes(self, X: FrameLike) -> Float64Array:
        check_is_fitted(self)
        self._check_combine()
        scores = self._scores(X, self.hypotheses_.weights)
        votes = np.zeros((len(scores), len(self.classes_)))
        voices = np.ones(scores.shape[1])
        if self.combine == "vote" and self.hypotheses_.survival.any():
            voices = self.hypotheses_.survival.astype(np.float64)
        count_votes(scores, self.hypotheses_.thresholds, voices, votes)
        return votes
