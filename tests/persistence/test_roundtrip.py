"""What ``fit`` makes under any documented option, ``save`` takes and ``load`` gives back."""

from __future__ import annotations

import numpy as np
import pytest

import rankwise
from rankwise._registry import REGISTRY
from tests.common.options import attributes, fit_options, parameters, results, values_of
from tests.common.states import assert_same

FORMS = ("array", "sparse", "frame")


def check_roundtrip(key, params, path, form="array", extra=0):
    """False if ``fit`` refuses the options."""
    try:
        model = fit_options(key, params, form, extra)
    except (ValueError, TypeError):
        return False
    again = rankwise.load(
        model.save(path) if hasattr(model, "save") else rankwise.save(model, path)
    )
    assert_same(attributes(again), attributes(model), f"{key} {params}")
    assert_same(results(key, again, form), results(key, model, form), f"{key} {params}")
    return True


@pytest.mark.parametrize("key", list(REGISTRY))
def test_every_option_comes_back(key, tmp_path):
    """Every value once beside values of the other parameters, or alone where they exclude it."""
    table = {name: values_of(key, name) for name in parameters(key)}
    rng = np.random.default_rng(0)
    orders = {name: rng.permutation(len(values)) for name, values in table.items()}
    seen = set()
    for line in range(max((len(values) for values in table.values()), default=1)):
        at = {name: int(order[line % len(order)]) for name, order in orders.items()}
        params = {name: table[name][place] for name, place in at.items()}
        if check_roundtrip(key, params, tmp_path / "model", FORMS[line % 3], line):
            seen |= at.items()
    for name, values in table.items():
        for place, value in enumerate(values):
            if (name, place) not in seen:
                check_roundtrip(key, {name: value}, tmp_path / "model")


@pytest.mark.parametrize(
    "params",
    [{"reg_lambda": 1.0}, {"reg_alpha": 0.1}, {"monotonic_cst": [1, 1, 1], "reg_lambda": 1.0}],
)
def test_symmetric_trees_come_back(params, rng, tmp_path):
    """A split that a level shares may lose in one node, and its feature still gains."""
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    model = rankwise.LambdaMART(
        10, growth="symmetric", max_leaf_nodes=8, min_samples_leaf=2, **params
    ).fit(X, y, qid=np.arange(300) // 10)
    assert model.trees_.gain.min() < 0
    assert model.feature_importances_.min() >= 0
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    again = rankwise.load(model.save(tmp_path / "model"))
    assert_same(attributes(again), attributes(model), "LambdaMART")
