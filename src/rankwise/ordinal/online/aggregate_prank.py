"""Online aggregate PRank: many PRanks in parallel, each sees a share of the rows.

Composition: PRanks on random rows x mean of their weights, or votes of their ranks.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankwise.kernels.perceptron_ranking import count_votes
from rankwise.ordinal.online.online_ranker import OnlineRanker
from rankwise.ordinal.online.rank_votes import VOTES, Votes
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from rankwise.structure.rules import Number, Rule
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

LARGEST_SEED = 2**31 - 1


class AggregatePRank(Votes, OnlineRanker):
    """Many PRanks, each on a random share of the rows, averaged or voting.

    Parameters
    ----------
    combine : {"bpm", "bag", "vote"}, default="bpm"
        "bpm", an approximate Bayes point: one PRank of the mean weights and mean thresholds.
        "bag": the PRanks vote, all alike. "vote": they vote, each weighted by the rows it has seen
        since its last mistake, that one counted.
    tau : float in (0, 1], default=0.6
        Probability with which a PRank sees a row, by an independent coin per row and PRank.
    n_prank : int >= 1, default=100
    votes : {"mode", "median", "mean"}, default="mode"
        Which class the votes choose, see :class:`VotedPRank`; without meaning for "bpm".
    degree : {1, 2}, default=1
        1: the columns as they are. 2: their products and a constant, as the kernel
        ``(x.z + 1)^2`` has them.
    kernel : str, callable or None, default=None
        In place of explicit columns, see :class:`PRank`; the support are the rows that any PRank
        made a step on.
    gamma : float > 0, "scale", "auto" or None, default=None
    kernel_params : dict, optional
    n_epochs : int >= 1, default=1
        Passes of ``fit`` over the rows.
    shuffle : bool, default=True
        Whether ``fit`` reads the rows in a random order, drawn anew for each pass. False: in the
        order given, see :class:`PRank`.
    random_state : int, RandomState or None, default=None
        Seed of the coins and of ``shuffle``; pass an int for the same result in every fit.
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
        "bpm": mean of the PRanks' thresholds. Else 0.5, 1.5, ..., which split the mean vote for
        ``votes="mean"``.
    coef_ : ndarray of shape (n_columns,), float64
        "bpm": mean weights of the columns that ``degree`` names.
    dual_coef_ : ndarray of shape (n_support,), float64
        In place of ``coef_`` with a kernel.
    X_fit_ : ndarray or CSR of shape (n_support, n_features_in_), or None
    kernel_ : Kernel
    hypotheses_ : Hypotheses
        The PRanks.
    n_seen_ : int
        Rows that came, each pass counted.
    coin_seed_ : int
        The coins of row i are those from ``i n_prank`` on of NumPy's PCG64 of this seed.
    began_with_ : dict
        Parameters that shape the model, as they were when it began: ``partial_fit`` and
        predictions need them unchanged.
    calibration_ : ScoreCalibration
        Where ``probability`` is set.
    score_name_ : str

    Notes
    -----
    O(n_prank n_columns) for each row, PRanks spread over threads; with a kernel O(n_support
    (n_features + n_prank)). ``partial_fit`` on any cut of the rows gives the bits of one ``fit``
    with ``shuffle=False``, coins included, for any number of threads.

    ``rank_score`` is the score on ``thresholds_`` for "bpm", else the mean class number voted for,
    unrounded. Its thresholds give the class for "bpm" and ``votes="mean"``; the other rules
    choose by all votes, and the argmax of ``decision_function`` is what they choose. Where no
    PRank has seen a row, they vote alike.

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
    }

    coef_: Float64Array
    dual_coef_: Float64Array
    _shaping: ClassVar[tuple[str, ...]] = (*OnlineRanker._shaping, "n_prank")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineRanker._parameter_constraints,
        "combine": [StrOptions({"bpm", "bag", "vote"})],
        "tau": [Interval(Real, 0, 1, closed="right")],
        "n_prank": [Interval(Integral, 1, None, closed="left")],
        "votes": [VOTES],
    }

    def __init__(
        self,
        combine: str = "bpm",
        tau: float = 0.6,
        n_prank: int = 100,
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
        self.combine = combine
        self.tau = tau
        self.n_prank = n_prank
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

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Score under the mean weights, or mean class number voted for.

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
        """Class of every row, by the mean PRank or by the votes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
        """
        return OrdinalRanker.predict(self, X) if self.combine == "bpm" else super().predict(X)

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Distances from the mean thresholds, or what the rule of ``votes`` makes largest.

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

    @property
    def _n_hypotheses(self) -> int:
        return int(self.n_prank)

    def _start(self, X: Matrix, rng: np.random.RandomState, *, streams: bool) -> None:
        super()._start(X, rng, streams=streams)
        self.coin_seed_ = int(rng.randint(LARGEST_SEED))

    def _coins(self, n_rows: int) -> NDArray[np.bool_]:
        stream = np.random.PCG64(self.coin_seed_).advance(self.n_seen_ * self._n_hypotheses)
        return np.random.Generator(stream).random((n_rows, self._n_hypotheses)) < self.tau

    def _publish(self) -> None:
        if self.combine == "bpm":
            self._set_coef(self.hypotheses_.weights.mean(axis=1))
            self.thresholds_ = self.hypotheses_.thresholds.mean(axis=0)
        else:
            for name in ("coef_", "dual_coef_"):
                vars(self).pop(name, None)
            self.thresholds_ = self._half_steps()

    def _check_combine(self) -> None:
        """Raise where ``combine`` was changed to or from "bpm", which predicts by means."""
        has_means = hasattr(self, "coef_") or hasattr(self, "dual_coef_")
        if (self.combine == "bpm") != has_means:
            fitted = '"bpm"' if has_means else '"bag" or "vote"'
            raise ValueError(
                f"combine of the fitted model is {fitted}, got combine={self.combine!r}. Set it "
                "back, or call fit or partial_fit, which take the new one."
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
