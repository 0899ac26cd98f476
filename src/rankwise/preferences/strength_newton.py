"""Newton steps for strengths that are known up to a common constant.

Minimises ``L(theta) + alpha / 2 |s|^2``, where the strengths s are the first entries of theta and
L does not change if a constant is added to all of them. The result has mean strength 0. A step
costs O(P^3) for P parameters, besides the derivatives.

L has a minimum only if a path of wins leads from each item to each other; otherwise some items can
be made stronger than all others without making any outcome less likely.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import (
    NegativeCycleError,
    bellman_ford,
    connected_components,
    csgraph_from_dense,
)

from rankwise.runtime.messages import callers_level
from rankwise.typing import Float64Array, Int64Array

# Largest advantage (log-odds) in a comparison: beyond, the estimates only grow, until probabilities
# are rounded to 1 (at 37). A loss in 10^13 comparisons is in no data.
MOST_LOG_ODDS = 30.0
_FIRST_STEPS = 10
_MOST_HALVINGS = 50
_SUFFICIENT_DECREASE = 1e-4
_ROUNDING = 1e-12
_SMALLEST_PIVOT = 1e-12


class StrengthLikelihood(Protocol):
    """Negative log-likelihood that is convex, and constant if all strengths grow alike."""

    @property
    def n_items(self) -> int: ...
    @property
    def n_parameters(self) -> int: ...
    def start(self) -> Float64Array: ...
    def value(self, theta: Float64Array) -> float: ...
    def derivatives(self, theta: Float64Array) -> tuple[Float64Array, Float64Array]: ...
    def largest_advantage(self, theta: Float64Array) -> float: ...
    def dispersion(self, theta: Float64Array) -> float: ...


class StrengthSolution(NamedTuple):
    """Result of :func:`minimize_strengths`."""

    theta: Float64Array
    inverse: Float64Array  # of the Hessian among parameters whose strengths have mean 0
    value: float  # negative log-likelihood, without the penalty
    n_iter: int
    last_step: Float64Array  # (n_parameters,); large where estimates grow without bound
    status: str  # "converged", "unbounded" or "max_iter"


def minimize_strengths(
    likelihood: StrengthLikelihood, *, alpha: float, tol: float, max_iter: int
) -> StrengthSolution:
    """Minimise a negative log-likelihood plus ``alpha / 2`` times the squared norm of strengths.

    Steps end when no parameter changes by more than ``tol``.
    """
    theta = likelihood.start()
    step, status = np.zeros_like(theta), "max_iter"
    n_iter = 0
    value = _penalise(likelihood, theta, alpha)
    for n_iter in range(1, max_iter + 1):
        gradient, hessian, factor = _newton_system(likelihood, theta, alpha)
        if factor is None:
            step, status = hessian[0], "unbounded"
            if np.isfinite(hessian).all():  # the flattest direction, for messages
                step = np.linalg.eigh(hessian)[1][:, 0]
            break
        step = -_solve(factor, gradient)
        found = _search(likelihood, theta, step, float(gradient @ step), value, alpha)
        if found is None:  # no decrease beyond rounding is left
            status = "converged" if np.abs(step).max() <= np.sqrt(tol) else "unbounded"
            break
        theta, value, share = found
        # First steps may go too far; those towards infinity add about 1 each.
        if n_iter >= _FIRST_STEPS and likelihood.largest_advantage(theta) > MOST_LOG_ODDS:
            status = "unbounded"
            break
        if share * np.abs(step).max() <= tol:
            status = "converged"
            break
    _, _, factor = _newton_system(likelihood, theta, alpha)
    inverse = np.full((len(theta),) * 2, np.nan) if factor is None else _invert(factor, likelihood)
    return StrengthSolution(theta, inverse, likelihood.value(theta), n_iter, step, status)


def _penalise(likelihood: StrengthLikelihood, theta: Float64Array, alpha: float) -> float:
    strengths = theta[: likelihood.n_items]
    return likelihood.value(theta) + 0.5 * alpha * float(strengths @ strengths)


def _newton_system(
    likelihood: StrengthLikelihood, theta: Float64Array, alpha: float
) -> tuple[Float64Array, Float64Array, tuple[Float64Array, Float64Array] | None]:
    """Gradient, Hessian, and its scale and Cholesky factor; None if it is not definite."""
    m = likelihood.n_items
    gradient, hessian = likelihood.derivatives(theta)
    gradient[:m] += alpha * theta[:m]
    hessian[np.arange(m), np.arange(m)] += alpha
    # Any curvature along the constant makes the Hessian definite. Gradient and solution are
    # orthogonal to the constant, so the amount has no effect; that of the others is well scaled.
    hessian[:m, :m] += np.trace(hessian[:m, :m]) / m**2
    diagonal = hessian.diagonal()
    if not (diagonal > 0).all():
        return gradient, hessian, None
    scale = 1.0 / np.sqrt(diagonal)
    try:
        factor = cho_factor(scale[:, None] * hessian * scale, lower=True, check_finite=False)[0]
    except np.linalg.LinAlgError:
        return gradient, hessian, None
    # A pivot of rounding errors: some direction has no curvature.
    if factor.diagonal().min() ** 2 < _SMALLEST_PIVOT:
        return gradient, hessian, None
    return gradient, hessian, (scale, factor)


def _solve(factor: tuple[Float64Array, Float64Array], right: Float64Array) -> Float64Array:
    scale, cholesky = factor
    return scale * cho_solve((cholesky, True), scale * right, check_finite=False)


def _invert(
    factor: tuple[Float64Array, Float64Array], likelihood: StrengthLikelihood
) -> Float64Array:
    """Inverse of the Hessian without the part along the constant."""
    scale, cholesky = factor
    m = likelihood.n_items
    inverse = scale[:, None] * cho_solve((cholesky, True), np.diag(scale), check_finite=False)
    inverse[:m] -= inverse[:m].mean(axis=0)
    inverse[:, :m] -= inverse[:, :m].mean(axis=1, keepdims=True)
    return 0.5 * (inverse + inverse.T)


def _search(
    likelihood: StrengthLikelihood,
    theta: Float64Array,
    step: Float64Array,
    slope: float,
    value: float,
    alpha: float,
) -> tuple[Float64Array, float, float] | None:
    """First share of the step (1, 1/2, ...) that lowers the objective enough."""
    share, slack = 1.0, _ROUNDING * (1.0 + abs(value))
    for _ in range(_MOST_HALVINGS):
        there = theta + share * step
        new = _penalise(likelihood, there, alpha)
        if new <= value + _SUFFICIENT_DECREASE * share * slope + slack:
            return there, new, share
        share *= 0.5
    return None


_MOST_COMPONENTS, _MOST_ITEMS = 5, 4


def check_connected(
    winners: Int64Array, losers: Int64Array, items: NDArray[np.str_], *, penalised: bool
) -> None:
    """Check that paths of wins connect all items.

    If they do not and no penalty keeps strengths finite, the error names the components. With a
    penalty, groups of items that were never compared with one another, and items that won or lost
    all comparisons, give a UserWarning. A tie is a win of both.
    """
    m = len(items)
    wins = coo_array((np.ones(len(winners)), (winners, losers)), shape=(m, m)).tocsr()
    n_groups, group = connected_components(wins, connection="weak")
    if n_groups > 1:
        problem = f"no comparison connects {_list(group, items)}"
        if not penalised:
            raise ValueError(
                f"{problem}, so their strengths cannot be compared. Fit each group on its own, "
                "add comparisons, or pass alpha > 0."
            )
        warnings.warn(
            f"{problem}: only the penalty relates their strengths.",
            UserWarning,
            stacklevel=callers_level(),
        )
    if penalised:
        places = np.arange(m)
        one_sided = [
            f"{_list(np.where(np.isin(places, other), -1, places), items)} {did} all comparisons"
            for did, other in (("won", losers), ("lost", winners))
            if not np.isin(places, other).all()
        ]
        if one_sided:
            warnings.warn(
                f"{' and '.join(one_sided)}: only the penalty bounds their strengths, and with few "
                "comparisons intervals from standard errors are too short. Add comparisons.",
                UserWarning,
                stacklevel=callers_level(),
            )
        return
    n_strong, strong = connected_components(wins, connection="strong")
    if n_strong > 1:
        across = strong[winners] != strong[losers]
        ahead, behind = strong[winners[across]], strong[losers[across]]
        top = np.setdiff1d(ahead, behind)
        bottom = np.setdiff1d(behind, ahead)
        raise ValueError(
            f"strengths have no finite estimates: of the {n_strong} groups of items that beat one "
            f"another, {_list_chosen(strong, top, items)} lost to no item outside, and "
            f"{_list_chosen(strong, bottom, items)} beat no item outside. Leave these items out, "
            "add comparisons, or pass alpha > 0."
        )


def check_tie_effect(
    winners: Int64Array, losers: Int64Array, tied: tuple[Int64Array, Int64Array], n_items: int
) -> None:
    """Check that a parameter of ties has a finite estimate.

    If on no circle of comparisons there are more wins (all in one direction) than ties, then all
    wins can become certain while all ties remain likely: a win needs a difference of at least the
    parameter, a tie of at most that.
    """
    wins = coo_array((np.ones(len(winners)), (winners, losers)), shape=(n_items, n_items)).tocsr()
    if connected_components(wins, connection="strong")[0] < n_items:
        return  # a circle of wins alone
    # Differences of strengths that allow all this are the distances in this graph, if a circle of
    # negative length does not rule them out.
    lengths = np.full((n_items, n_items), np.inf)
    lengths[tied] = lengths[tied[::-1]] = 1.0
    lengths[winners, losers] = -1.0
    try:
        bellman_ford(csgraph_from_dense(lengths, null_value=np.inf))
    except NegativeCycleError:
        return
    raise ValueError(
        "the parameter of ties has no finite estimate: on no circle of comparisons there are more "
        "wins than ties. Pass ties='half' or alpha > 0, or add comparisons."
    )


def _list_chosen(component: Int64Array, chosen: Int64Array, items: NDArray[np.str_]) -> str:
    return _list(np.where(np.isin(component, chosen), component, -1), items)


def _list(component: Int64Array, items: NDArray[np.str_]) -> str:
    """Components in braces, the largest first; -1 is none."""
    numbers, first, sizes = np.unique(component, return_index=True, return_counts=True)
    order = [number for number in numbers[np.lexsort((first, -sizes))].tolist() if number >= 0]
    shown = []
    for number in order[:_MOST_COMPONENTS]:
        names = items[component == number].tolist()
        more = f" and {len(names) - _MOST_ITEMS} more" if len(names) > _MOST_ITEMS else ""
        shown.append("{" + ", ".join(names[:_MOST_ITEMS]) + more + "}")
    rest = len(order) - _MOST_COMPONENTS
    return ", ".join(shown) + (f" and {rest} more groups" if rest > 0 else "")
