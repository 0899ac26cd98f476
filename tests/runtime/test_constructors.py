"""Constructors take at most two arguments by position; the error says how to pass the others."""

from __future__ import annotations

import inspect

import pytest
from benchmarks._public_names import public
from sklearn.base import BaseEstimator, clone

import rankwise
from rankwise import LambdaMART, ORBoost, RankSVM

BY_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD


def constructors():
    """Classes of ``rankwise``, and estimators of all packages."""
    own = {f"rankwise.{name}": getattr(rankwise, name) for name in rankwise.__all__}
    for name, item in {**own, **dict(public())}.items():
        if inspect.isclass(item) and (name in own or issubclass(item, BaseEstimator)):
            yield name, item


CONSTRUCTORS = dict(constructors())


def kinds_of(item, kind):
    parameters = list(inspect.signature(item.__init__).parameters.values())[1:]
    return [parameter.name for parameter in parameters if parameter.kind is kind]


@pytest.mark.parametrize("name", sorted(CONSTRUCTORS))
def test_constructors_take_two_arguments_by_position(name):
    item = CONSTRUCTORS[name]
    first = kinds_of(item, BY_POSITION)
    assert len(first) <= 2
    later = kinds_of(item, inspect.Parameter.KEYWORD_ONLY)
    if later:
        said = rf"{item.__name__}\(\) takes .*, got {len(first) + 1}: pass {later[0]} by keyword\."
        with pytest.raises(TypeError, match=said):
            item(*[0] * (len(first) + 1))


def test_all_surplus_arguments_are_named():
    said = (
        r"RankSVM\(\) takes at most 2 positional arguments \(C, loss\), got 4: pass kernel, gamma "
        "by keyword"
    )
    with pytest.raises(TypeError, match=said):
        RankSVM(1.0, "hinge", "rbf", 0.5)
    with pytest.raises(TypeError, match=r"got 3: pass gamma by keyword"):
        RankSVM(1.0, "hinge", "rbf", kernel="rbf")
    with pytest.raises(TypeError, match=r"LambdaMART.fit\(\) takes .*got 3: pass qid by keyword"):
        LambdaMART().fit([[0.0]], [0], [1])


def test_orboost_takes_its_number_of_rounds_first():
    booster = ORBoost(50)
    assert (booster.n_estimators, booster.form) == (50, "all")
    assert ORBoost(50, "lr").form == clone(ORBoost(50, "lr")).form == "lr"


@pytest.mark.parametrize(
    ("args", "given", "rounds"),
    [
        (("lr",), {}, None),
        (("lr", 50), {}, 50),
        (("lr",), {"n_estimators": 50}, 50),
        (("lr", 50), {"estimator": "perceptron"}, 50),
    ],
)
def test_a_string_first_is_the_form_of_orboost_for_one_release(args, given, rounds):
    with pytest.warns(FutureWarning, match="n_estimators: pass form='lr' by keyword") as caught:
        booster = ORBoost(*args, **given)
    assert caught[0].filename == __file__
    assert booster.get_params() == {**ORBoost(rounds, "lr").get_params(), **given}
