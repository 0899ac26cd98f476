"""Values per unit that are hard for intervals of means and of differences; true means are known."""

from __future__ import annotations

import numpy as np

Generator = np.random.Generator


def lognormal_of_mean(rng: Generator, size: int | tuple[int, ...], sigma: float) -> np.ndarray:
    """Lognormal values, minus their true mean: right-skewed, with mean 0."""
    return np.exp(sigma * rng.standard_normal(size)) - np.exp(sigma**2 / 2.0)


def one_unit_in_ten(rng: Generator, size: int | tuple[int, ...]) -> np.ndarray:
    """Mean 0: one unit in ten gains .9, the others lose .1, with noise of .02."""
    gain = np.where(rng.random(size) < 0.1, 0.9, -0.1)
    return gain + 0.02 * rng.standard_normal(size)


def mostly_zero(rng: Generator, size: int | tuple[int, ...], share: float = 0.9) -> np.ndarray:
    """Mean 0 and ties: a ``share`` of the values is exactly 0, the others are -1 or 1."""
    signs = rng.choice([-1.0, 1.0], size=size)
    return np.where(rng.random(size) < share, 0.0, signs)
