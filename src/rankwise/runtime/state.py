"""Attributes of an estimator that a failed fit must not change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def restore_on_error(estimator: Any) -> Iterator[None]:
    """Give the estimator its attributes from before the block if the block raises.

    Values are not copied: the block must replace arrays, not write into them. Only generators among
    the values, such as ``random_state``, get their state back. Costs one shallow copy of the
    attribute dict.
    """
    before = dict(vars(estimator))
    generators = [
        (value, value.get_state())
        for value in before.values()
        if isinstance(value, np.random.RandomState)
    ]
    try:
        yield
    except BaseException:
        # One assignment, because a second interrupt must not find the estimator half restored.
        estimator.__dict__ = before
        for generator, state in generators:
            generator.set_state(state)
        raise
