"""The registry says what exists, and what it says is true."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator, clone

import rankwise
from rankwise._registry import BY_CLASS_NAME, REGISTRY
from rankwise.base import Ranker
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.labels.multi_label.multi_label_classifier import MultiLabel
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from rankwise.runtime.renames import PUBLIC
from tests.common.estimators import QUERY_WEIGHTS, load_class, small

ROOT = Path(__file__).parents[2]
EVERY = pytest.mark.parametrize("key", list(REGISTRY))
KINDS = {
    "ranker": (Ranker, "predict"),
    "ordinal": (OrdinalRanker, "rank_score"),
    "transformer": (BaseEstimator, "transform"),
    "cost-sensitive": (CostSensitiveClassifier, "decision_function"),
    "multi-label": (MultiLabel, "predict_ranking"),
}
PENALTIES = {"C", "alpha", "lam", "reg_alpha", "reg_lambda"}
ROUTED = {"qid", "sample_weight", "costs", "position"}
VALIDATION = {"X_val", "y_val", "qid_val"}
# Cross-validation would slice the rows like X, and hand the model or the log to every fold.
NEVER_ROUTED = {*VALIDATION, "init_model", "callbacks", "verbose"}


def find_public(cls: type) -> object:
    """What the documented path of a class leads to: rankwise, where it moved, or its package."""
    name = cls.__name__
    package = ".".join(cls.__module__.split(".")[:2])
    path = f"{'rankwise' if name in rankwise.__all__ else package}.{name}"
    module, _, _ = PUBLIC.get(f"rankwise.{name}", path).rpartition(".")
    return getattr(importlib.import_module(module), name)


@EVERY
def test_entry_loads_and_default_constructs(key):
    entry, cls = REGISTRY[key], load_class(key)
    assert entry.path == f"{cls.__module__}:{cls.__name__}"
    cls()
    assert find_public(cls) is cls
    assert BY_CLASS_NAME[cls.__name__] is entry


@EVERY
def test_kind_is_true(key):
    base, method = KINDS[REGISTRY[key].kind]
    assert issubclass(load_class(key), base)
    assert hasattr(load_class(key), method)


@EVERY
def test_summary_fits_a_line(key):
    summary = REGISTRY[key].summary
    assert 10 <= len(summary) <= 80
    assert summary == summary.strip()
    assert not summary.endswith(".")


@EVERY
def test_comparison_parameters_are_real(key):
    entry, estimator = REGISTRY[key], load_class(key)()
    assert entry.params.keys() | entry.space.keys() <= estimator.get_params().keys()
    compared = load_class(key)(**entry.params)
    assert clone(compared).get_params() == compared.get_params()
    compared._validate_params()
    for name, values in entry.space.items():
        assert len(values) > 1
        assert len(set(values)) == len(values)
        for value in values:
            clone(compared).set_params(**{name: value})._validate_params()
    assert not entry.space or "path" not in entry.tags


@EVERY
def test_tags_are_true(key):
    entry, cls = REGISTRY[key], load_class(key)
    takes_validation = inspect.signature(cls.fit).parameters.keys() >= VALIDATION
    assert takes_validation == ("validation" in entry.tags)
    if "deterministic" in entry.tags:
        assert "random_state" not in inspect.signature(cls).parameters
    elif entry.kind in ("ranker", "ordinal"):
        assert "random_state" in inspect.signature(cls).parameters


@EVERY
def test_extra_is_declared(key):
    extra = REGISTRY[key].extra
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extra == "" or extra in declared["optional-dependencies"]


def public_classes():
    for package in (
        "rankwise.rankers",
        "rankwise.ordinal",
        "rankwise.labels",
        "rankwise.features",
    ):
        walk = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
        for module_info in walk:
            try:
                module = importlib.import_module(module_info.name)
            except ImportError as error:
                assert "rankwise[" in str(error)
                continue
            for cls in vars(module).values():
                if isinstance(cls, type) and cls.__module__ == module.__name__:
                    yield cls


def test_every_estimator_in_the_tree_is_registered():
    """Classes that nothing is derived from are estimators for users, the others are bases."""
    estimators = [cls for cls in public_classes() if issubclass(cls, BaseEstimator)]
    bases = {Ranker, OrdinalRanker, MultiLabel}
    # read_booster makes it from a file; it cannot be trained, and so nothing can be listed of it.
    untrained = {rankwise.rankers.ImportedBooster}
    leaves = {cls for cls in estimators if not cls.__subclasses__()} - bases - untrained
    registered = {load_class(key) for key in REGISTRY}
    assert leaves <= registered
    assert registered <= set(estimators)


def test_all_lists_every_estimator_and_nothing_else():
    kept = {name for name, entry in BY_CLASS_NAME.items() if entry.kind in ("ranker", "ordinal")}
    assert kept == set(BY_CLASS_NAME) & set(rankwise.__all__)
    for name in rankwise.__all__:
        assert getattr(rankwise, name) is not None
    assert set(rankwise.__all__) <= set(dir(rankwise))


@EVERY
@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict", "score"])
def test_requests_are_the_signature(key, method):
    cls = load_class(key)
    if not hasattr(cls, method):
        pytest.skip(f"no {method}")
    arguments = set(inspect.signature(getattr(cls, method)).parameters)
    requests = getattr(cls().get_metadata_routing(), method).requests
    expected = dict.fromkeys(arguments & ROUTED, True)
    expected |= dict.fromkeys(arguments & NEVER_ROUTED)
    if key in QUERY_WEIGHTS and method == "fit":
        expected["sample_weight"] = None
    assert requests == expected
    if REGISTRY[key].kind in ("ranker", "ordinal") and method != "predict":
        assert requests["qid"] is True


@EVERY
def test_docstring_names_every_parameter(key):
    cls = load_class(key)
    doc = inspect.getdoc(cls)
    parameters = doc.partition("Parameters\n---")[2].partition("Attributes\n---")[0]
    for name in inspect.signature(cls).parameters:
        assert re.search(rf"^(\w+, )*{name}(, \w+)* : ", parameters, re.MULTILINE), name
    for heading in ("Attributes", "Notes", "Examples"):
        assert f"\n{heading}\n---" in doc


@EVERY
def test_small_estimator_is_the_registered_one(key):
    assert type(small(key)) is load_class(key)


@EVERY
def test_docstrings_print_the_objective_that_a_penalty_multiplies(key):
    cls = load_class(key)
    penalties = PENALTIES & inspect.signature(cls).parameters.keys()
    paragraphs = (inspect.getdoc(cls) or "").split("\n\n")
    objective = " ".join(text for text in paragraphs if text.startswith("Minimises"))
    assert penalties <= set(re.findall(r"\w+", " ".join(re.findall("``(.*?)``", objective))))
