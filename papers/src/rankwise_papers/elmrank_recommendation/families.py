"""Families of methods, computed together on the reviewers of one repetition and group.

A family returns for every method the values of all measures, a number per reviewer, and the
settings that were chosen. Every family has the constant score, the training mean, beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.typing import Float64Array
from rankwise_papers.elmrank_recommendation.elm_methods import (
    SINGLE_DRAWS,
    elmrank_scores,
    node_draws,
)
from rankwise_papers.elmrank_recommendation.kernel_methods import (
    Kernels,
    choose_for_all,
    choose_for_each,
    fit_kernels,
    linear_and_rbf,
    make_two_feature_kernels,
    two_features,
)
from rankwise_papers.elmrank_recommendation.measures import measure
from rankwise_papers.elmrank_recommendation.rankboost_methods import fit_rankboost
from rankwise_papers.elmrank_recommendation.reviewers import Reviewer
from rankwise_papers.elmrank_recommendation.svrank_methods import LAM as SVRANK_LAM
from rankwise_papers.elmrank_recommendation.svrank_methods import fit_svrank

FOLD_SEED, NODE_SEED = 10, 1000
BEST = "MPRank, middle fill and two features"
SVRANK_KERNELS = ("linear", "rbf 0.0625", "rbf 0.25")
Family = Callable[[Sequence[Reviewer], int, "Scale", int], dict[str, Any]]


@dataclass(frozen=True)
class Scale:
    """The range of ratings."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Rating halfway between the lowest and the highest."""
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> float:
        """From the middle to either end."""
        return 0.5 * (self.high - self.low)

    def to_unit(self, X: Float64Array) -> Float64Array:
        """Ratings as numbers in [-1, 1]."""
        return (X - self.middle) / self.half

    def clip(self, scores: Sequence[Float64Array]) -> list[Float64Array]:
        """Scores outside of the scale moved to its ends."""
        return [np.clip(values, self.low, self.high) for values in scores]


def elmrank(
    reviewers: Sequence[Reviewer], repetition: int, scale: Scale, n_draws: int
) -> dict[str, Any]:
    """The paper's protocol: missing ratings become the reference's median, ratings are unscaled."""
    features = [reviewer.filled(reviewer.medians) for reviewer in reviewers]
    scores = _elmrank(reviewers, features, repetition, n_draws)
    n_single = min(SINGLE_DRAWS, n_draws)
    single = [_values(reviewers, [found[draw] for found in scores]) for draw in range(n_single)]
    means = {name: np.mean([values[name] for values in single], axis=0) for name in single[0]}
    return _result(
        reviewers,
        {"ELMRank": [found.mean(axis=0) for found in scores]},
        more={"ELMRank, single draws": means},
    )


def elmrank_unit(
    reviewers: Sequence[Reviewer], repetition: int, scale: Scale, n_draws: int
) -> dict[str, Any]:
    """As :func:`elmrank`, the features moved to [-1, 1]."""
    features = [scale.to_unit(reviewer.filled(reviewer.medians)) for reviewer in reviewers]
    scores = _elmrank(reviewers, features, repetition, n_draws)
    return _result(reviewers, {"ELMRank, [-1, 1]": [found.mean(axis=0) for found in scores]})


def mprank(
    reviewers: Sequence[Reviewer], repetition: int, scale: Scale, n_draws: int
) -> dict[str, Any]:
    """MPRank on the features of :func:`elmrank`; no draws."""

    def kernels(reviewer: Reviewer) -> Kernels:
        return linear_and_rbf(reviewer.filled(reviewer.medians), reviewer.n_train)

    fits = fit_kernels(reviewers, kernels, [FOLD_SEED, repetition])
    scores, chosen = choose_for_all(fits)
    return _result(
        reviewers,
        {
            "MPRank": scores,
            "MPRank linear, tuned for each": choose_for_each(fits, _is_linear),
            "MPRank RBF, tuned for each": choose_for_each(fits, lambda name: not _is_linear(name)),
        },
        {"MPRank": chosen},
    )


def svrank(
    reviewers: Sequence[Reviewer], repetition: int, scale: Scale, n_draws: int
) -> dict[str, Any]:
    """SVRank without an insensitive zone on the features of :func:`elmrank`; no draws."""

    def kernels(reviewer: Reviewer) -> Kernels:
        every = linear_and_rbf(reviewer.filled(reviewer.medians), reviewer.n_train)
        return (kernel for kernel in every if kernel[0] in SVRANK_KERNELS)

    fits = fit_svrank(reviewers, kernels, [FOLD_SEED, repetition])
    scores, chosen = choose_for_all(fits, lam=SVRANK_LAM)
    return _result(reviewers, {"SVRank": scores}, {"SVRank": chosen})


def rankboost(
    reviewers: Sequence[Reviewer], repetition: int, scale: Scale, n_draws: int
) -> dict[str, Any]:
    """RankBoost on the features of :func:`elmrank`; no draws."""
    features = [reviewer.filled(reviewer.medians) for reviewer in reviewers]
    scores, chosen = fit_rankboost(reviewers, features, [FOLD_SEED, repetition])
    return _result(reviewers, {"RankBoost": scores}, {"RankBoost": chosen})


def beyond(
    reviewers: Sequence[Reviewer], repetition: int, scale: Scale, n_draws: int
) -> dict[str, Any]:
    """MPRank with missing ratings at the middle of the scale and two features more; no draws."""
    scores, chosen = _beyond(reviewers, _middle(reviewers, scale), repetition, scale)
    return _result(reviewers, scores, chosen)


def blend(
    reviewers: Sequence[Reviewer], repetition: int, scale: Scale, n_draws: int
) -> dict[str, Any]:
    """ELMRank with missing ratings at the middle of the scale, and its mean with MPRank."""
    features = _middle(reviewers, scale)
    found = _elmrank(reviewers, features, repetition, n_draws)
    # ELMRank's scores lack an intercept: one number per reviewer, which no measure sees.
    elm = [draws.mean(axis=0) for draws in found]
    best = _beyond(reviewers, features, repetition, scale)[0][BEST]
    mean = [0.5 * (a + b) for a, b in zip(elm, best, strict=True)]
    return _result(reviewers, {"ELMRank, middle fill": elm, "blend of ELMRank and MPRank": mean})


# Function and number of repetitions; in the order in which they are computed.
FAMILIES: dict[str, tuple[Family, int]] = {
    "elmrank": (elmrank, 10),
    "mprank": (mprank, 10),
    "beyond": (beyond, 10),
    "svrank": (svrank, 3),
    "rankboost": (rankboost, 1),
    "blend": (blend, 3),
    "elmrank-unit": (elmrank_unit, 10),
}


def _middle(reviewers: Sequence[Reviewer], scale: Scale) -> list[Float64Array]:
    """Features in [-1, 1], 0 where a rating is missing."""
    return [scale.to_unit(reviewer.filled(scale.middle)) for reviewer in reviewers]


def _beyond(
    reviewers: Sequence[Reviewer],
    features: Sequence[Float64Array],
    repetition: int,
    scale: Scale,
) -> tuple[dict[str, list[Float64Array]], dict[str, str]]:
    """Scores and settings; the two features can lie far outside of the trained: clipped."""
    X = {id(reviewer): rows for reviewer, rows in zip(reviewers, features, strict=True)}

    def kernels(reviewer: Reviewer) -> Kernels:
        rows, n_train = X[id(reviewer)], reviewer.n_train
        yield from linear_and_rbf(rows, n_train)
        yield from make_two_feature_kernels(rows, two_features(reviewer, scale.half), n_train)

    fits = fit_kernels(reviewers, kernels, [FOLD_SEED, repetition])
    scores, chosen = {}, {}
    for method, takes in {
        "MPRank, middle fill": lambda name: "two features" not in name,
        "MPRank, two features": lambda name: name == "two features",
        BEST: lambda name: True,
    }.items():
        found, chosen[method] = choose_for_all(fits, takes)
        scores[method] = scale.clip(found)
    return scores, chosen


def _elmrank(
    reviewers: Sequence[Reviewer],
    features: Sequence[Float64Array],
    repetition: int,
    n_draws: int,
) -> list[Float64Array]:
    """Scores of every draw; the nodes are shared by the reviewers of a repetition."""
    # Reference reviewers are as many for all, but where a set is too small for 300.
    width = max(X.shape[1] for X in features)
    assert all(X.shape[1] == width for X in features)
    maps = node_draws(width, n_draws, NODE_SEED * (repetition + 1))
    return elmrank_scores(reviewers, features, maps, [FOLD_SEED, repetition])


def _is_linear(name: str) -> bool:
    return name == "linear"


def _values(
    reviewers: Sequence[Reviewer], scores: Sequence[Float64Array]
) -> dict[str, Float64Array]:
    return measure([reviewer.y_test for reviewer in reviewers], scores)


def _result(
    reviewers: Sequence[Reviewer],
    scores: dict[str, list[Float64Array]],
    chosen: dict[str, str] | None = None,
    more: dict[str, dict[str, Float64Array]] | None = None,
) -> dict[str, Any]:
    constant = [np.full(len(reviewer.y_test), reviewer.y_train.mean()) for reviewer in reviewers]
    found = {"constant": constant, **scores}
    values = {name: _values(reviewers, of_all) for name, of_all in found.items()} | (more or {})
    return {
        "values": {
            name: {measure: column.round(6).tolist() for measure, column in by_measure.items()}
            for name, by_measure in values.items()
        },
        "chosen": chosen or {},
    }
