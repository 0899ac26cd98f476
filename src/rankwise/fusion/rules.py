"""Fusion without training: one score per document from the lists of several systems.

References
----------
.. [1] Fox & Shaw, "Combination of multiple searches", TREC-2, 1993 (CombSUM, MNZ, ANZ, MIN, MAX,
   MED).
.. [2] Lee, "Analyses of multiple evidence combination", SIGIR 1997 (CombGMNZ).
.. [3] Aslam & Montague, "Models for metasearch", SIGIR 2001 (Borda).
.. [4] Montague & Aslam, "Condorcet fusion for improved retrieval", CIKM 2002.
.. [5] Cormack, Clarke & Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual
   rank learning methods", SIGIR 2009.
.. [6] Mourão, Martins & Magalhães, "Multimodal medical information retrieval with unsupervised
   rank fusion", Computerized Medical Imaging and Graphics 39 (2015) (ISR and its logarithms).
.. [7] Bailey, Moffat, Scholer & Thomas, "Retrieval consistency in the presence of query
   variations", SIGIR 2017 (RBC).
.. [8] Wu & Crestani, "Data fusion with estimated weights", CIKM 2002 (weighted MNZ).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, nan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.constant_scores import ConstantScoresWarning
from rankwise.datasets.readers.trec import Run
from rankwise.fusion.run_pool import RunPool, ScoreScaling, convert_to_pool, normalize, sum_systems
from rankwise.runtime.jit import run_few
from rankwise.runtime.messages import callers_level, check_choice
from rankwise.runtime.renames import find_new_name
from rankwise.typing import ArrayLike, Float64Array


@dataclass(frozen=True)
class FusionRule:
    """Fusion rule.

    ``score`` takes the pool, the normalised scores (NaN: not returned), one weight per system and
    the parameters by name.
    """

    score: Callable[..., Float64Array]
    parameters: Mapping[str, Constant] = field(default_factory=dict)


def fuse(
    runs: RunPool | Sequence[Any] | Mapping[str, Any],
    rule: str = "rrf",
    *,
    systems: Sequence[str] | None = None,
    scaling: ScoreScaling = "min_max",
    weights: ArrayLike | None = None,
    tag: str | None = None,
    **parameters: float,
) -> Run:
    """Fuse result lists with a fixed rule.

    Parameters
    ----------
    runs : RunPool, sequence, or mapping from system name to result lists
        See :func:`rankwise.fusion.pool_runs`.
    rule : str, default="rrf"
        Fusion rule. Sums run over the c systems that returned the document, with normalised scores
        x, ranks r (from 1) and weights w:

        - "sum" ``sum w x``, "mnz" ``c sum x``, "gmnz" ``c^gamma sum x``, "anz" ``sum x / c``,
          "min", "max", "med" (median) of x: Fox and Shaw's, Lee's;
        - "wmnz" ``sum w sum x``, "mixed" ``sqrt(c) sum w x``: Wu and Crestani's;
        - "rrf" ``sum w / (rank_constant + r)``, reciprocal rank fusion;
        - "isr" ``c sum 1 / r^2``, "log_isr" ``log(c) sum 1 / r^2``,
          "logn_isr" ``log(c + sigma) sum 1 / r^2``;
        - "rbc" ``sum w (1 - phi) phi^(r - 1)``, rank-biased centroids;
        - "borda" ``sum w (m - r + 1)`` for a pool of m documents; a system that returned n of them
          gives ``(m - n + 1) / 2`` points to each of the others;
        - "condorcet": m minus the position in an order where no document is beaten by the next one
          in a weighted majority vote of the systems. The order is merged from Borda's. Neighbours
          with equal Borda points and equal votes share the mean of their scores.

        In all rules, equal scores of a system share the mean of their ranks.
    systems : sequence of str, optional
        Names of the systems, see :func:`rankwise.fusion.pool_runs`.
    scaling : str, default="min_max"
        Scale of the scores for "sum" to "mixed", see :func:`rankwise.fusion.normalize`. The other
        rules read ranks.
    weights : array-like of shape (n_systems,), >= 0, optional
        Weight of each system, for rules with a w in the formula; at least one is above 0. None: all
        weights are 1.
    tag : str, optional
        Name of the fused run. None: the name of the rule.
    **parameters
        ``rank_constant`` of "rrf" (60, in [0, 1e12]; ``k`` as in ranx is accepted), ``phi`` of
        "rbc" (0.8, in [1e-9, 1 - 1e-9]), ``gamma`` of "gmnz" (1, at least 0), ``sigma`` of
        "logn_isr" (0.01, in [0, 1]). Beyond the bounds of the first two, the points of different
        ranks are equal, or differ by less than rounding.

    Returns
    -------
    Run
        Every document that any system returned, with its score.

    Raises
    ------
    ValueError
        If the rule or the normalisation is unknown, the rule does not take weights, there is not
        one finite weight >= 0 per system, or scores, weights or parameters are so large that a
        fused score overflows.
    TypeError
        If the rule has no parameter of that name.

    Warns
    -----
    ConstantScoresWarning
        If no two systems returned the same document, so that "log_isr" gives all the score 0, or
        points of "rbc" are 0, since ``phi^(r - 1)`` is below the smallest number.

    Notes
    -----
    A document that a system did not return adds nothing for that system; "borda" and
    "scaling='borda'" give it the mean points of what the system left out. A negative score
    therefore counts less than a missing document: prefer "min_max" for log likelihoods and logits.
    In "log_isr" all documents that one system alone returned have the score 0, as log(1) = 0.
    The order of the systems does not change the result, nor do the ids of the documents, except in
    "condorcet" where majorities of documents with equal Borda points form a cycle. O(n s log s) for
    n documents and s systems, "condorcet" times log n.

    Scores equal those of ranx 0.3.21 with these differences. ranx ranks equal scores in the order
    in which it meets them. Its divisors in normalisations are at least 1e-9, and that of "max" is
    the largest score, so that a list of negative scores becomes as large as 1e9 times its scores.
    In "condorcet", ranx counts a system that returned neither document as a vote for the second, so
    that its order depends on the order of documents.

    Examples
    --------
    >>> from rankwise.fusion import fuse
    >>> lexical = {"q1": {"d1": 9.5, "d2": 7.0}}
    >>> neural = {"q1": {"d2": 0.8, "d3": 0.3}}
    >>> run = fuse({"bm25": lexical, "encoder": neural}, "rrf", rank_constant=60)
    >>> dict(zip(run.doc_ids.tolist(), run.scores.round(4).tolist()))
    {'d1': 0.0164, 'd2': 0.0325, 'd3': 0.0161}
    """
    pool = convert_to_pool(runs, systems)
    check_choice("rule", rule, RULES)
    chosen = RULES[rule]
    values = normalize(pool, scaling)
    weight = _weights(rule, weights, len(pool.systems))
    settings = _settings(rule, chosen, parameters)
    with np.errstate(over="ignore", invalid="ignore"):  # pool.run refuses what overflowed
        scores = chosen.score(pool, values, weight, **settings)
    return pool.run(scores, tag or rule)


def _weights(rule: str, weights: ArrayLike | None, n_systems: int) -> Float64Array:
    if weights is None:
        return np.ones(n_systems)
    if rule not in WEIGHTED:
        raise ValueError(
            f"rule {rule!r} takes no weights. Rules that do: {', '.join(map(repr, WEIGHTED))}."
        )
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if found.shape != (n_systems,) or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(
            f"weights must hold one finite number >= 0 for each of the {n_systems} systems, in "
            f"their order, got {weights!r}. Pass a list."
        )
    if not found.any():
        raise ValueError("weights must not all be 0: every document would have the score 0.")
    return found


def _settings(name: str, rule: FusionRule, given: Mapping[str, float]) -> dict[str, float]:
    if name == "rrf" and "rank_constant" not in given:
        given = {"rank_constant" if key == "k" else key: given[key] for key in given}
    for parameter in given:
        if parameter not in rule.parameters:
            takes = ", ".join(map(repr, rule.parameters)) or "none"
            new = find_new_name(parameter, (*rule.parameters, "scaling"))
            raise TypeError(
                f"rule {name!r} has no parameter {parameter!r}. "
                + (f"{parameter} is now {new}." if new else f"Its parameters: {takes}.")
            )
    return {
        parameter: found.check(parameter, given.get(parameter, found.default))
        for parameter, found in rule.parameters.items()
    }


def _sum_returned(pool: RunPool, terms: Float64Array) -> Float64Array:
    """Sum of the terms of the systems that returned a document."""
    return sum_systems(np.where(pool.ranks > 0, terms, np.nan))


def _isr_sum(pool: RunPool) -> Float64Array:
    return _sum_returned(pool, 1.0 / np.maximum(pool.ranks, 1) ** 2)


def _logn_isr(pool: RunPool, x: Float64Array, w: Float64Array, *, sigma: float) -> Float64Array:
    count = (pool.ranks > 0).sum(axis=1).astype(np.float64)
    if not sigma and (pool.n_returned > 1).any() and (count < 2).all():
        warnings.warn(
            "no two systems returned the same document, so log(c) gives every document the score "
            "0. Use 'logn_isr' with sigma > 0, 'isr' or 'rrf'.",
            ConstantScoresWarning,
            stacklevel=callers_level(),
        )
    return _isr_sum(pool) * np.log(count + sigma)


def _rbc(pool: RunPool, x: Float64Array, w: Float64Array, *, phi: float) -> Float64Array:
    points = (1.0 - phi) * phi ** np.maximum(pool.ranks - 1, 0)
    lost = int(((points == 0) & (pool.ranks > 0)).any(axis=1).sum())
    if lost:
        warnings.warn(
            f"phi={phi:g} gives {lost} of {len(pool)} documents 0 points for a rank, since "
            "phi^(r - 1) is below the smallest number: they are not told apart. Use a larger phi, "
            "or pool_runs(runs, depth=…).",
            ConstantScoresWarning,
            stacklevel=callers_level(),
        )
    return _sum_returned(pool, w * points)


def _borda(pool: RunPool, x: Float64Array, w: Float64Array) -> Float64Array:
    sizes = pool.groups.sizes
    n_documents = np.repeat(sizes, sizes)[:, None]
    left_over = (n_documents - np.repeat(pool.n_returned, sizes, axis=0) + 1) / 2
    return sum_systems(w * np.where(pool.ranks > 0, n_documents - pool.ranks + 1, left_over))


def _condorcet(pool: RunPool, x: Float64Array, w: Float64Array) -> Float64Array:
    from rankwise.kernels.ranking_agreement import LEAST_LEAD, sort_by_majority

    groups, points = pool.groups, _borda(pool, x, w)
    codes, profile, first = groups.codes(), *_rank_profiles(pool)
    # Documents of equal ranks take part as one: in a cycle, others could come between them.
    order = first[np.lexsort((first, -points[first], codes[first]))]
    ends = np.cumsum(np.bincount(codes[first], minlength=len(groups.sizes)))
    n_comparisons = len(order) * (1 + int(groups.sizes.max(initial=0)).bit_length())
    n_steps = 2 * len(w) * n_comparisons
    run_few(sort_by_majority, n_steps, order, np.append(0, ends), pool.ranks, w)
    place = np.empty(len(first), dtype=np.int64)
    place[profile[order]] = np.arange(len(first))
    order = np.argsort(place[profile], kind="stable")
    position = np.arange(len(pool)) - np.repeat(groups.indptr[:-1], groups.sizes)
    above, below = order[:-1], order[1:]
    is_first = np.ones(len(pool), dtype=bool)
    is_first[1:] = (position[1:] == 0) | (points[above] != points[below])
    place = np.where(pool.ranks > 0, pool.ranks, len(pool) + 1)
    lead = sum_systems(w * np.sign(place[below] - place[above]))
    is_first[1:] |= lead > LEAST_LEAD * w.sum()
    shared = np.cumsum(is_first) - 1
    mean = np.bincount(shared, position) / np.maximum(np.bincount(shared), 1)
    scores = np.empty(len(pool))
    scores[order] = np.repeat(groups.sizes, groups.sizes) - mean[shared]
    return scores


def _rank_profiles(pool: RunPool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Profile of every row, and the first row of every profile: ranks in all systems, by query."""
    codes, ranks = pool.groups.codes(), pool.ranks
    order = np.lexsort((*ranks.T, codes))
    is_new = np.ones(len(order), dtype=bool)
    above, below = order[:-1], order[1:]
    is_new[1:] = (codes[above] != codes[below]) | (ranks[above] != ranks[below]).any(axis=1)
    profile = np.empty(len(order), dtype=np.int64)
    profile[order] = np.cumsum(is_new) - 1
    return profile, order[is_new]


def _count_scores(x: Float64Array) -> Float64Array:
    """Number of systems with a score for each row."""
    return (~np.isnan(x)).sum(axis=1).astype(np.float64)


@dataclass(frozen=True)
class Constant:
    """Default and range of a constant; ``reason`` says what is lost beyond the range."""

    default: float
    least: float = 0.0
    largest: float = inf
    reason: str = ""

    def check(self, name: str, value: Any) -> float:
        """The value as a float; ValueError if it is not a finite number of the range."""
        # float: NumPy compares with float32 in float32, where 1 - 1e-9 is 1.
        number = float(value) if isinstance(value, Real) else nan
        if isfinite(number) and self.least <= number <= self.largest:
            return number
        bounds = f"in [{self.least:.9g}, {self.largest:.9g}]"
        allowed = bounds if isfinite(self.largest) else f">= {self.least:g}"
        raise ValueError(
            f"{name} must be a finite number {allowed}{self.reason}, got {value!r}. "
            f"The default is {self.default:g}."
        )


_TIES = ", where ranks differ by more than rounding"
# At 1 the factor 1 - phi makes all points 0. At 0 those of all ranks but 1 are 0, and so are those
# of documents that tie at the top. RBP refuses both as well.
PERSISTENCE = Constant(0.8, 1e-9, 1.0 - 1e-9, _TIES)
# Of differences of 1e-12 of a score, a sum over a thousand systems rounds away a tenth.
RANK_CONSTANT = Constant(60.0, 0.0, 1e12, _TIES)

RULES: dict[str, FusionRule] = {
    "sum": FusionRule(lambda pool, x, w: sum_systems(w * x)),
    "mnz": FusionRule(lambda pool, x, w: sum_systems(x) * _count_scores(x)),
    "gmnz": FusionRule(
        lambda pool, x, w, gamma: sum_systems(x) * _count_scores(x) ** gamma,
        {"gamma": Constant(1.0)},
    ),
    "anz": FusionRule(lambda pool, x, w: sum_systems(x) / _count_scores(x)),
    "min": FusionRule(lambda pool, x, w: np.fmin.reduce(x, axis=1)),
    "max": FusionRule(lambda pool, x, w: np.fmax.reduce(x, axis=1)),
    "med": FusionRule(lambda pool, x, w: np.nanmedian(x, axis=1) if len(x) else np.zeros(0)),
    "wmnz": FusionRule(
        lambda pool, x, w: sum_systems(x) * sum_systems(np.where(np.isnan(x), np.nan, w))
    ),
    "mixed": FusionRule(lambda pool, x, w: sum_systems(w * x) * np.sqrt(_count_scores(x))),
    "rrf": FusionRule(
        lambda pool, x, w, rank_constant: _sum_returned(
            pool, w / (rank_constant + np.maximum(pool.ranks, 1))
        ),
        {"rank_constant": RANK_CONSTANT},
    ),
    "isr": FusionRule(lambda pool, x, w: _isr_sum(pool) * (pool.ranks > 0).sum(axis=1)),
    "log_isr": FusionRule(lambda pool, x, w: _logn_isr(pool, x, w, sigma=0.0)),
    "logn_isr": FusionRule(_logn_isr, {"sigma": Constant(0.01, 0.0, 1.0)}),
    "rbc": FusionRule(_rbc, {"phi": PERSISTENCE}),
    "borda": FusionRule(_borda),
    "condorcet": FusionRule(_condorcet),
}
WEIGHTED = ("sum", "wmnz", "mixed", "rrf", "rbc", "borda", "condorcet")
