"""Strengths of items from paired comparisons: Bradley-Terry, with ties, order and covariates.

Minimises ``-log L(s, b, t) + alpha / 2 |s|^2``; L is the likelihood of the outcomes, see
:mod:`rankwise.preferences.outcome_models`.

Composition: aggregated comparisons x outcome model x Newton steps.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import StrOptions
from rankwise.checks.rows import check_weight
from rankwise.datasets.table_columns import is_frame
from rankwise.preferences.aggregation import AggregatedPairs
from rankwise.preferences.comparisons import Comparisons, check_covariates
from rankwise.preferences.item_codes import code_known_items
from rankwise.preferences.outcome_models import OUTCOME_MODELS, TIE, OutcomeTerms
from rankwise.preferences.pair_likelihood import PairLikelihood
from rankwise.preferences.read_comparisons import read_comparisons
from rankwise.preferences.strength_model import StrengthModel
from rankwise.preferences.win_graph import check_connected, check_tie_effect
from rankwise.typing import ArrayLike, Float64Array, Int64Array

ORDER_EFFECT, TIE_EFFECT = "order", "tie"


class PairwisePreferences(StrengthModel):
    """Bradley-Terry model of paired comparisons, with ties, an order effect and covariates.

    Minimises ``-sum_n w_n log P(outcome_n) + alpha / 2 |s|^2`` over strengths s and effects, where
    the probability of an outcome depends on the advantage of the first item,
    ``eta = s_first - s_second + order + z . b``, with covariates z of the comparison, and ``w_n``
    are the weights. Effects are not penalised.

    Parameters
    ----------
    ties : {"davidson", "rao-kupper", "half"}, default="davidson"
        Model of ties [2]_, [3]_; "half" counts a tie as half a win of each item. Without ties in
        the data all three are the Bradley-Terry model [1]_,
        ``P(first wins) = 1 / (1 + exp(-eta))``.
    order_effect : bool, default=False
        Whether the first item of a comparison (the home team, the answer shown first) has an
        advantage, which is estimated.
    alpha : float >= 0, default=0.0
        L2 penalty: adds ``alpha / 2 |s|^2`` for strengths with mean 0.
    covariance : {"sandwich", "information"}, default="sandwich"
        Standard errors that hold if the model is only an approximation [4]_ or comparisons are
        dependent within clusters, or those from the inverse of the second derivatives, which
        assume that the model is true.
    reference : str or None, default=None
        Item with strength 0. None: strengths have mean 0.
    tol : float > 0, default=1e-9
        Newton steps end when no parameter changes by more than ``tol``.
    max_iter : int, default=100
        Largest number of Newton steps.

    Attributes
    ----------
    items_ : ndarray of shape (n_items,) of str
        Names of the items, sorted.
    strengths_ : ndarray of shape (n_items,), float64
        Log-odds: a difference of 1 means odds of e to win.
    covariance_ : ndarray of shape (n_items, n_items), float64
        Joint covariance of the strengths.
    model_covariance_ : ndarray of shape (n_items, n_items), float64
        The same from the second derivatives, which rank intervals use as a floor: the standard
        error of a difference is the larger of the two. With ties as half wins, which vary less than
        wins, it is scaled to the mean squared residual.
    standard_errors_ : ndarray of shape (n_items,), float64
        Square roots of its diagonal. They depend on ``reference``; rank intervals do not.
    effect_names_ : ndarray of shape (n_effects,) of str
        "order" if ``order_effect``, names of the covariates, and "tie" if there are ties and a
        model of them.
    effects_ : ndarray of shape (n_effects,), float64
        Estimates. "tie" is log nu [2]_ or log theta [3]_.
    effect_errors_ : ndarray of shape (n_effects,), float64
        Standard errors of the effects.
    n_comparisons_ : ndarray of shape (n_items,), float64
        Weight of the comparisons of each item.
    log_likelihood_ : float
        Sum of ``w_n log P(outcome_n)``.
    degrees_of_freedom_ : float
        Effective number of clusters [5]_ - 1, of the way with the fewest; infinite without
        clusters.
    n_iter_ : int
        Number of Newton steps.

    Warns
    -----
    UserWarning
        If groups of items were never compared with one another and ``alpha`` > 0: only the penalty
        relates them; likewise if items won or lost all comparisons. If clusters are so few, or so
        unequal, for so many items that rank intervals are wide: names the variable, its effective
        number of levels, and how many would do.

    Notes
    -----
    Without a penalty, a path of wins must lead from every item to every other (a tie is a win of
    both); otherwise ``fit`` raises an error that names the components. A parameter of ties needs
    a circle of comparisons with more wins than ties.

    Equal comparisons are merged, unless there are covariates. A Newton step costs
    O(R q^2 + m^2 q + (m + q)^3) for R distinct comparisons of m items and q effects; clusters add
    one sparse product. Comparisons of weight 0 are left out, with items that occur in no other. A
    weight counts as repetition.

    With clusters, the sandwich is multiplied by G / (G - 1) for G clusters, and rank intervals use
    Student's t distribution with Bonferroni's correction. With two or more ways of clustering, the
    middle of the sandwich is the sum over single ways, minus that over pairs of them, and so on
    [6]_, which can have negative eigenvalues: these are set to 0. R's sandwich package leaves them
    by default (``fix = FALSE``). With 40 levels a way, that changes standard errors by a few
    percent; with 20 or fewer, ours are larger by a tenth and more, where those of R may not exist.
    With a penalty, ``alpha`` is added to the
    sandwich's middle for each strength. Standard errors then include the bias of strengths that are
    normal with variance ``1 / alpha``, as those from the information do. Without this, an item that
    won all its games would have hardly any error.

    References
    ----------
    .. [1] Bradley & Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952).
    .. [2] Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison
       experiments", JASA 65 (1970).
    .. [3] Rao & Kupper, "Ties in paired-comparison experiments: a generalization of the
       Bradley-Terry model", JASA 62 (1967).
    .. [4] White, "Maximum likelihood estimation of misspecified models", Econometrica 50 (1982).
    .. [5] Carter, Schnepel & Steigerwald, "Asymptotic behavior of a t-test robust to cluster
       heterogeneity", Review of Economics and Statistics 99 (2017).
    .. [6] Cameron, Gelbach & Miller, "Robust inference with multiway clustering", Journal of
       Business & Economic Statistics 29 (2011).

    Examples
    --------
    >>> from rankwise import PairwisePreferences
    >>> pairs = [["a1", "b1"], ["b1", "c1"], ["c1", "a1"], ["a1", "c1"]] * 5
    >>> model = PairwisePreferences().fit(pairs, [1, 1, 1, 0.5] * 5)
    >>> model.items_.tolist(), model.effect_names_.tolist()
    (['a1', 'b1', 'c1'], ['tie'])
    >>> model.rank_intervals().low.tolist()
    [1, 1, 1]
    """

    _advice = "Drop covariates, pass ties='half', or, for strengths, alpha > 0."
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StrengthModel._parameter_constraints,
        "ties": [StrOptions(set(OUTCOME_MODELS))],
        "order_effect": ["boolean"],
    }

    def __init__(
        self,
        ties: Literal["davidson", "rao-kupper", "half"] = "davidson",
        *,
        order_effect: bool = False,
        alpha: float = 0.0,
        covariance: Literal["sandwich", "information"] = "sandwich",
        reference: str | None = None,
        tol: float = 1e-9,
        max_iter: int = 100,
    ) -> None:
        self.ties = ties
        self.order_effect = order_effect
        self.alpha = alpha
        self.covariance = covariance
        self.reference = reference
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sample_weight: Any = None,
        covariates: Any = None,
        clusters: Any = None,
    ) -> Self:
        """Estimate the strengths.

        Parameters
        ----------
        X : Comparisons, path, frame, or array-like of shape (n_comparisons, 2)
            Comparisons; a file or a frame as for :func:`rankwise.preferences.read_comparisons`, if
            ``y`` is None; or names of the two items of each comparison.
        y : array-like of shape (n_comparisons,), optional
            Outcomes: 1 if the first item won, 0.5 for a tie, 0 if the second won; or names of
            winners, "first", "second" and "tie".
        sample_weight : array-like of shape (n_comparisons,), column or False, optional
            Number of times that each comparison counts. A frame's or file's column sample_weight or
            weight is read by default; False: no weights.
        covariates : array-like of shape (n_comparisons, n_covariates), or columns, optional
            Advantages of the first item besides its strength ("style control").
        clusters : array-like of shape (n_comparisons, n_ways), or columns, optional
            Annotator, or annotator and prompt, of each comparison.

        Returns
        -------
        PairwisePreferences

        Raises
        ------
        ValueError
            If comparisons are wrong, the likelihood has no maximum, or ``reference`` is no item.
        """
        self._validate_params()
        games = _collect(X, y, sample_weight, covariates, clusters)
        check_connected(*games.wins(), games.items, penalised=self.alpha > 0)
        has_tie = self.ties != "half" and bool((games.outcome == TIE).any())
        if has_tie and self.alpha == 0:
            check_tie_effect(*games.decisions(), len(games.items))
        pairs = AggregatedPairs.of(games, order_effect=self.order_effect)
        likelihood = PairLikelihood(
            len(games.items), pairs.first, pairs.second, pairs.Z, pairs.counts, self.ties, has_tie
        )
        effects = [ORDER_EFFECT] if self.order_effect else []
        effects += [*games.covariate_names, *([TIE_EFFECT] if has_tie else [])]
        self._estimate(
            games.items,
            likelihood,
            effects,
            lambda theta: likelihood.scores(theta, pairs.row, pairs.outcome, games.weight),
            likelihood.middle,
            games.clusters,
            games.cluster_names,
            (
                np.tile(np.arange(len(games)), 2),
                np.concatenate([games.first, games.second]),
                np.tile(games.weight, 2),
            ),
        )
        return self

    def predict_proba(self, X: ArrayLike, *, covariates: ArrayLike | None = None) -> Float64Array:
        """Probabilities that the first item wins, of a tie, and that the second item wins.

        Parameters
        ----------
        X : array-like of shape (n_comparisons, 2)
            Names of items that the model knows.
        covariates : array-like of shape (n_comparisons, n_covariates), optional
            The columns of ``fit``; None: all 0.

        Returns
        -------
        ndarray of shape (n_comparisons, 3), float64
            The middle column is 0 if the model has no parameter of ties.
        """
        first, second = self._know(X)
        probabilities = np.exp(-self._terms(first, second, covariates).value.T)
        if not self._has_tie:
            probabilities[:, TIE] = 0.0
        return probabilities

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: ArrayLike | None = None,
    ) -> float:
        """Mean log-probability of outcomes; larger is better.

        Without a parameter of ties, a tie counts as half a win of each item.

        Parameters
        ----------
        X : array-like of shape (n_comparisons, 2)
            Names of items that the model knows.
        y : array-like of shape (n_comparisons,)
            Outcomes, as in ``fit``.
        sample_weight : array-like of shape (n_comparisons,), optional
            Number of times that each comparison counts.
        covariates : array-like of shape (n_comparisons, n_covariates), optional
            The columns of ``fit``; None: all 0.
        """
        first, second = self._know(X)
        outcome = Comparisons.from_pairs(X, y).outcome
        values = self._terms(first, second, covariates).value[outcome, np.arange(len(outcome))]
        weight = None if sample_weight is None else check_weight(sample_weight, len(values))
        return -float(np.average(values, weights=weight))

    @property
    def _has_tie(self) -> bool:
        return self.ties != "half" and self.effect_names_.tolist()[-1:] == [TIE_EFFECT]

    def _know(self, X: ArrayLike) -> tuple[Int64Array, Int64Array]:
        check_is_fitted(self)
        return code_known_items(X, self.items_)

    def _terms(self, first: Int64Array, second: Int64Array, covariates: Any) -> OutcomeTerms:
        """Terms of every outcome of new comparisons."""
        slopes = self.effects_[: len(self.effects_) - self._has_tie]
        eta = self.strengths_[first] - self.strengths_[second]
        if self.order_effect:
            eta, slopes = eta + slopes[0], slopes[1:]
        if covariates is not None:
            Z, _ = check_covariates(covariates, len(eta))
            if Z.shape[1] != len(slopes):
                raise ValueError(
                    f"covariates must have the {len(slopes)} columns of fit, got {Z.shape[1]}."
                )
            eta = eta + Z @ slopes
        model = OUTCOME_MODELS[self.ties if self._has_tie else "half"]
        return model(eta, float(self.effects_[-1]) if self._has_tie else 0.0)


def _collect(X: Any, y: Any, sample_weight: Any, covariates: Any, clusters: Any) -> Comparisons:
    """Comparisons of the arguments of ``fit``."""
    others: dict[str, Any] = {
        "sample_weight": sample_weight,
        "covariates": covariates,
        "clusters": clusters,
    }
    if isinstance(X, Comparisons):
        given = [name for name, value in (("y", y), *others.items()) if value is not None]
        if given:
            raise ValueError(
                f"X holds comparisons with all that belongs to them, got {', '.join(given)} as "
                "well. Pass these to Comparisons.from_pairs or read_comparisons."
            )
        return X.checked()
    if y is None:
        if not (is_frame(X) or isinstance(X, str) or hasattr(X, "__fspath__")):
            raise ValueError(
                "y must hold the outcome of every comparison, got None. Pass 1, 0.5 or 0, names "
                "of winners, or a frame with a column of winners as X."
            )
        return read_comparisons(
            X,
            covariates=() if covariates is None else covariates,
            clusters=() if clusters is None else clusters,
            sample_weight=sample_weight,
        )
    return Comparisons.from_pairs(X, y, **others)
