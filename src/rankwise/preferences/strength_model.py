"""Base of the estimators of strengths: sandwich covariance, joint rank intervals, leaderboards.

With the inverse Hessian B and the gradients g of the comparisons, the covariance is
``B (sum_c g_c g_c^T) B``, where ``g_c`` sums the gradients of cluster c [1]_. For several ways of
clustering, such as annotators and prompts, the middle is that of each way, less that of their
intersections, and so on [2]_. Clusters of unequal size determine a variance less well than as many
equal ones; their effective number [3]_ gives degrees of freedom.

Two items differ significantly if the absolute t statistic of their difference exceeds the quantile
of the largest one of all pairs. A covariance from little data may be far too small for some pairs;
a second one, a floor, then sets the least variance of each difference.

References
----------
.. [1] Liang & Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73
   (1986).
.. [2] Cameron, Gelbach & Miller, "Robust inference with multiway clustering", Journal of Business
   & Economic Statistics 29 (2011), equations 2.9 and 2.13.
.. [3] Carter, Schnepel & Steigerwald, "Asymptotic behavior of a t-test robust to cluster
   heterogeneity", Review of Economics and Statistics 99 (2017).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import NOT_NEGATIVE, POSITIVE, StrOptions, minimum
from rankwise.metrics.significance import rank_intervals
from rankwise.persistence import Save
from rankwise.preferences.strength_newton import (
    StrengthLikelihood,
    StrengthSolution,
    minimize_strengths,
)
from rankwise.runtime.constraints import ValidatedParameters, make_generator
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import callers_level, check_share
from rankwise.runtime.result import Result, ResultColumns
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.structure.state_rules import Names, Number, Rule, floats
from rankwise.typing import Float64Array, Int64Array, Seed

# With five items, the joint quantile at 95 % is 5.6 for five clusters and 7.5 for four.
FEW_CLUSTERS = 5
# Ratio of the joint quantile to that of many clusters which is warned of, and which is advised.
MUCH_WIDER, WIDER = 1.5, 1.25


class StrengthModel(ValidatedParameters, Save, BaseEstimator):
    """Base of estimators that give every item a strength, with a joint covariance."""

    _structure: ClassVar[dict[str, Rule]] = {
        "items_": Names("n_items"),
        "strengths_": floats("n_items"),
        "covariance_": floats("n_items", "n_items"),
        "model_covariance_": floats("n_items", "n_items"),
        "standard_errors_": floats("n_items"),
        "n_comparisons_": floats("n_items"),
        "effect_names_": Names("n_effects"),
        "effects_": floats("n_effects"),
        "effect_errors_": floats("n_effects"),
        "log_likelihood_": Number(),
        "n_iter_": Number("i", low=1),
        "degrees_of_freedom_": Number(finite=False, low=1),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [NOT_NEGATIVE],
        "covariance": [StrOptions({"sandwich", "information"})],
        "reference": [str, None],
        "tol": [POSITIVE],
        "max_iter": [minimum(1)],
    }
    _advice: ClassVar[str]  # what to do if the likelihood has no maximum
    alpha: float
    covariance: str
    reference: str | None
    tol: float
    max_iter: int
    n_comparisons_: Float64Array

    @names_its_class
    def rank_intervals(
        self,
        confidence_level: float = 0.95,
        *,
        random_state: Seed = 0,
    ) -> SimultaneousRanks:
        """Ranks of the items with intervals that hold jointly.

        Two items differ significantly if the absolute t statistic of their difference exceeds the
        quantile of the largest one of all pairs. The rank of an item lies between 1 + the number of
        significantly stronger items, and the number of items less those significantly weaker.

        The standard error of a difference is the larger one of ``covariance_`` and
        ``model_covariance_``: a sandwich of few comparisons, orders or clusters is too small.

        Parameters
        ----------
        confidence_level : float in (0, 1)
            Probability that all intervals hold.
        random_state : int, RandomState, Generator or None, default=0
            Seed or generator for the 9,999 draws of the quantile.

        Returns
        -------
        SimultaneousRanks
            ``rank``, ``low`` and ``high`` in the order of ``items_``, and ``critical``.
        """
        check_is_fitted(self)
        check_share("confidence_level", confidence_level, "Pass 0.95, say.")
        return rank_simultaneously(
            self.strengths_,
            self.covariance_,
            floor=None if self.covariance == "information" else self.model_covariance_,
            confidence_level=confidence_level,
            degrees_of_freedom=self.degrees_of_freedom_,
            random_state=random_state,
        )

    @names_its_class
    def leaderboard(
        self,
        confidence_level: float = 0.95,
        *,
        random_state: Seed = 0,
    ) -> ResultColumns:
        """Columns of a table with one row per item, the strongest first.

        Parameters
        ----------
        confidence_level : float in (0, 1)
            Joint level of the rank intervals.
        random_state : int, RandomState, Generator or None, default=0
            Seed or generator of the rank intervals.

        Returns
        -------
        dict of ndarrays of shape (n_items,), with the methods of a result
            "rank", "rank_low", "rank_high", "item", "strength", "standard_error" and
            "n_comparisons".
        """
        ranks = self.rank_intervals(confidence_level, random_state=random_state)
        order = np.lexsort((self.items_, ranks.rank))
        columns = {
            "rank": ranks.rank,
            "rank_low": ranks.low,
            "rank_high": ranks.high,
            "item": self.items_,
            "strength": self.strengths_,
            "standard_error": self.standard_errors_,
            "n_comparisons": self.n_comparisons_,
        }
        return ResultColumns((name, column[order]) for name, column in columns.items())

    def _estimate(
        self,
        items: NDArray[np.str_],
        likelihood: StrengthLikelihood,
        effects: list[str],
        scores: Callable[[Float64Array], Any],
        middle: Callable[[Float64Array], Float64Array],
        clusters: Int64Array,
        cluster_names: tuple[str, ...],
        occurrences: tuple[Int64Array, Int64Array, Float64Array],
    ) -> None:
        """Fit, and set the attributes.

        ``effects`` names the parameters after the strengths. At given parameters, ``scores`` is the
        gradient of each comparison, for clusters, and ``middle`` the sum of the outer products of
        the gradients, without clusters. ``clusters`` is (n_comparisons, n_ways). ``occurrences``
        are comparison, item and weight of each occurrence of an item in a comparison.
        """
        if self.reference is not None and self.reference not in items.tolist():
            raise ValueError(
                f"reference must be an item, got {self.reference!r}. Items: "
                f"{', '.join(items[:12].tolist())}{', ...' if len(items) > 12 else ''}."
            )
        options = {"alpha": self.alpha, "tol": self.tol, "max_iter": self.max_iter}
        solution = minimize_strengths(likelihood, **options)
        names = [*(f"strength of {item}" for item in items), *effects]
        _check_solution(solution, names, self._advice)
        covariance = solution.inverse
        degrees_of_freedom = math.inf
        if self.covariance == "sandwich":
            if clusters.shape[1]:
                n_clusters, way = count_effective_clusters(clusters, *occurrences)
                _warn_of_few(n_clusters, cluster_names[way], len(items))
                degrees_of_freedom = max(n_clusters - 1.0, 1.0)
                inner = compute_cluster_middle(scores(solution.theta), clusters)
            else:
                inner = middle(solution.theta)
            # The bias by the penalty, squared, if strengths are normal with variance 1 / alpha.
            # An item that won all its games would otherwise have hardly any error.
            places = np.arange(len(items))
            inner[places, places] += self.alpha
            covariance = solution.inverse @ inner @ solution.inverse
        # If the model is true, up to the dispersion d of its gradients, and the prior is alpha P,
        # the covariance is the sandwich of the middle d B^-1 + (1 - d) alpha P; B itself for d = 1.
        d, B, m = likelihood.dispersion(solution.theta), solution.inverse, len(items)
        by_model = B if d == 1.0 else d * B + (1.0 - d) * self.alpha * B[:, :m] @ B[:m]
        # Attributes are set only now that nothing can raise, so a refused fit changes none.
        place = None if self.reference is None else items.tolist().index(self.reference)
        strengths = solution.theta[:m]
        self.items_ = items
        self.strengths_: Float64Array = strengths - (0.0 if place is None else strengths[place])
        self.covariance_: Float64Array = _refer_to(place, covariance[:m, :m])
        self.model_covariance_: Float64Array = _refer_to(place, by_model[:m, :m])
        self.standard_errors_: Float64Array = np.sqrt(np.maximum(self.covariance_.diagonal(), 0.0))
        self.effect_names_: NDArray[Any] = np.array(effects, dtype=str)
        self.effects_: Float64Array = solution.theta[m:].copy()
        self.effect_errors_: Float64Array = np.sqrt(np.maximum(covariance.diagonal()[m:], 0.0))
        self.log_likelihood_: float = -solution.value
        self.n_iter_: int = solution.n_iter
        _, item, weight = occurrences
        self.n_comparisons_ = np.bincount(item, weight, m)
        self.degrees_of_freedom_ = degrees_of_freedom


def _refer_to(place: int | None, joint: Float64Array) -> Float64Array:
    """Covariance of strengths minus that of the reference."""
    if place is not None:
        joint = joint - joint[place] - joint[:, [place]] + joint[place, place]
    return 0.5 * (joint + joint.T)


def _warn_of_few(n_clusters: float, name: str, n_items: int) -> None:
    """Warn if clusters say little about their own variance, and say how many would do."""
    tail = 0.025 / max(n_items * (n_items - 1) // 2, 1)  # of one pair, at the joint level .95
    critical, enough = stats.t.isf(tail, max(n_clusters - 1.0, 1.0)), stats.norm.isf(tail)
    if n_clusters >= FEW_CLUSTERS and critical <= MUCH_WIDER * enough:
        return
    needed = FEW_CLUSTERS
    while stats.t.isf(tail, needed - 1) > WIDER * enough:
        needed += 1
    warnings.warn(
        f"clusters {name!r} count as {n_clusters:.1f} equal ones, too few for {n_items} items: "
        f"two items differ significantly from {critical:.1f} standard errors on ({enough:.1f} with "
        f"many clusters), so rank intervals are wide. About {needed} would do. If the levels of "
        f"{name!r} are not a sample, but all there are, leave it out of clusters.",
        UserWarning,
        stacklevel=callers_level(),
    )


def _check_solution(solution: StrengthSolution, names: list[str], advice: str) -> None:
    """Raise ValueError unless Newton steps converged to a minimum."""
    if solution.status == "converged" and np.isfinite(solution.inverse).all():
        return
    sizes = np.abs(solution.last_step)
    growing = [names[j] for j in np.argsort(-sizes)[:3] if sizes[j] >= 0.5 * sizes.max()]
    if solution.status == "max_iter" and sizes.max() < 0.1:
        raise ValueError(
            f"Newton steps did not converge in {solution.n_iter} steps (last step "
            f"{sizes.max():.1e}). Raise max_iter or tol."
        )
    raise ValueError(
        "the likelihood has no maximum, or not a single one: some outcomes are perfectly "
        "predicted, or effects cannot be told apart. Estimates that kept changing: "
        f"{', '.join(growing)}. {advice}"
    )


N_DRAWS = 9999


class _Ranks(NamedTuple):
    rank: Int64Array
    low: Int64Array
    high: Int64Array
    critical: float


class SimultaneousRanks(Result, _Ranks):
    """Ranks with joint intervals.

    Attributes
    ----------
    rank : ndarray of shape (n_items,), int64
        1 + the number of larger estimates.
    low, high : ndarray of shape (n_items,), int64
        Ends of the intervals.
    critical : float
        \\|t\\| beyond which a difference is significant. Differences plus or minus ``critical``
        standard errors are joint intervals; with a floor, the larger standard errors.
    """


@names_its_class
def rank_simultaneously(
    estimates: Float64Array,
    covariance: Float64Array,
    *,
    floor: Float64Array | None = None,
    confidence_level: float = 0.95,
    degrees_of_freedom: float = math.inf,
    n_draws: int = N_DRAWS,
    random_state: Seed = 0,
) -> SimultaneousRanks:
    """Rank estimates, largest first, with simultaneous intervals.

    Parameters
    ----------
    estimates : ndarray of shape (n_items,)
    covariance : ndarray of shape (n_items, n_items)
        Only variances of differences matter.
    floor : ndarray of shape (n_items, n_items), optional
        Another covariance. Each difference has the larger of its two variances, and the quantile is
        the larger of the two.
    confidence_level : float in (0, 1)
        Probability that all intervals hold.
    degrees_of_freedom : float > 0
        Of the estimated variance of each difference; infinite: variances are known.
    n_draws : int >= 1
        Number of draws for the quantile, with infinite degrees of freedom.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator for the draws.

    Notes
    -----
    O(n_draws · n_items²). The method of max-t [1]_; ranks from pairwise tests as in [2]_. With
    finite degrees of freedom, each difference has an estimated variance of its own, and some are
    far too small by chance. A multivariate t distribution, with one estimate for all, then gives
    too small a quantile: with 10 items and 5 clusters, 18 % of samples would have a false claim.
    The quantile is that of Student's t with Bonferroni's correction instead, which holds whatever
    the dependence.

    .. [1] Hothorn, Bretz & Westfall, "Simultaneous inference in general parametric models",
       Biometrical Journal 50 (2008).
    .. [2] Mogstad, Romano, Shaikh & Wilhelm, "Inference for ranks with applications to mobility
       across neighbourhoods and academic achievement across countries", Review of Economic Studies
       91 (2024).
    """
    covariances = [covariance] if floor is None else [covariance, floor]
    errors = []  # standard errors of all differences
    for each in covariances:
        variances = each.diagonal()[:, None] + each.diagonal() - 2.0 * each
        errors.append(np.sqrt(np.maximum(variances, 0.0)))
    n_pairs = max(len(estimates) * (len(estimates) - 1) // 2, 1)
    if math.isfinite(degrees_of_freedom):
        critical = float(stats.t.isf((1.0 - confidence_level) / (2 * n_pairs), degrees_of_freedom))
    else:
        critical = max(
            _find_quantile(
                _draw_maxima(each, _invert(error), n_draws, random_state), confidence_level
            )
            for each, error in zip(covariances, errors, strict=True)
        )
    differences = estimates[:, None] - estimates
    better = differences * _invert(np.max(errors, axis=0)) > critical  # row better than column
    low, high = rank_intervals(better)
    return SimultaneousRanks(1 + (differences < 0).sum(axis=1), low, high, critical)


def _invert(errors: Float64Array) -> Float64Array:
    """Reciprocals; 0, so that nothing is significant, for a difference without variance."""
    with np.errstate(divide="ignore"):
        return np.where(errors > 0, 1.0 / errors, 0.0)


def _find_quantile(maxima: Float64Array, confidence_level: float) -> float:
    """Quantile among exchangeable draws, of which the data are one."""
    n_draws = len(maxima)
    allowed = max(math.ceil(round(confidence_level * (n_draws + 1), 6)), 1)
    return float(np.sort(maxima)[allowed - 1]) if allowed <= n_draws else math.inf


def _draw_maxima(
    covariance: Float64Array,
    precision: Float64Array,
    n_draws: int,
    random_state: Seed,
) -> Float64Array:
    """Largest absolute t of a pair in draws of estimates that differ by chance alone."""
    rng = make_generator(random_state)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = root @ rng.standard_normal((len(root), n_draws))
    maxima = np.zeros(n_draws)
    for item in range(len(draws) - 1):
        t = draws[item + 1 :] - draws[item]
        t *= precision[item + 1 :, item, None]
        np.maximum(maxima, np.abs(t, out=t).max(axis=0), out=maxima)
    return maxima


_DENSE_ROWS = 4096


def compute_cluster_middle(scores: Any, clusters: Int64Array) -> Float64Array:
    """Sum of the outer products of the gradients of clusters.

    ``scores`` is CSR of shape (n_comparisons, n_parameters): the gradient of each comparison.
    ``clusters`` is (n_comparisons, n_ways), with at least one way of clustering.

    The sum is multiplied by G / (G - 1) for G clusters. It is positive semidefinite: negative
    eigenvalues, which several ways can give, are set to 0.
    """
    n_ways = clusters.shape[1]
    total = np.zeros((scores.shape[1],) * 2)
    for size in range(1, n_ways + 1):
        for ways in combinations(range(n_ways), size):
            sign = 1.0 if size % 2 else -1.0
            total += sign * _one_way(scores, merge_codes(clusters[:, list(ways)]))
    if n_ways == 1:
        return total
    values, vectors = np.linalg.eigh(total)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def count_effective_clusters(
    clusters: Int64Array, row: Int64Array, item: Int64Array, weight: Float64Array
) -> tuple[float, int]:
    """Number of equal clusters that would determine variances as well, in the worst way; that way.

    If comparisons of a cluster move together, the variance of an item's strength is estimated by a
    sum of squares proportional to ``n_c^2``, for the item's ``n_c`` comparisons in cluster c. It is
    known as well as from ``(sum n_c^2)^2 / sum n_c^4`` equal clusters. The result is the mean over
    items.

    ``clusters`` is (n_comparisons, n_ways). ``row``, ``item`` and ``weight`` describe each
    occurrence of an item in a comparison. It is an error if one way has a single cluster.
    """
    fewest, worst = np.inf, 0
    for way, column in enumerate(clusters.T):
        cluster = np.unique(column, return_inverse=True)[1]
        n_clusters = int(cluster.max()) + 1
        if n_clusters < 2:
            raise ValueError(
                "clusters must have at least two distinct ids, got one. Pass more annotators or "
                "prompts, or no clusters."
            )
        sizes: Any = sparse.coo_array((weight, (cluster[row], item))).tocsc()
        squares = sizes.power(2).sum(axis=0)
        found = float(np.mean(squares**2 / sizes.power(4).sum(axis=0)))
        if found < fewest:
            fewest, worst = found, way
    return fewest, worst


def merge_codes(columns: Int64Array) -> Int64Array:
    """One code from 0 for each distinct row."""
    code = columns[:, 0]
    for column in columns.T[1:]:
        code = code * (int(column.max(initial=0)) + 1) + column
        code = np.unique(code, return_inverse=True)[1]  # keeps the products small
    return np.unique(code, return_inverse=True)[1]


def _one_way(scores: Any, cluster: Int64Array) -> Float64Array:
    n_clusters = int(cluster.max()) + 1
    n = len(cluster)
    members: Any = sparse.csr_array((np.ones(n), (cluster, np.arange(n))), shape=(n_clusters, n))
    sums = (members @ scores).tocsr()
    per_row = np.diff(sums.indptr).astype(np.float64)
    # A dense product does a hundred times as many operations in the time of a sparse one.
    if float(per_row @ per_row) * 100.0 < n_clusters * sums.shape[1] ** 2:
        middle = (sums.T @ sums).toarray()
    else:
        middle = np.zeros((sums.shape[1],) * 2)
        for start in range(0, n_clusters, _DENSE_ROWS):
            part = sums[start : start + _DENSE_ROWS].toarray()
            middle += part.T @ part
    return middle * (n_clusters / (n_clusters - 1.0))
