"""Where the data of experiments come from."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from rankwise.datasets import fetch
from rankwise.experiments import FindFiles


def make_fetchers(names: Iterable[str]) -> dict[str, FindFiles]:
    """For every known data set the function that finds its files, for ``Experiment.data``."""
    return {name: partial(fetch, name) for name in names}
