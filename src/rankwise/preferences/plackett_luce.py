"""Strengths of items from orders: Plackett-Luce, with ties.

Minimises ``-log L(s, delta) + alpha / 2 |s|^2``; L is the likelihood of the choices that make up
the orders, see :mod:`rankwise.preferences.choice_likelihood`.

Composition: merged sets of alternatives x multinomial logit x Newton steps.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rankwise.checks.parameter_constraints import StrOptions
from rankwise.datasets.table_columns import is_frame
from rankwise.preferences.choice_likelihood import ChoiceLikelihood
from rankwise.preferences.choice_sets import Choices
from rankwise.preferences.orders import Orders
from rankwise.preferences.read_orders import read_orders
from rankwise.preferences.strength_model import StrengthModel
from rankwise.preferences.win_graph import check_connected
from rankwise.runtime.callers import callers_level
from rankwise.typing import ArrayLike, Float64Array, Int64Array

# Strengths of tied items agree to this.
_SAME_STRENGTH = 1e-6


class PlackettLuce(StrengthModel):
    """Plackett-Luce model of orders of several items, with ties.

    Minimises ``-sum_n w_n log P(order_n) + alpha / 2 |s|^2`` over strengths s and parameters of
    ties. An order is a sequence of choices of the best among the items that are left [1]_, [2]_:
    item i is chosen with a probability proportional to ``exp(s_i)``, and k tied items with one
    proportional to ``delta_k exp(mean of their strengths)`` [3]_. ``w_n`` are the weights.

    Parameters
    ----------
    unlisted : {"absent", "last"}, default="absent"
        Items that an order lacks: they were no alternatives, or they come after all listed items,
        in unknown order, as in a list of the best three.
    alpha : float >= 0, default=0.0
        L2 penalty: adds ``alpha / 2 |s|^2`` for strengths with mean 0.
    covariance : {"sandwich", "information"}, default="sandwich"
        Standard errors that hold if the model is only an approximation or orders are dependent
        within clusters, or those from the inverse of the second derivatives.
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
        A difference of 1 means odds of e to come first.
    covariance_ : ndarray of shape (n_items, n_items), float64
        Joint covariance of the strengths.
    model_covariance_ : ndarray of shape (n_items, n_items), float64
        The same from the second derivatives, which rank intervals use as a floor: the standard
        error of a difference is the larger of the two.
    standard_errors_ : ndarray of shape (n_items,), float64
        Square roots of its diagonal. They depend on ``reference``; rank intervals do not.
    effect_names_ : ndarray of shape (n_effects,) of str
        "tie2" and so on, for the sizes of ties that occur.
    effects_, effect_errors_ : ndarray of shape (n_effects,), float64
        Logarithms of ``delta_k``, and their standard errors.
    n_comparisons_ : ndarray of shape (n_items,), float64
        Weight of the orders that list each item.
    log_likelihood_ : float
        Sum of ``w_n log P(order_n)``.
    degrees_of_freedom_ : float
        Effective number of clusters - 1, of the way with the fewest; infinite without clusters.
    n_iter_ : int
        Number of Newton steps.

    Warns
    -----
    UserWarning
        If only the penalty relates groups of items, or bounds items that are always first or
        last; if the penalty puts an item that no order
        lists behind another below an item that it beat; if clusters are so few, or so unequal, for
        so many items that rank intervals are wide.

    Notes
    -----
    Without a penalty, a path of wins must lead from every item to every other, as for
    :class:`rankwise.PairwisePreferences`, which is the same model for orders of two items.

    A tie is likelier among items of equal strength, and how likely ties are is not penalised.
    With a penalty and few orders, the maximum can therefore put items that are tied for the first
    position below the next one: from ``a = b > c > d > e`` alone, with ``alpha=1``, a and b have
    the strength 0.268 and c 0.304 (with ``alpha=0.1``, 1.543 and 0.760). Do not read the order of
    items with few orders: their rank intervals overlap.

    With two ways of clustering, the middle of the sandwich is repaired as in
    :class:`rankwise.PairwisePreferences`.

    Equal sets of alternatives are merged. A Newton step costs O(A k) for A numbers in second
    derivatives of distinct sets (the square of each set's size) and k sizes of ties, and
    O((m + k)^3) for m items.

    References
    ----------
    .. [1] Luce, "Individual choice behavior", 1959.
    .. [2] Plackett, "The analysis of permutations", Applied Statistics 24 (1975).
    .. [3] Turner, van Etten, Firth & Kosmidis, "Modelling rankings in R: the PlackettLuce package",
       Computational Statistics 35 (2020).

    Examples
    --------
    >>> from rankwise import PlackettLuce
    >>> orders = ["tea > coffee > milk", "coffee > milk > tea", "milk > tea", "tea > milk"]
    >>> model = PlackettLuce(reference="tea").fit(orders)
    >>> model.items_.tolist(), model.strengths_.round(2).tolist()
    (['coffee', 'milk', 'tea'], [1.1, -0.12, 0.0])
    """

    _advice = "Break some ties, or, for strengths, pass alpha > 0."
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StrengthModel._parameter_constraints,
        "unlisted": [StrOptions({"absent", "last"})],
    }

    def __init__(
        self,
        unlisted: Literal["absent", "last"] = "absent",
        *,
        alpha: float = 0.0,
        covariance: Literal["sandwich", "information"] = "sandwich",
        reference: str | None = None,
        tol: float = 1e-9,
        max_iter: int = 100,
    ) -> None:
        self.unlisted = unlisted
        self.alpha = alpha
        self.covariance = covariance
        self.reference = reference
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Estimate the strengths.

        Parameters
        ----------
        X : Orders, path, frame, or iterable of orders
            Orders; a file or a frame with one row per order and item, as for
            :func:`rankwise.preferences.read_orders`; or lists of items, the best first, see
            :meth:`rankwise.preferences.Orders.from_lists`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_orders,), optional
            Number of times that each order counts.
        clusters : array-like of shape (n_orders, n_ways), optional
            Annotator of each order.

        Returns
        -------
        PlackettLuce

        Raises
        ------
        ValueError
            If orders are wrong, the likelihood has no maximum, or ``reference`` is no item.
        """
        self._validate_params()
        orders = _collect(X, sample_weight, clusters)
        unlisted_last = self.unlisted == "last"
        wins = _find_wins(orders, unlisted_last=unlisted_last)
        check_connected(*wins, orders.items, penalised=self.alpha > 0)
        choices = Choices.of(orders, unlisted_last=unlisted_last)
        likelihood = ChoiceLikelihood(len(orders.items), choices)

        def middle(theta: Float64Array) -> Float64Array:
            # A weight counts as repetition: w equal gradients.
            scores = likelihood.scores(theta, np.sqrt(orders.weight))
            return (scores.T @ scores).toarray()

        self._estimate(
            orders.items,
            likelihood,
            [f"tie{size}" for size in choices.tie_sizes],
            lambda theta: likelihood.scores(theta, orders.weight),
            middle,
            orders.clusters,
            orders.cluster_names,
            (orders.order, orders.item, orders.weight[orders.order]),
        )
        if self.alpha > 0:
            _warn_of_unbeaten(orders, self.strengths_, self.alpha)
        return self


def _warn_of_unbeaten(orders: Orders, strengths: Float64Array, alpha: float) -> None:
    """Warn if an item that is never behind another has less strength than one that it beat."""
    is_first, order = orders.stage == 0, orders.order
    beaten = np.bincount(orders.item, ~is_first, len(orders.items)) > 0
    best_behind = np.full(len(orders), -np.inf)
    np.maximum.at(best_behind, order[~is_first], strengths[orders.item[~is_first]])
    least = strengths[orders.item] + _SAME_STRENGTH < best_behind[order]
    wrong = np.unique(orders.item[~beaten[orders.item] & least])
    if len(wrong):
        named = ", ".join(orders.items[wrong][:3].tolist()) + (", …" if len(wrong) > 3 else "")
        warnings.warn(
            f"alpha={alpha:g} puts {named} below items that no order lists before them: the "
            "penalised likelihood of few orders with ties has its maximum there. Lower alpha, or "
            "add orders.",
            UserWarning,
            stacklevel=callers_level(),
        )


def _collect(X: Any, sample_weight: Any, clusters: Any) -> Orders:
    """Orders of the arguments of ``fit``."""
    others = {"sample_weight": sample_weight, "clusters": clusters}
    if isinstance(X, Orders | str) or hasattr(X, "__fspath__") or is_frame(X):
        given = [name for name, value in others.items() if value is not None]
        if given:
            raise ValueError(
                f"X holds orders with all that belongs to them, got {', '.join(given)} as well. "
                "Pass these to Orders.from_lists or read_orders."
            )
        return X if isinstance(X, Orders) else read_orders(X)
    return Orders.from_lists(X, **others)


def _find_wins(orders: Orders, *, unlisted_last: bool) -> tuple[Int64Array, Int64Array]:
    """Winners and losers that connect the items as all pairs of the orders would.

    Each entry beats the next; tied ones beat one another.
    """
    inside = np.flatnonzero(np.diff(orders.order) == 0)
    before, after = orders.item[inside], orders.item[inside + 1]
    tied = orders.stage[inside] == orders.stage[inside + 1]
    winners = [before, after[tied]]
    losers = [after, before[tied]]
    if unlisted_last:
        m = len(orders.items)
        there = np.zeros((len(orders), m), dtype=bool)
        there[orders.order, orders.item] = True
        order, missing = np.nonzero(~there)
        winners.append(orders.item[orders.indptr[1:] - 1][order])
        losers.append(missing)
    return np.concatenate(winners), np.concatenate(losers)
