"""Negative log-likelihood of orders as sequences of choices: Plackett-Luce, with ties.

From the alternatives A, the set C of k items is chosen with a probability proportional to
``delta_k (prod_{i in C} exp(s_i))^(1/k)``, where ``delta_1 = 1`` [1]_. The sum over all sets of
size k is ``delta_k e_k(exp(s / k))`` with the elementary symmetric polynomial ``e_k``, so no set is
listed. Sizes of ties that do not occur have delta 0. Parameters are the strengths s, then log delta
of each size of ties.

The chosen sets enter as linear terms, and equal sets of alternatives are merged.

References
----------
.. [1] Turner, van Etten, Firth & Kosmidis, "Modelling rankings in R: the PlackettLuce package",
   Computational Statistics 35 (2020), equation 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rankwise.preferences.choice_sets import ChoiceBlock, Choices
from rankwise.typing import Float64Array, Int64Array

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


@dataclass(frozen=True, eq=False)
class ChoiceLikelihood:
    """Negative log-likelihood of choices."""

    n_items: int
    choices: Choices

    @property
    def n_parameters(self) -> int:
        """Number of strengths and of sizes of ties."""
        return self.n_items + len(self.choices.tie_sizes)

    def start(self) -> Float64Array:
        """Parameters to begin with: all items are equal, and ties as likely as wins."""
        return np.zeros(self.n_parameters)

    def largest_advantage(self, theta: Float64Array) -> float:
        """Largest lead of the best alternative over the second, or logarithm of a tie's weight."""
        leads = [float(np.abs(theta[self.n_items :]).max(initial=0.0))]
        for block in self.choices.blocks:
            top = np.partition(theta[block.members], -2, axis=1)[:, -2:]
            leads.append(float((top[:, 1] - top[:, 0]).max()))
        return max(leads)

    def value(self, theta: Float64Array) -> float:
        """Negative log-likelihood."""
        total = -float(self.choices.linear @ theta)
        with np.errstate(over="ignore"):
            for block, part in self._parts():
                terms = self._terms(theta, block.members[part], second=False)
                total += float(block.weight[part] @ terms.value)
        return total

    def derivatives(self, theta: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Gradient and Hessian."""
        m, P = self.n_items, self.n_parameters
        gradient, hessian = -self.choices.linear, np.zeros((P, P))
        for block, part in self._parts():
            members, weight = block.members[part], block.weight[part]
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
        m, n_ties = self.n_items, len(self.choices.tie_sizes)
        values, columns, lengths = [], [], []
        for block in self.choices.blocks:
            terms = self._terms(theta, block.members, second=False)
            ties = np.broadcast_to(np.arange(m, m + n_ties), (len(block.members), n_ties))
            values.append(np.concatenate([terms.by_item, terms.by_tie], axis=1).ravel())
            columns.append(np.concatenate([block.members, ties], axis=1).ravel())
            lengths.append(np.full(len(block.members), block.members.shape[1] + n_ties))
        ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        by_set = sparse.csr_array(
            (np.concatenate(values), np.concatenate(columns), ends),
            shape=(len(ends) - 1, self.n_parameters),
        )
        expected: Any = self.choices.visits @ by_set
        return sparse.csr_array(sparse.diags_array(weight) @ (expected - self.choices.chosen))

    def _parts(self) -> Iterator[tuple[ChoiceBlock, slice]]:
        """Chunks of sets of one size."""
        for block in self.choices.blocks:
            size = block.members.shape[1]
            rows = max(1, _MOST_ENTRIES // max(size**2, self.n_items))
            for start in range(0, len(block.members), rows):
                yield block, slice(start, start + rows)

    def _terms(self, theta: Float64Array, members: Any, *, second: bool) -> SetTerms:
        strengths = theta[members]
        # Every term has the factor exp(top), whatever the size of its set.
        top = strengths.max(axis=1)
        shifted = strengths - top[:, None]
        if not len(self.choices.tie_sizes):
            return _single_choices(top, np.exp(shifted), second=second)
        sizes = np.concatenate([[1], self.choices.tie_sizes])
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
