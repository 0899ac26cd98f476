"""Equation of the kernel rankers with a squared loss: kernel x squared loss x one factorisation."""

from __future__ import annotations

from functools import partial
from typing import Any

from rankwise.equation import Equation
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.closed_form import build_closed_form, least_squares_path
from rankwise.rankers.kernel.kernel_features import KernelFeatures, LandmarkParameters
from rankwise.tuning.penalty_search import Penalty


def kernel_least_squares(
    ranker: LandmarkParameters, loss: SquaredLoss, penalty: Penalty, **options: Any
) -> Equation:
    """Equation of a kernel ranker with this loss, and options of :class:`KernelFeatures`."""
    features = KernelFeatures.with_landmarks(
        ranker,
        leaves_out=leaves_out(ranker, penalty),
        takes_shift=loss.takes_shift,
        intercept=loss.intercept,
        **options,
    )
    make_path = partial(least_squares_path, max_bytes=ranker.max_bytes)
    return build_closed_form(features, loss, penalty, make_path=make_path)


def leaves_out(ranker: object, penalty: Penalty) -> bool:
    """Whether the penalty of the ranker is chosen by leaving rows out exactly."""
    value = getattr(ranker, penalty.name)
    return isinstance(value, str) and value in ("loqo", "lpo")
