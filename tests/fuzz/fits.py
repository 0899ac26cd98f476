"""Targets: fits with documented options, saved and loaded, and refused fits followed by use.

A case names an estimator and numbers from which its options and its rows are drawn. The fit may be
refused with ValueError or TypeError; everything after it must hold.
"""

from __future__ import annotations

import copy
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise._registry import REGISTRY
from rankwise.persistence import load, save
from tests.common.options import attributes, draw_options, fit_options, results, training_data
from tests.common.states import assert_same
from tests.fuzz.harness import Target

_SINGLE_COLUMNS = ("polynomial_terms", "random_perceptrons")  # which may not read the last ones
_SLOW = ("auto", "boltz_rank", "stacking_ranker")  # a tenth as often as the others


class RefusedFitError(ValueError):
    """The fit of a case is refused."""


def _make(rng: np.random.Generator) -> bytes:
    key = str(rng.choice([*REGISTRY]))
    if key in _SLOW and rng.random() > 0.1:
        key = "ridge"
    return json.dumps({"key": key, "seed": int(rng.integers(1 << 31))}).encode()


def _fitted(path: Path) -> tuple[str, Any, str, np.random.Generator, dict[str, Any]]:
    case = json.loads(path.read_bytes())
    rng = np.random.default_rng(case["seed"])
    try:
        chosen = draw_options(case["key"], rng)
        params = chosen.pop("params")
        model = fit_options(case["key"], params, **chosen)
    except (ValueError, TypeError, ImportError) as error:
        raise RefusedFitError(str(error)) from error
    except pytest.skip.Exception as error:
        raise RefusedFitError(str(error)) from error
    return case["key"], model, chosen["form"], rng, {"params": params, **chosen}


def _check_roundtrip(path: Path) -> bool:
    """What a fit makes, ``save`` takes, and ``load`` gives back with the same bits."""
    key, model, form, _, options = _fitted(path)
    with tempfile.TemporaryDirectory() as folder:
        again = load(save(model, Path(folder) / "model"))
    assert_same(attributes(again), attributes(model), f"{key} {options}")
    assert_same(results(key, again, form), results(key, model, form), f"{key} {options}")
    return True


def _check_refused(path: Path) -> bool:
    """A fit that raises at any place changes no attribute and no prediction."""
    key, model, form, rng, options = _fitted(path)
    given = training_data(key, options["params"], form, options["extra"], seed=1)
    fault = int(rng.integers(len(_FAULTS) + 1))
    stop = int(rng.integers(1, 12))
    state, said = copy.deepcopy(attributes(model)), results(key, model, form)
    refused = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if fault < len(_FAULTS):
                model.fit(**_FAULTS[fault](given, rng))
            else:
                _interrupt(model, given, stop)
        except (ValueError, TypeError, KeyboardInterrupt):
            pass
        else:
            refused = False  # the estimator does not read what was changed
    if refused:
        assert_same(attributes(model), state, f"{key} {options} fault {fault}")
        assert_same(results(key, model, form), said, f"{key} {options} fault {fault}")
    if key in _SINGLE_COLUMNS:
        return True
    model.n_features_in_ = max(1, model.n_features_in_ - 1)
    X = np.ones((9, model.n_features_in_))
    for name in ("predict", "rank_score", "transform"):
        if hasattr(model, name) and model.n_features_in_ < given["X"].shape[1]:
            with pytest.raises((ValueError, TypeError)):
                getattr(model, name)(X)
    return True


def _change(name: str, change: Callable[[Any], Any]) -> Callable[[Any, Any], dict[str, Any]]:
    def changed(given: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        return {**given, name: change(given[name])} if name in given else {**given, "none": 1}

    return changed


_FAULTS: tuple[Callable[[Any, Any], dict[str, Any]], ...] = (
    _change("X", lambda X: X[:, :2] if not hasattr(X, "iloc") else X.iloc[:, :2] * np.inf),
    _change("X", lambda X: X * np.inf),
    _change("y", lambda y: y[:-1]),
    _change("y", lambda y: np.where(np.arange(len(y)) == 3, np.nan, 1.0)),
    _change("qid", lambda qid: qid[1:]),
    _change("sample_weight", lambda weight: -weight),
    _change("y_val", lambda y: y[2:]),
    _change("position", lambda position: position - 9),
)


def _interrupt(model: Any, given: dict[str, Any], stop: int) -> None:
    """Fit until an attribute has been set so many times, then raise as Ctrl-C does."""
    cls, seen = type(model), [0]

    def count(estimator: Any, name: str, value: Any) -> None:
        object.__setattr__(estimator, name, value)
        if estimator is model:
            seen[0] += 1
            if seen[0] == stop:
                raise KeyboardInterrupt

    own = vars(cls).get("__setattr__")
    cls.__setattr__ = count  # type: ignore[assignment]
    try:
        model.fit(**given)
    finally:
        if own is None:
            del cls.__setattr__
        else:
            cls.__setattr__ = own


def _target(name: str, check: Callable[[Path], bool]) -> Target:
    return Target(
        name, _make, check, ".json", (RefusedFitError,), names_file=False, measures_memory=False,
        base_bytes=1 << 40,
    )  # fmt: skip


TARGETS = (
    _target("roundtrip", _check_roundtrip),
    _target("refused_fits", _check_refused),
)
