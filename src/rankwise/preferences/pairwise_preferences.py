"""Strengths of items from paired comparisons: Bradley-Terry, with ties, order and covariates.

Composition: distinct comparisons x outcome model x Newton steps. The advantage of the first item is
``eta = s_first - s_second + z . b``. Parameters are, in this order, the strengths s, the effects b
of the columns Z, and the parameter t of ties if the model has one. Equal comparisons are merged, so
a Newton step costs O(R + m^2) for R distinct comparisons of m items.

Models of the outcomes, whose negative log-probabilities are convex in (eta, t):

- Bradley-Terry [1]_: ``P(first) = 1 / (1 + exp(-eta))``. A tie counts as half a win of each.
- Davidson [2]_: first, tie and second have probabilities proportional to ``exp(eta / 2)``,
  ``exp(t)`` and ``exp(-eta / 2)``.
- Rao-Kupper [3]_: ``P(first) = F(eta - t)`` and ``P(second) = F(-eta - t)`` with t > 0 and the
  logistic function F; the rest is the probability of a tie.

References
----------
.. [1] Bradley & Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952).
.. [2] Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison
   experiments", JASA 65 (1970), equation 2.4.
.. [3] Rao & Kupper, "Ties in paired-comparison experiments: a generalization of the Bradley-Terry
   model", JASA 62 (1967).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import StrOptions
from rankwise.checks.rows import check_weight
from rankwise.datasets.table_columns import is_frame
from rankwise.preferences.preference_data import (
    FIRST,
    SECOND,
    TIE,
    Comparisons,
    check_covariates,
    code_items,
    split_pairs,
)
from rankwise.preferences.preference_files import read_comparisons
from rankwise.preferences.strength_model import StrengthModel
from rankwise.preferences.strength_newton import check_connected, check_tie_effect
from rankwise.runtime.finite import names_its_class
from rankwise.typing import ArrayLike, Float64Array, Int64Array

ORDER_EFFECT, TIE_EFFECT = "order", "tie"


class OutcomeTerms(NamedTuple):
    """Negative log-probabilities of first, tie and second, and their derivatives by eta and t.

    All arrays have shape (3, n).
    """

    value: Float64Array
    by_eta: Float64Array
    by_tie: Float64Array
    eta_eta: Float64Array
    eta_tie: Float64Array
    tie_tie: Float64Array


# Where Newton steps begin: ties are as likely as wins, or have probability 1/3 between equals.
TIE_STARTS = {"half": 0.0, "davidson": 0.0, "rao_kupper": float(np.log(2.0))}


def compute_bradley_terry(eta: Float64Array, tie: float) -> OutcomeTerms:
    """Terms of Bradley-Terry; ``tie`` has no effect."""
    wins, lower, curvature = _logistic_terms(eta)
    losses, upper, _ = _logistic_terms(-eta)
    value = np.stack([wins, 0.5 * (wins + losses), losses])
    by_eta = np.stack([-lower, 0.5 * (upper - lower), upper])
    zero = np.broadcast_to(0.0, value.shape)
    return OutcomeTerms(value, by_eta, zero, np.broadcast_to(curvature, value.shape), zero, zero)


def compute_davidson(eta: Float64Array, tie: float) -> OutcomeTerms:
    """Terms of Davidson's model; ``tie`` is the logarithm of his nu."""
    half = 0.5 * eta
    powers = np.stack([half, np.full_like(half, tie), -half])
    largest = np.maximum(np.abs(half), tie)
    p = np.exp(powers - largest)
    total = p.sum(axis=0)
    p /= total
    value = (largest + np.log(total)) - powers
    lead, decided = p[FIRST] - p[SECOND], p[FIRST] + p[SECOND]
    by_eta = 0.5 * (lead - np.array([[1.0], [0.0], [-1.0]]))
    by_tie = p[TIE] - np.array([[0.0], [1.0], [0.0]])
    second = (0.25 * (decided - lead**2), -0.5 * lead * p[TIE], p[TIE] * decided)
    # A multinomial logit: second derivatives do not depend on the outcome.
    return OutcomeTerms(value, by_eta, by_tie, *(np.broadcast_to(h, p.shape) for h in second))


def compute_rao_kupper(eta: Float64Array, tie: float) -> OutcomeTerms:
    """Terms of Rao and Kupper's model; ``tie`` > 0 is the logarithm of their theta."""
    # F(t - eta) - F(-t - eta) = F(t - eta) F(t + eta) (1 - exp(-2 t)), without cancellation.
    win, win_lower, win_curve = _logistic_terms(eta - tie)
    loss, loss_lower, loss_curve = _logistic_terms(-eta - tie)
    below, below_lower, below_curve = _logistic_terms(tie - eta)
    above, above_lower, above_curve = _logistic_terms(tie + eta)
    growth = np.expm1(2.0 * tie)
    between = below_curve + above_curve
    by_tie = -below_lower - above_lower - 2.0 / growth
    return OutcomeTerms(
        np.stack([win, below + above - np.log(-np.expm1(-2.0 * tie)), loss]),
        np.stack([-win_lower, below_lower - above_lower, loss_lower]),
        np.stack([win_lower, by_tie, loss_lower]),
        np.stack([win_curve, between, loss_curve]),
        np.stack([-win_curve, above_curve - below_curve, loss_curve]),
        np.stack([win_curve, between + 4.0 * (growth + 1.0) / growth**2, loss_curve]),
    )


def _logistic_terms(z: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """``-log F(z)``, ``F(-z)`` and ``F(z) F(-z)``."""
    small = np.exp(-np.abs(z))
    scale = 1.0 / (1.0 + small)
    lower = np.where(z > 0, small, 1.0) * scale
    return np.log1p(small) + np.maximum(-z, 0.0), lower, small * scale**2


OUTCOME_MODELS: dict[str, Callable[[Float64Array, float], OutcomeTerms]] = {
    "half": compute_bradley_terry,
    "davidson": compute_davidson,
    "rao_kupper": compute_rao_kupper,
}


class PairwisePreferences(StrengthModel):
    """Bradley-Terry model of paired comparisons, with ties, an order effect and covariates.

    Minimises ``-sum_n w_n log P(outcome_n) + alpha / 2 |s|^2`` over strengths s and effects, where
    the probability of an outcome depends on the advantage of the first item,
    ``eta = s_first - s_second + order + z . b``, with covariates z of the comparison, and ``w_n``
    are the weights. Effects are not penalised.

    Parameters
    ----------
    ties : {"davidson", "rao_kupper", "half"}, default="davidson"
        Model of ties [2]_, [3]_; "half" counts a tie as half a win of each item. Without ties in
        the data all three are the Bradley-Terry model [1]_,
        ``P(first wins) = 1 / (1 + exp(-eta))``.
    order_effect : bool, default=False
        Whether the first item of a comparison (the home team, the answer shown first) has an
        advantage, which is estimated.
    alpha : float >= 0, default=0.0
        Penalty added to the SUM of the losses: ``alpha / 2 |s|^2`` for strengths with mean 0.
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

    Equal comparisons are merged, unless there are covariates. A Newton step costs O(R q^2 + m^2 q +
    (m + q)^3) for R distinct comparisons of m items and q effects, and O(R q + (m + q)^2) memory;
    clusters add one sparse product. Comparisons of weight 0 are left out, with items that occur in
    no other. A weight counts as repetition.

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
    >>> from rankwise.preferences import PairwisePreferences
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

    @names_its_class
    def __init__(
        self,
        ties: Literal["davidson", "rao_kupper", "half"] = "davidson",
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
            If comparisons are wrong, the likelihood has no maximum, or ``reference`` is unknown.
        """
        self._validate_params()
        games = _collect(
            X, y, sample_weight=sample_weight, covariates=covariates, clusters=clusters
        )
        check_connected(*games.wins(), games.items, penalised=self.alpha > 0)
        has_tie = self.ties != "half" and bool((games.outcome == TIE).any())
        if has_tie and self.alpha == 0:
            check_tie_effect(*games._decisions(), len(games.items))
        first, second, Z, counts, row, outcome = _merge_equal(games, self.order_effect)
        likelihood = PairLikelihood(len(games.items), first, second, Z, counts, self.ties, has_tie)
        effects = [ORDER_EFFECT] if self.order_effect else []
        effects += [*games.covariate_names, *([TIE_EFFECT] if has_tie else [])]
        self._estimate(
            games.items,
            likelihood,
            effects,
            lambda theta: likelihood.scores(theta, row, outcome, games.weight),
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
        """Places of the items of each pair."""
        check_is_fitted(self)
        first, second, names = code_items(split_pairs(X), "items")
        known = {name: place for place, name in enumerate(self.items_.tolist())}
        missing = [name for name in names.tolist() if name not in known]
        if missing:
            raise ValueError(
                f"X must name items of the fit, got {missing[0]!r}. Known: "
                f"{', '.join(self.items_[:12].tolist())}{', ...' if len(known) > 12 else ''}."
            )
        places = np.array([known[name] for name in names.tolist()], dtype=np.int64)
        return places[first], places[second]

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


def _collect(X: Any, y: Any, **others: Any) -> Comparisons:
    """Comparisons of the arguments of ``fit``."""
    if isinstance(X, Comparisons):
        given = [name for name, value in (("y", y), *others.items()) if value is not None]
        if given:
            raise ValueError(
                f"X holds comparisons with all that belongs to them, got {', '.join(given)} as "
                "well. Pass these to Comparisons.from_pairs or read_comparisons."
            )
        return X._checked()
    if y is None:
        if not (is_frame(X) or isinstance(X, str) or hasattr(X, "__fspath__")):
            raise ValueError(
                "y must hold the outcome of every comparison, got None. Pass 1, 0.5 or 0, names "
                "of winners, or a frame with a column of winners as X."
            )
        return read_comparisons(X, **{k: v for k, v in others.items() if v is not None})
    return Comparisons.from_pairs(X, y, **others)


@dataclass(frozen=True, eq=False)
class PairLikelihood:
    """Negative log-likelihood of aggregated comparisons.

    Without ties in the data, the parameter of ties has no estimate (``has_tie`` is false), and
    every model is that of Bradley and Terry.
    """

    n_items: int
    first: Int64Array  # first and second: items of each distinct comparison (row)
    second: Int64Array
    Z: Float64Array  # (n_rows, n_effects): columns of order and covariates
    # (3, n_rows): weight of wins of the first item, of ties and of wins of the second
    counts: Float64Array
    model: str  # key of ``OUTCOME_MODELS``
    has_tie: bool  # whether the parameter of ties is estimated

    @property
    def n_parameters(self) -> int:
        """Number of strengths, effects and parameters of ties."""
        return self.n_items + self.Z.shape[1] + self.has_tie

    def start(self) -> Float64Array:
        """Parameters to begin with: all items are equal."""
        theta = np.zeros(self.n_parameters)
        if self.has_tie:
            theta[-1] = TIE_STARTS[self.model]
        return theta

    def largest_advantage(self, theta: Float64Array) -> float:
        """Largest absolute advantage in a comparison, or parameter of ties."""
        tie = abs(float(theta[-1])) if self.has_tie else 0.0
        return float(np.abs(self._eta(theta)).max(initial=tie))

    def value(self, theta: Float64Array) -> float:
        """Negative log-likelihood; infinite outside the domain."""
        if self.has_tie and self.model == "rao_kupper" and theta[-1] <= 0.0:
            return np.inf
        return float(np.einsum("ij,ij->", self.counts, self.terms(theta).value))

    def derivatives(self, theta: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Gradient and Hessian, of shapes (n_parameters,) and (n_parameters, n_parameters)."""
        terms = self.terms(theta)
        by_eta, by_tie, eta_eta, eta_tie, tie_tie = (
            np.einsum("ij,ij->j", self.counts, term) for term in terms[1:]
        )
        m, q = self.n_items, self.Z.shape[1]
        gradient, hessian = np.empty(self.n_parameters), np.zeros((self.n_parameters,) * 2)
        gradient[:m] = self._sum_by_item(by_eta)
        gradient[m : m + q] = self.Z.T @ by_eta
        across = np.bincount(self.first * m + self.second, eta_eta, m * m).reshape(m, m)
        across += across.T
        hessian[:m, :m] = np.diag(across.sum(axis=1)) - across
        for column in range(q):
            hessian[:m, m + column] = self._sum_by_item(eta_eta * self.Z[:, column])
        hessian[m : m + q, m : m + q] = self.Z.T @ (eta_eta[:, None] * self.Z)
        if self.has_tie:
            gradient[-1], hessian[-1, -1] = by_tie.sum(), tie_tie.sum()
            hessian[:m, -1] = self._sum_by_item(eta_tie)
            hessian[m : m + q, -1] = self.Z.T @ eta_tie
        # The blocks above fill the upper triangle; that of the strengths is symmetric.
        return gradient, np.triu(hessian) + np.triu(hessian, 1).T

    def terms(self, theta: Float64Array) -> OutcomeTerms:
        """Terms of every outcome of every distinct comparison."""
        model = OUTCOME_MODELS[self.model if self.has_tie else "half"]
        return model(self._eta(theta), float(theta[-1]) if self.has_tie else 0.0)

    def scores(
        self, theta: Float64Array, row: Int64Array, outcome: Int64Array, weight: Float64Array
    ) -> Any:
        """Gradient of each original comparison, CSR of shape (n_comparisons, n_parameters).

        ``row`` is the distinct comparison of each original one.
        """
        terms = self.terms(theta)
        by_eta = weight * terms.by_eta[outcome, row]
        n, m = len(row), self.n_items
        columns = [self.first[row], self.second[row]]
        values = [by_eta, -by_eta]
        for column in range(self.Z.shape[1]):
            columns.append(np.full(n, m + column))
            values.append(by_eta * self.Z[row, column])
        if self.has_tie:
            columns.append(np.full(n, self.n_parameters - 1))
            values.append(weight * terms.by_tie[outcome, row])
        per_row = len(columns)
        return sparse.csr_array(
            (
                np.stack(values, axis=1).ravel(),
                np.stack(columns, axis=1).ravel(),
                np.arange(n + 1) * per_row,
            ),
            shape=(n, self.n_parameters),
        )

    def middle(self, theta: Float64Array) -> Float64Array:
        """Sum of the outer products of the gradients of all comparisons."""
        outcomes, rows = np.nonzero(self.counts)
        scores = self.scores(theta, rows, outcomes, np.sqrt(self.counts[outcomes, rows]))
        return (scores.T @ scores).toarray()

    def dispersion(self, theta: Float64Array) -> float:
        """Variance of the gradients by the advantage, as a share of the second derivatives.

        1 for a likelihood. Half a win is none: its gradient varies less.
        """
        n = float(self.counts.sum()) - (self.n_parameters - 1)
        if self.model != "half" or not self.counts[TIE].any() or n <= 0:
            return 1.0
        terms = self.terms(theta)
        squares = float(np.einsum("ij,ij->", self.counts, terms.by_eta**2))
        curvature = float(np.einsum("ij,ij->", self.counts, terms.eta_eta))
        # Fitted parameters take up part of the squares.
        return min(squares / curvature * (n + self.n_parameters - 1) / n, 1.0)

    def _eta(self, theta: Float64Array) -> Float64Array:
        m, q = self.n_items, self.Z.shape[1]
        eta = theta[self.first] - theta[self.second]
        return eta + self.Z @ theta[m : m + q] if q else eta

    def _sum_by_item(self, values: Float64Array) -> Float64Array:
        m = self.n_items
        return np.bincount(self.first, values, m) - np.bincount(self.second, values, m)


def _merge_equal(
    games: Comparisons, order_effect: bool
) -> tuple[Int64Array, Int64Array, Float64Array, Float64Array, Int64Array, Int64Array]:
    """Distinct comparisons: the first four fields of :class:`PairLikelihood` after ``n_items``.

    Then the distinct comparison of each original one, and its outcome there: items are exchanged if
    the order does not matter. Comparisons with covariates are not merged. Z has a column of ones if
    there is an order effect, then the covariates.
    """
    n, m = len(games), len(games.items)
    first, second, outcome = games.first, games.second, games.outcome
    if games.covariates.shape[1]:
        Z = games.covariates
        if order_effect:
            Z = np.column_stack([np.ones(n), Z])
        counts = np.zeros((3, n))
        counts[outcome, np.arange(n)] = games.weight
        return first, second, Z, counts, np.arange(n), outcome
    if not order_effect:
        outcome = np.where(first > second, SECOND - outcome, outcome)
        first, second = np.minimum(first, second), np.maximum(first, second)
    pair, row = _number_pairs(first * m + second, m)
    counts = np.bincount(outcome * len(pair) + row, games.weight, 3 * len(pair)).reshape(3, -1)
    Z = np.ones((len(pair), int(order_effect)))
    return pair // m, pair % m, Z, counts, row, outcome


def _number_pairs(code: Int64Array, m: int) -> tuple[Int64Array, Int64Array]:
    """Distinct codes below m^2, and the place of each code among them."""
    if m * m > 4 * len(code) + 1000:
        pair, row = np.unique(code, return_inverse=True)
        return pair, row
    # Counting is ten times as fast as sorting, where there is room for all pairs.
    there = np.bincount(code, minlength=m * m) > 0
    pair = np.flatnonzero(there)
    return pair, (np.cumsum(there) - 1)[code]
