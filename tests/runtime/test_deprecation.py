"""Deprecated names work with a FutureWarning, and are removed when their time has come."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from packaging.version import Version
from sklearn.base import clone

from rankwise import RidgeRanker
from rankwise._version import RELEASE
from rankwise.runtime.deprecation import (
    deprecate_name,
    deprecate_parameter,
    deprecate_value,
    removal,
)

ROOT = Path(__file__).parents[2]


@deprecate_parameter("n", "k", since="0.5")
@deprecate_parameter("size", "width", since="0.6")
def cut(values, *, k=1, width=0):
    return values[:k], width


class Penalised(RidgeRanker):
    @deprecate_parameter("penalty", "alpha", since="0.5")
    def __init__(self, alpha=1.0):
        super().__init__(alpha=alpha)


def test_an_old_parameter_is_passed_on_as_the_new_one():
    message = r"cut: n is deprecated since version 0.5 and will be removed in 0.7. Use k instead."
    with pytest.warns(FutureWarning, match=message) as caught:
        assert cut([1, 2, 3], n=2) == ([1, 2], 0)
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match="removed in 0.8"):
        assert cut([1, 2, 3], size=4) == ([1], 4)
    assert cut([1, 2, 3], k=3) == ([1, 2, 3], 0)
    with pytest.raises(TypeError, match=r"got n and k, which are one parameter. Pass k."):
        cut([1], n=1, k=1)


def test_an_old_parameter_of_an_estimator():
    with pytest.warns(FutureWarning, match="Penalised: penalty is deprecated"):
        model = Penalised(penalty=3.0)
    assert clone(model).get_params() == {"alpha": 3.0}
    with pytest.warns(FutureWarning, match="Penalised: penalty is deprecated"):
        assert model.set_params(penalty=5.0).alpha == 5.0
    with pytest.raises(TypeError, match="Penalised"):
        Penalised(other=1)


def test_an_old_value_and_an_old_name():
    changes = {"max-t": "max_t"}
    with pytest.warns(FutureWarning, match=r"correction='max-t' .* Use 'max_t' instead."):
        assert deprecate_value("correction", "max-t", changes, since="0.5") == "max_t"
    assert deprecate_value("correction", None, changes, since="0.5") is None
    with pytest.warns(FutureWarning, match="trim is deprecated"):
        assert deprecate_name("trim", cut, since="0.5")([1, 2]) == ([1], 0)


def deprecations():
    """Each call of the functions above in the sources, and its ``since``."""
    for folder in (ROOT / "src", ROOT / "papers" / "src"):
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                name = getattr(getattr(node, "func", None), "id", "")
                if isinstance(node, ast.Call) and name.startswith("deprecate_"):
                    since = {word.arg: word.value for word in node.keywords}["since"]
                    yield f"{path.name}:{node.lineno}", ast.literal_eval(since)


def test_nothing_is_deprecated_longer_than_it_says():
    now = Version(Version(RELEASE).base_version)
    overdue = [where for where, since in deprecations() if Version(removal(since)) <= now]
    assert overdue == [], "remove the old names, and enter them in renames.py"
    assert Version(removal("0.9")) == Version("0.11")
