"""Strengths of items from orders: Plackett-Luce, with ties.

Composition: merged sets of alternatives x multinomial logit x Newton steps. An order is a sequence
of choices. From the alternatives A, the set C of k items is chosen with a probability proportional
to ``delta_k (prod_{i in C} exp(s_i))^(1/k)``, where ``delta_1 = 1`` [1]_. The sum over all sets of
size k is ``delta_k e_k(exp(s / k))`` with the elementary symmetric polynomial ``e_k``, so no set is
listed. Parameters are the strengths s, then log delta of each size of ties that occurs.

The chosen sets enter as linear terms, and equal sets of alternatives are merged.

References
----------
.. [1] Turner, van Etten, Firth & Kosmidis, "Modelling rankings in R: the PlackettLuce package",
   Computational Statistics 35 (2020), equation 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse

from rankwise.checks.parameter_constraints import StrOptions
from rankwise.datasets.table_columns import is_frame
from rankwise.preferences.preference_data import Orders
from rankwise.preferences.preference_files import read_orders
from rankwise.preferences.strength_model import StrengthModel
from rankwise.preferences.strength_newton import check_connected
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import callers_level
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
        Penalty added to the SUM of the losses: ``alpha / 2 |s|^2`` for strengths with mean 0.
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
    :class:`~rankwise.preferences.PairwisePreferences`, the same model for orders of two items.

    A tie is likelier among items of equal strength, and how likely ties are is not penalised.
    With a penalty and few orders, the maximum can therefore put items that are tied for the first
    position below the next one: from ``a = b > c > d > e`` alone, with ``alpha=1``, a and b have
    the strength 0.268 and c 0.304 (with ``alpha=0.1``, 1.543 and 0.760). Do not read the order of
    items with few orders: their rank intervals overlap.

    With two ways of clustering, the middle of the sandwich is repaired as in
    :class:`rankwise.preferences.PairwisePreferences`.

    Equal sets of alternatives are merged. A Newton step costs O(A k) for A numbers in second
    derivatives of distinct sets (the square of each set's size) and k sizes of ties, and O((m +
    k)^3) for m items. Memory is O(A + (m + k)^2).

    References
    ----------
    .. [1] Luce, "Individual choice behavior", 1959.
    .. [2] Plackett, "The analysis of permutations", Applied Statistics 24 (1975).
    .. [3] Turner, van Etten, Firth & Kosmidis, "Modelling rankings in R: the PlackettLuce package",
       Computational Statistics 35 (2020).

    Examples
    --------
    >>> from rankwise.preferences import PlackettLuce
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

    @names_its_class
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
            If orders are wrong, the likelihood has no maximum, or ``reference`` is unknown.
        """
        self._validate_params()
        orders = _collect(X, sample_weight, clusters)
        unlisted_last = self.unlisted == "last"
        wins = _find_wins(orders, unlisted_last=unlisted_last)
        check_connected(*wins, orders.items, penalised=self.alpha > 0)
        likelihood = ChoiceLikelihood.of(orders, unlisted_last=unlisted_last)

        def middle(theta: Float64Array) -> Float64Array:
            # A weight counts as repetition: w equal gradients.
            scores = likelihood.scores(theta, np.sqrt(orders.weight))
            return (scores.T @ scores).toarray()

        self._estimate(
            orders.items,
            likelihood,
            [f"tie{size}" for size in likelihood.tie_sizes],
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
        order, missing = _find_unlisted(orders)
        winners.append(orders.item[orders.indptr[1:] - 1][order])
        losers.append(missing)
    return np.concatenate(winners), np.concatenate(losers)


def _find_unlisted(orders: Orders) -> tuple[Int64Array, Int64Array]:
    """Orders, and the items that each of them lacks."""
    there = np.zeros((len(orders), len(orders.items)), dtype=bool)
    there[orders.order, orders.item] = True
    order, item = np.nonzero(~there)
    return order, item


# Entries of a block of second derivatives of a few sets.
_MOST_ENTRIES = 1 << 22
# A set with at least m / 6 of the items is faster as a dense row in a product.
_DENSE_SHARE = 6


class SetTerms(NamedTuple):
    """Logarithm of the sum over a set's possible choices, and its derivatives."""

    value: Float64Array  # (n_sets,)
    by_item: Float64Array  # (n_sets, size)
    by_tie: Float64Array  # (n_sets, n_sizes): by the log delta of each size of ties
    item_item: Float64Array | None  # (n_sets, size, size)
    item_tie: Float64Array | None  # (n_sets, size, n_sizes)


# Distinct sets of alternatives of one size, (n_sets, size), and the weight of choices from each.
Block = tuple[Int64Array, Float64Array]


@dataclass(frozen=True, eq=False)
class ChoiceLikelihood:
    """Negative log-likelihood of the choices that make up orders."""

    n_items: int
    blocks: list[Block]
    tie_sizes: Int64Array  # sizes of ties that occur, ascending
    linear: Float64Array  # (n_parameters,): weighted sum of ``chosen``
    # CSR, (n_orders, n_parameters): derivatives of the logarithms of the chosen sets' weights
    chosen: Any
    # CSR, (n_orders, n_sets): number of choices of each order from each set, block after block
    visits: Any

    @classmethod
    def of(cls, orders: Orders, *, unlisted_last: bool) -> ChoiceLikelihood:
        """``unlisted_last``: items that an order lacks are below all others."""
        n, m = len(orders), len(orders.items)
        order, item, stage = orders.order, orders.item, orders.stage
        n_stages = np.maximum.reduceat(stage, orders.indptr[:-1]) + 1
        if unlisted_last:
            missing_order, missing = _find_unlisted(orders)
            never = np.full(len(missing), int(stage.max()) + 1)  # a stage that is never reached
            order, item = np.append(order, missing_order), np.append(item, missing)
            stage = np.append(stage, never)
        by_item = np.lexsort((item, order))
        order, item, stage = order[by_item], item[by_item], stage[by_item]
        sets: list[tuple[Int64Array, Int64Array]] = []  # orders and members, for one size
        for number in range(int(n_stages.max())):
            sets += _alternatives(order, item, stage, number, n_stages)
        blocks, visits = _merge_sets(sets, orders.weight, n)
        tie_sizes, chosen = _chosen_terms(orders, unlisted_last=unlisted_last)
        linear = np.asarray(chosen.T @ orders.weight)
        return cls(m, blocks, tie_sizes, linear, chosen, visits)

    @property
    def n_parameters(self) -> int:
        """Number of strengths and of sizes of ties."""
        return self.n_items + len(self.tie_sizes)

    def start(self) -> Float64Array:
        """Parameters to begin with: all items are equal, and ties as likely as wins."""
        return np.zeros(self.n_parameters)

    def largest_advantage(self, theta: Float64Array) -> float:
        """Largest lead of the best alternative over the second, or logarithm of a tie's weight."""
        leads = [float(np.abs(theta[self.n_items :]).max(initial=0.0))]
        for members, _ in self.blocks:
            top = np.partition(theta[members], -2, axis=1)[:, -2:]
            leads.append(float((top[:, 1] - top[:, 0]).max()))
        return max(leads)

    def value(self, theta: Float64Array) -> float:
        """Negative log-likelihood."""
        total = -float(self.linear @ theta)
        with np.errstate(over="ignore"):
            for members, weight in self._parts():
                total += float(weight @ self._terms(theta, members, second=False).value)
        return total

    def derivatives(self, theta: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Gradient and Hessian."""
        m, P = self.n_items, self.n_parameters
        gradient, hessian = -self.linear, np.zeros((P, P))
        for members, weight in self._parts():
            is_dense = m == P and _DENSE_SHARE * members.shape[1] > m
            terms = self._terms(theta, members, second=not is_dense)
            by_item = weight[:, None] * terms.by_item
            gradient[:m] += np.bincount(members.ravel(), by_item.ravel(), m)
            gradient[m:] += weight @ terms.by_tie
            if is_dense:
                hessian += _multinomial_products(members, terms.by_item, weight, m)
            else:
                hessian += self._second_derivatives(members, terms, weight)
        hessian[m:, :m] = hessian[:m, m:].T
        return gradient, hessian

    def _second_derivatives(
        self, members: Int64Array, terms: SetTerms, weight: Float64Array
    ) -> Float64Array:
        """Sum of the second derivatives of some sets; the lower left block is left out."""
        m, P = self.n_items, self.n_parameters
        assert terms.item_item is not None
        assert terms.item_tie is not None
        out = np.zeros((P, P))
        pairs = (members[:, :, None] * m + members[:, None, :]).ravel()
        across = (weight[:, None, None] * terms.item_item).ravel()
        out[:m, :m] = np.bincount(pairs, across, m * m).reshape(m, m)
        for tie in range(P - m):
            mixed = weight[:, None] * terms.item_tie[:, :, tie]
            out[:m, m + tie] = np.bincount(members.ravel(), mixed.ravel(), m)
        out[m:, m:] = np.diag(weight @ terms.by_tie)
        out[m:, m:] -= terms.by_tie.T @ (weight[:, None] * terms.by_tie)
        return out

    def dispersion(self, theta: Float64Array) -> float:
        """1: it is a likelihood."""
        return 1.0

    def scores(self, theta: Float64Array, weight: Float64Array) -> Any:
        """Gradient of each order, as CSR of shape (n_orders, n_parameters)."""
        m, n_ties = self.n_items, len(self.tie_sizes)
        values, columns, lengths = [], [], []
        for members, _ in self.blocks:
            terms = self._terms(theta, members, second=False)
            ties = np.broadcast_to(np.arange(m, m + n_ties), (len(members), n_ties))
            values.append(np.concatenate([terms.by_item, terms.by_tie], axis=1).ravel())
            columns.append(np.concatenate([members, ties], axis=1).ravel())
            lengths.append(np.full(len(members), members.shape[1] + n_ties))
        ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        by_set = sparse.csr_array(
            (np.concatenate(values), np.concatenate(columns), ends),
            shape=(len(ends) - 1, self.n_parameters),
        )
        expected: Any = self.visits @ by_set
        return sparse.csr_array(sparse.diags_array(weight) @ (expected - self.chosen))

    def _parts(self) -> Iterator[Block]:
        """Chunks of sets of one size."""
        for members, weight in self.blocks:
            rows = max(1, _MOST_ENTRIES // max(members.shape[1] ** 2, self.n_items))
            for start in range(0, len(members), rows):
                yield members[start : start + rows], weight[start : start + rows]

    def _terms(self, theta: Float64Array, members: Any, *, second: bool) -> SetTerms:
        strengths = theta[members]
        # Every term has the factor exp(top), whatever the size of its set.
        top = strengths.max(axis=1)
        shifted = strengths - top[:, None]
        if not len(self.tie_sizes):
            return _single_choices(top, np.exp(shifted), second=second)
        sizes = np.concatenate([[1], self.tie_sizes])
        log_delta = np.concatenate([[0.0], theta[self.n_items :]])
        return _tied_choices(top, shifted, sizes, np.exp(log_delta), second=second)


def _single_choices(top: Float64Array, z: Float64Array, *, second: bool) -> SetTerms:
    """Terms without ties: a multinomial logit."""
    total = z.sum(axis=1)
    p = z / total[:, None]
    none = np.zeros((len(p), 0))
    value = top + np.log(total)
    if not second:
        return SetTerms(value, p, none, None, None)
    item_item = -p[:, :, None] * p[:, None, :]
    places = np.arange(p.shape[1])
    item_item[:, places, places] += p
    return SetTerms(value, p, none, item_item, np.zeros((*p.shape, 0)))


def _multinomial_products(
    members: Int64Array, p: Float64Array, weight: Float64Array, m: int
) -> Float64Array:
    """Second derivatives without ties, ``diag(p) - p p^T``, as one product of dense rows."""
    rows = np.zeros((len(members), m))
    np.put_along_axis(rows, members, np.sqrt(weight)[:, None] * p, axis=1)
    out = -(rows.T @ rows)
    out[np.arange(m), np.arange(m)] += np.bincount(
        members.ravel(), (weight[:, None] * p).ravel(), m
    )
    return out


def _tied_choices(
    top: Float64Array,
    shifted: Float64Array,
    sizes: Any,
    delta: Float64Array,
    *,
    second: bool,
) -> SetTerms:
    """Terms with ties of some sizes; the first size is 1."""
    n_sets, n_members = shifted.shape
    by_size = np.zeros((n_sets, len(sizes)))
    item_size = np.zeros((n_sets, n_members, len(sizes)))
    # Weight of the choices that hold two given items, divided by the square of their size.
    joint = np.zeros((n_sets, n_members, n_members)) if second else None
    places = np.arange(n_members)
    for column, (k, weight) in enumerate(zip(sizes.tolist(), delta.tolist(), strict=True)):
        if k > n_members:
            continue
        z = np.exp(shifted / k)
        e = _symmetric_polynomials(z, k)
        without = _leave_out(e[:, None, :], z, k - 1)
        by_size[:, column] = weight * e[:, k]
        item_size[:, :, column] = weight * z * without[:, :, k - 1] / k
        if joint is None:
            continue
        if k > 1:
            without_two = _leave_out(without[:, :, None, :], z[:, None, :], k - 2)
            both = z[:, :, None] * z[:, None, :] * without_two[..., k - 2]
            both[:, places, places] = 0.0
            joint += weight * both / k**2
        joint[:, places, places] += item_size[:, :, column] / k
    total = by_size.sum(axis=1)
    value = top + np.log(total)
    by_item = item_size.sum(axis=2) / total[:, None]
    by_tie = by_size[:, 1:] / total[:, None]
    if joint is None:
        return SetTerms(value, by_item, by_tie, None, None)
    joint /= total[:, None, None]
    joint -= by_item[:, :, None] * by_item[:, None, :]
    item_tie = item_size[:, :, 1:] / total[:, None, None]
    item_tie -= by_item[:, :, None] * by_tie[:, None, :]
    return SetTerms(value, by_item, by_tie, joint, item_tie)


def _symmetric_polynomials(z: Float64Array, degree: int) -> Float64Array:
    """Elementary symmetric polynomials of the rows, of degree 0 to ``degree``."""
    e = np.zeros((len(z), degree + 1))
    e[:, 0] = 1.0
    for column in z.T:
        e[:, 1:] += column[:, None] * e[:, :-1]
    return e


def _leave_out(e: Float64Array, z: Float64Array, degree: int) -> Float64Array:
    """Polynomials without each variable: ``e_r(without i) = e_r - z_i e_{r-1}(without i)``.

    The error is that of a term of the sum over choices, because no ``z`` exceeds 1 = max(z).
    """
    shape = np.broadcast_shapes(e.shape[:-1], z.shape)
    out = np.empty((*shape, degree + 1))
    out[..., 0] = 1.0
    for r in range(1, degree + 1):
        out[..., r] = e[..., r] - z * out[..., r - 1]
    return out


def _alternatives(
    order: Int64Array, item: Int64Array, stage: Int64Array, number: int, n_stages: Int64Array
) -> list[tuple[Int64Array, Int64Array]]:
    """Orders that choose at a stage and the sets they choose from, for each size of sets.

    A single alternative leaves no choice.
    """
    open_ = (stage >= number) & (n_stages[order] > number)
    order, item = order[open_], item[open_]
    sizes = np.bincount(order, minlength=len(n_stages))
    found = []
    for size in np.unique(sizes):
        if size > 1:
            rows = np.flatnonzero(sizes == size)
            members = item[np.isin(order, rows)] if len(rows) < len(n_stages) else item
            found.append((rows, members.reshape(-1, size)))
    return found


def _merge_sets(
    sets: list[tuple[Int64Array, Int64Array]], weight: Float64Array, n: int
) -> tuple[list[Block], Any]:
    blocks, orders, numbers, before = [], [], [], 0
    for size in sorted({members.shape[1] for _, members in sets}):
        same = [(rows, members) for rows, members in sets if members.shape[1] == size]
        rows = np.concatenate([rows for rows, _ in same])
        members = np.concatenate([members for _, members in same])
        distinct, place = np.unique(members, axis=0, return_inverse=True)
        place = place.ravel()
        blocks.append((distinct, np.bincount(place, weight[rows], len(distinct))))
        orders.append(rows)
        numbers.append(before + place)
        before += len(distinct)
    rows, columns = np.concatenate(orders), np.concatenate(numbers)
    visits = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, before))
    return blocks, visits.tocsr()


def _chosen_terms(orders: Orders, *, unlisted_last: bool) -> tuple[Int64Array, Any]:
    """Sizes of ties, and the derivatives of the logarithms of the chosen sets' weights."""
    n, m = len(orders), len(orders.items)
    order = orders.order
    # Entries are sorted by order and stage: one number per chosen set.
    new = (np.diff(order, prepend=-1) != 0) | (np.diff(orders.stage, prepend=-1) != 0)
    chosen_set = np.cumsum(new) - 1
    sizes = np.bincount(chosen_set)
    set_order = order[new]
    tie_sizes = np.unique(sizes[sizes > 1])
    # The last item of an order is no choice if it is the only one left, but then its term cancels
    # with the sum over one alternative: leave out both, see `_alternatives`.
    n_alternatives = np.full(n, m) if unlisted_last else np.diff(orders.indptr)
    total, first = np.cumsum(sizes) - sizes, np.flatnonzero(np.diff(set_order, prepend=-1))
    earlier = total - np.repeat(total[first], np.diff(np.append(first, len(sizes))))
    is_choice = n_alternatives[set_order] - earlier > 1
    entries = is_choice[chosen_set]
    rows, columns = [order[entries]], [orders.item[entries]]
    values = [1.0 / sizes[chosen_set[entries]]]
    tied = is_choice & (sizes > 1)
    rows.append(set_order[tied])
    columns.append(m + np.searchsorted(tie_sizes, sizes[tied]))
    values.append(np.ones(int(tied.sum())))
    terms = sparse.coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n, m + len(tie_sizes)),
    )
    return tie_sizes, terms.tocsr()
