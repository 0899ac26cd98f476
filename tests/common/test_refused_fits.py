"""A fit that raises, for any reason and at any stage, leaves the estimator as it was."""

from __future__ import annotations

import copy
import inspect
import warnings
from functools import cache

import numpy as np
import pytest

from rankwise._registry import REGISTRY
from rankwise.datasets import Qrels
from rankwise.fusion import LearnedFusion, ProbabilisticFusion
from rankwise.runtime import finite
from rankwise.text import TextIndex, TextRanker
from tests.common.estimators import accepts, small
from tests.common.states import assert_same

EVERY = pytest.mark.parametrize("key", list(REGISTRY))
N_ROWS, N_FEATURES = 24, 4
VALIDATED = [key for key, entry in REGISTRY.items() if "validation" in entry.tags]
WARM = ["lambdamart", "rank_boost", "frank", "orboost", "lightgbm", "xgboost", "catboost"]


def training_rows(key, seed=0, n_features=N_FEATURES):
    """Arguments of ``fit`` by name."""
    rng = np.random.default_rng(seed)
    given = {"X": rng.normal(size=(N_ROWS, n_features))}
    if REGISTRY[key].kind == "multi-label":
        given["y"] = rng.integers(0, 2, (N_ROWS, 3))
    elif accepts(key, "y") and REGISTRY[key].kind != "transformer":
        given["y"] = np.arange(N_ROWS) % 3
    if accepts(key, "qid"):
        given["qid"] = np.arange(N_ROWS) // 6
    return given


@cache
def _fitted(key):
    return small(key).fit(**training_rows(key))


def fitted(key):
    """A fitted model of four columns."""
    return copy.deepcopy(_fitted(key))


def outputs(key, model):
    """All that the model says of rows like those that it was fitted on."""
    X = training_rows(key, 1)["X"]
    names = ("predict", "predict_proba", "rank_score", "decision_function", "transform")
    return [getattr(model, name)(X) for name in names if hasattr(model, name)]


def attributes(model):
    """Copies of all attributes but the parsed model of a boosting library, which is a cache."""
    made = ("_booster", "_ensemble")  # from model_, when they are asked for
    return copy.deepcopy({name: x for name, x in vars(model).items() if name not in made})


def attributes_but(model, name):
    """The attributes without one."""
    return {key: value for key, value in attributes(model).items() if key != name}


def check_refusal(key, model, refused, errors=Exception):
    """Check that a call raises, and that no attribute and no prediction changes."""
    state, said = attributes(model), outputs(key, model)
    with warnings.catch_warnings(), pytest.raises(errors):
        warnings.simplefilter("ignore")
        refused()
    assert_same(attributes(model), state, key)
    assert_same(outputs(key, model), said, f"{key} scores")


def wider(key, **changes):
    """Rows of another width than those of :func:`fitted`, with some arguments replaced."""
    given = {**training_rows(key, 2, 2 * N_FEATURES), **changes}
    return {name: value for name, value in given.items() if value is not ...}


def bad_arguments(key):
    """Arguments that ``fit`` must refuse, by name of the fault."""
    X = wider(key)["X"]
    yield "infinity in X", wider(key, X=np.where(X > 1, np.inf, X))
    yield "X of one dimension", wider(key, X=X[:, 0])
    yield "text in X", wider(key, X=X.astype(object) + 1j)
    if "y" in wider(key):
        y = wider(key)["y"].astype(float)
        yield "NaN in y", wider(key, y=np.where(y == 1, np.nan, y))
        yield "short y", wider(key, y=y[:-1])
        yield "no y", wider(key, y=None)
        yield "y left out", wider(key, y=...)
    if "qid" in wider(key):
        yield "short qid", wider(key, qid=np.zeros(N_ROWS - 1))
        yield "missing qid", wider(key, qid=[None, *"a" * (N_ROWS - 1)])
    if accepts(key, "sample_weight"):
        yield "negative weight", wider(key, sample_weight=-np.ones(N_ROWS))
        yield "short weights", wider(key, sample_weight=np.ones(3))
    if accepts(key, "costs"):
        yield "costs of another shape", wider(key, costs=np.ones((N_ROWS, 7)))
    if accepts(key, "X_val"):
        yield "X_val without y_val", wider(key, X_val=X)
        yield "X_val of another width", wider(key, X_val=X[:, :3], y_val=wider(key)["y"])
    if accepts(key, "position"):
        yield "negative position", wider(key, position=-np.ones(N_ROWS, dtype=int))
    yield "unknown argument", wider(key, group=[N_ROWS])


@EVERY
def test_bad_arguments_cost_nothing(key):
    model = fitted(key)
    for fault, given in bad_arguments(key):
        try:
            check_refusal(key, model, lambda given=given: model.fit(**given))
        except BaseException as error:
            error.add_note(fault)
            raise


@EVERY
def test_a_bad_parameter_costs_nothing(key):
    model = fitted(key)
    names = type(model)._parameter_constraints.keys() & model.get_params(deep=False).keys()
    for name in sorted(names - {"kernel_params"}):
        known = getattr(model, name)
        setattr(model, name, object())
        state = attributes_but(model, name)
        with warnings.catch_warnings(), pytest.raises((ValueError, TypeError, AttributeError)):
            warnings.simplefilter("ignore")
            model.fit(**wider(key))
        assert_same(attributes_but(model, name), state, key)
        setattr(model, name, known)
    if not names:
        pytest.skip("no parameters")
    assert_same(outputs(key, model), outputs(key, fitted(key)), f"{key} scores")


@EVERY
def test_an_interrupt_after_the_solver_costs_nothing(key, monkeypatch):
    model = fitted(key)

    def interrupt(estimator):
        if estimator is model:
            raise KeyboardInterrupt
        return ""

    monkeypatch.setattr(finite, "_not_finite_attribute", interrupt)
    check_refusal(key, model, lambda: model.fit(**wider(key)), KeyboardInterrupt)


@EVERY
def test_an_interrupt_between_two_attributes_costs_nothing(key, monkeypatch):
    """Also for estimators that were not fitted before."""
    model, fresh = fitted(key), small(key)
    seen = [0, 0]

    def count(estimator, name, value):
        object.__setattr__(estimator, name, value)
        if estimator is model or estimator is fresh:
            seen[0] += 1
            if seen[0] == seen[1]:
                raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "__setattr__", count)
    copy.deepcopy(model).fit(**wider(key))
    model_state, fresh_state = attributes(model), attributes(fresh)
    fresh.fit(**wider(key))
    n_attributes = seen[0]
    fresh.__dict__ = copy.deepcopy(fresh_state)
    assert n_attributes > 0
    for stop in {1, (n_attributes + 1) // 2, n_attributes}:
        for estimator, state in ((model, model_state), (fresh, fresh_state)):
            seen[:] = 0, stop
            with pytest.raises(KeyboardInterrupt):
                estimator.fit(**wider(key))
            seen[1] = 0
            assert_same(
                attributes(estimator), state, f"{key} at attribute {stop} of {n_attributes}"
            )


@pytest.mark.parametrize("key", WARM)
def test_a_refused_warm_start_costs_nothing(key):
    few = {"n_estimators": 5}
    model = small(key, **few).fit(**training_rows(key))
    if "warm_start" in model.get_params():
        model.set_params(warm_start=True, n_estimators=8)
    narrow = training_rows(key, 2, 2)
    if "warm_start" in model.get_params():
        check_refusal(key, model, lambda: model.fit(**narrow), ValueError)
        model.set_params(n_estimators=2)
        check_refusal(key, model, lambda: model.fit(**training_rows(key)), ValueError)
    bad = {**training_rows(key, 2), "X_val": training_rows(key)["X"]}
    check_refusal(key, model, lambda: model.fit(**bad), ValueError)


@pytest.mark.parametrize("key", ["lambdamart", "rank_boost", "frank", "orboost"])
def test_a_warm_start_that_adds_nothing_is_said(key):
    model = small(key, n_estimators=3, warm_start=True).fit(**training_rows(key))
    scores = getattr(model, "rank_score", model.predict)
    said = scores(training_rows(key)["X"])
    n_rounds = model.n_estimators_
    with pytest.warns(UserWarning, match=f"adds no round to the {n_rounds} .*Raise n_estimators"):
        model.set_params(n_estimators=n_rounds).fit(**training_rows(key, 5))
    assert_same(scores(training_rows(key)["X"]), said, key)


@pytest.mark.parametrize("key", WARM)
def test_an_interrupted_warm_start_costs_nothing(key, monkeypatch):
    model = small(key, n_estimators=5).fit(**training_rows(key))
    if "warm_start" not in model.get_params():
        pytest.skip("no warm start")
    model.set_params(warm_start=True, n_estimators=8)

    def interrupt(estimator):
        raise KeyboardInterrupt

    monkeypatch.setattr(finite, "_not_finite_attribute", interrupt)
    check_refusal(key, model, lambda: model.fit(**training_rows(key, 2)), KeyboardInterrupt)


@EVERY
def test_a_refused_batch_costs_nothing(key, monkeypatch):
    model = small(key)
    if not hasattr(model, "partial_fit"):
        pytest.skip("no batches")
    given = training_rows(key)
    takes_classes = "classes" in inspect.signature(model.partial_fit).parameters
    classes = {"classes": [0, 1, 2]} if takes_classes else {}
    model.partial_fit(**given, **classes)
    for bad in (
        training_rows(key, 2, 2),
        {**training_rows(key, 2), "y": np.full(N_ROWS, np.nan)},
        {**training_rows(key, 2), "qid": np.zeros(3)},
    ):
        check_refusal(key, model, lambda bad=bad: model.partial_fit(**bad), ValueError)

    def interrupt(estimator):
        raise KeyboardInterrupt

    monkeypatch.setattr(finite, "_not_finite_attribute", interrupt)
    more = {**training_rows(key, 2), "qid": np.arange(N_ROWS) // 6 + 9}
    check_refusal(key, model, lambda: model.partial_fit(**more), KeyboardInterrupt)


def test_generators_of_refused_fits_are_not_advanced(monkeypatch):
    model = small("orboost", estimator="perceptron", random_state=np.random.RandomState(3))
    expected = copy.deepcopy(model).fit(**training_rows("orboost"))

    def interrupt(estimator):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(finite, "_not_finite_attribute", interrupt)
        model.fit(**training_rows("orboost", 2))
    assert_same(vars(model.fit(**training_rows("orboost"))), vars(expected), "orboost")


def test_a_transform_that_fails_costs_nothing():
    """``fit_transform`` of numbers that can be learnt from but not transformed."""
    model = fitted("polynomial_terms")
    X = np.full((N_ROWS, 2), 1e200)
    check_refusal("polynomial_terms", model, lambda: model.fit_transform(X), ValueError)


# Estimators outside the registry ------------------------------------------------------------------

RUNS = {
    "a": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 2.0, "d3": 1.0}},
    "b": {"q1": {"d2": 2.0, "d3": 1.0}, "q2": {"d3": 2.0, "d1": 1.0}},
}
JUDGED = Qrels(np.array(["q1", "q2"]), np.array(["d2", "d3"]), np.array([1, 1]))
UNKNOWN = Qrels(np.array(["q9"]), np.array(["d9"]), np.array([1]))


@pytest.mark.parametrize("fusion", [LearnedFusion(), ProbabilisticFusion("pos")])
def test_refused_fits_of_fusion(fusion, monkeypatch):
    fusion.fit(RUNS, JUDGED)
    state = copy.deepcopy(vars(fusion))
    with pytest.raises(ValueError, match="judge"):
        fusion.fit({"c": RUNS["a"]}, UNKNOWN)
    assert_same(vars(fusion), state, "fusion")

    def interrupt(estimator, name, value):
        object.__setattr__(estimator, name, value)
        if name == "systems_":
            raise KeyboardInterrupt

    monkeypatch.setattr(type(fusion), "__setattr__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fusion.fit({"c": RUNS["a"], "d": RUNS["b"], "e": RUNS["a"]}, JUDGED)
    assert_same(vars(fusion), state, "fusion")


def test_refused_fits_of_a_text_ranker(monkeypatch):
    index = TextIndex().add({"a": "black cat", "b": "a cat and a black dog", "c": "white cat"})
    queries = {"q1": "black cat", "q2": "white cat"}
    ranker = TextRanker(index).fit(queries, {"q1": {"a": 1}, "q2": {"c": 1}})
    fitted_ranker, names = ranker.estimator_, ranker.feature_names_
    expected = ranker.rank("cat").scores
    with pytest.raises(ValueError, match="judge no candidate"):
        ranker.fit(queries, {"q9": {"a": 1}})

    def interrupt(estimator, name, value):
        object.__setattr__(estimator, name, value)
        if name == "estimator_":
            raise KeyboardInterrupt

    monkeypatch.setattr(TextRanker, "__setattr__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(queries, {"q1": {"b": 1}, "q2": {"a": 1}})
    assert ranker.estimator_ is fitted_ranker
    assert ranker.feature_names_ is names
    np.testing.assert_array_equal(ranker.rank("cat").scores, expected)
