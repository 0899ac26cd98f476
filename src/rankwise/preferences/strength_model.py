"""Base of the estimators of strengths: results of a fit, rank intervals and leaderboards."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import NOT_NEGATIVE, POSITIVE, StrOptions, minimum
from rankwise.persistence import Save
from rankwise.preferences.sandwich import compute_cluster_middle, count_effective_clusters
from rankwise.preferences.simultaneous_ranks import SimultaneousRanks, rank_simultaneously
from rankwise.preferences.strength_newton import (
    StrengthLikelihood,
    StrengthSolution,
    minimize_strengths,
)
from rankwise.runtime.callers import callers_level
from rankwise.structure.rules import Names, Number, Rule, floats
from rankwise.typing import Float64Array, Int64Array

# With five items, the joint quantile at 95 % is 5.6 for five clusters and 7.5 for four.
FEW_CLUSTERS = 5
# Ratio of the joint quantile to that of many clusters which is warned of, and which is advised.
MUCH_WIDER, WIDER = 1.5, 1.25


class StrengthModel(Save, BaseEstimator):
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

    def rank_intervals(
        self,
        level: float = 0.95,
        *,
        random_state: int | np.random.Generator | None = 0,
    ) -> SimultaneousRanks:
        """Ranks of the items with intervals that hold jointly.

        Two items differ significantly if the absolute t statistic of their difference exceeds the
        quantile of the largest one of all pairs. The rank of an item lies between 1 + the number of
        significantly stronger items, and the number of items less those significantly weaker.

        The standard error of a difference is the larger one of ``covariance_`` and
        ``model_covariance_``: a sandwich of few comparisons, orders or clusters is too small.

        Parameters
        ----------
        level : float in (0, 1)
            Probability that all intervals hold.
        random_state : int, Generator or None
            Seed or generator for the 9,999 draws of the quantile.

        Returns
        -------
        SimultaneousRanks
            ``rank``, ``low`` and ``high`` in the order of ``items_``, and ``critical``.
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level}. Pass 0.95, say.")
        return rank_simultaneously(
            self.strengths_,
            self.covariance_,
            floor=None if self.covariance == "information" else self.model_covariance_,
            level=level,
            degrees_of_freedom=self.degrees_of_freedom_,
            random_state=random_state,
        )

    def leaderboard(
        self,
        level: float = 0.95,
        *,
        random_state: int | np.random.Generator | None = 0,
    ) -> dict[str, NDArray[Any]]:
        """Columns of a table with one row per item, the strongest first.

        Parameters
        ----------
        level : float in (0, 1)
            Joint level of the rank intervals.
        random_state : int, Generator or None
            Seed or generator of the rank intervals.

        Returns
        -------
        dict of ndarrays of shape (n_items,)
            "rank", "rank_low", "rank_high", "item", "strength", "standard_error" and
            "n_comparisons". Pass it to ``pandas.DataFrame``.
        """
        ranks = self.rank_intervals(level, random_state=random_state)
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
        return {name: column[order] for name, column in columns.items()}

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
        by_model = _model_covariance(solution, likelihood, self.alpha)
        # Attributes are set only now that nothing can raise, so a refused fit changes none.
        self._set_results(items, solution, covariance, by_model, effects)
        _, item, weight = occurrences
        self.n_comparisons_ = np.bincount(item, weight, len(items))
        self.degrees_of_freedom_ = degrees_of_freedom

    def _set_results(
        self,
        items: NDArray[np.str_],
        solution: StrengthSolution,
        covariance: Float64Array,
        by_model: Float64Array,
        effects: list[str],
    ) -> None:
        m = len(items)
        place = None if self.reference is None else items.tolist().index(self.reference)
        strengths = solution.theta[:m]
        self.items_ = items
        self.strengths_ = strengths - (0.0 if place is None else strengths[place])
        self.covariance_ = _refer_to(place, covariance[:m, :m])
        self.model_covariance_ = _refer_to(place, by_model[:m, :m])
        self.standard_errors_ = np.sqrt(np.maximum(self.covariance_.diagonal(), 0.0))
        self.effect_names_ = np.array(effects, dtype=str)
        self.effects_ = solution.theta[m:].copy()
        self.effect_errors_ = np.sqrt(np.maximum(covariance.diagonal()[m:], 0.0))
        self.log_likelihood_ = -solution.value
        self.n_iter_ = solution.n_iter


def _model_covariance(
    solution: StrengthSolution, likelihood: StrengthLikelihood, alpha: float
) -> Float64Array:
    """Covariance if the model is true, up to the dispersion of its gradients.

    With the inverse Hessian B, prior ``alpha P`` and dispersion d, it is the sandwich of the middle
    ``d B^-1 + (1 - d) alpha P``; B itself for d = 1.
    """
    d, B, m = likelihood.dispersion(solution.theta), solution.inverse, likelihood.n_items
    return B if d == 1.0 else d * B + (1.0 - d) * alpha * B[:, :m] @ B[:m]


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
