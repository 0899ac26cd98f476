"""Online aggregate PRank: many PRanks trained in parallel on random subsets of the rows.

Composition: PRanks on random rows x mean of their weights, or votes of their ranks.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import FRACTION, StrOptions, minimum
from rankwise.kernels.perceptron_ranking import count_votes
from rankwise.ordinal.online.online_ranker import OnlineRanker
from rankwise.ordinal.online.rank_votes import VOTES, Votes
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from rankwise.structure.rules import Number, Rule, Word, require_attributes
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

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
    random_state : int, RandomState or None, default=None
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
    A row costs O(n_prank n_columns), or O(n_support (n_features + n_prank)) with a kernel. PRanks
    are distributed over threads. ``partial_fit`` on consecutive blocks of the rows is bit-identical
    to one ``fit`` with ``shuffle=False``, including the subsets, for any number of threads.

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
        self.coin_seed_ = int(rng.randint(LARGEST_SEED))

    def _coins(self, n_rows: int) -> NDArray[np.bool_]:
        stream = np.random.PCG64(self.coin_seed_).advance(self.n_seen_ * self._n_hypotheses)
        return np.random.Generator(stream).random((n_rows, self._n_hypotheses)) < self.tau

    def _publish(self) -> None:
        self.combine_ = self.combine
        if self.combine == "bpm":
            self._set_coef(self.hypotheses_.weights.mean(axis=1))
            self.thresholds_ = self.hypotheses_.thresholds.mean(axis=0)
        else:
            for name in ("coef_", "dual_coef_"):
                vars(self).pop(name, None)
            self.thresholds_ = self._half_steps()

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
