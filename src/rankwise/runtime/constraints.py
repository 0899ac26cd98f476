"""Rules that parameters of estimators follow, and the error for a value that breaks them.

The rules have the names and the messages of scikit-learn's own, which are private there and change
between its releases. An estimator lists them in ``_parameter_constraints``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.runtime.messages import ArgumentError
from rankwise.runtime.renames import NamesOldAttributes, find_new_word
from rankwise.typing import Seed


class InvalidParameterError(ValueError, TypeError):
    """A parameter has the wrong type or value."""


class Constraint:
    """A rule for one value; ``str`` completes "must be …"."""

    def __init__(self, text: str, holds: Callable[[Any], bool], *, hidden: bool = False) -> None:
        self._text = text
        self.is_satisfied_by = holds
        self.hidden = hidden  # left out of the message

    def __str__(self) -> str:
        return self._text


class Options(Constraint):
    """One of a few values of a type."""

    options: set[Any]
    type: type

    def __init__(self, type: type, options: set[Any]) -> None:
        self.type, self.options = type, options
        among = ", ".join(sorted(map(repr, options)))
        super().__init__(
            f"a {_name_type(type)} among {{{among}}}",
            lambda value: isinstance(value, type) and value in options,
        )


class StrOptions(Options):
    """One of a few words."""

    def __init__(self, options: set[str]) -> None:
        super().__init__(str, options)


class NumberRange(Constraint):
    """Whole or real numbers between two bounds; None: without a bound.

    ``closed`` is "left", "right", "both" or "neither": which bounds are allowed values.
    """

    closed: str
    left: float | None
    right: float | None
    type: type

    def __init__(self, type: type, left: float | None, right: float | None, *, closed: str) -> None:
        self.type, self.left, self.right, self.closed = type, left, right, closed
        low, high = (
            bound if bound is None or type is Integral else float(bound) for bound in (left, right)
        )
        super().__init__(
            f"{'an' if type is Integral else 'a'} {_name_type(type)} in the range "
            f"{'[' if closed in ('left', 'both') else '('}{'-inf' if low is None else low}, "
            f"{'inf' if high is None else high}{']' if closed in ('right', 'both') else ')'}",
            self._contains,
        )

    def _contains(self, value: Any) -> bool:
        if not isinstance(value, self.type):
            return False
        left = -np.inf if self.left is None else self.left
        right = np.inf if self.right is None else self.right
        is_above = value >= left if self.closed in ("left", "both") else value > left
        is_below = value <= right if self.closed in ("right", "both") else value < right
        return bool(is_above and is_below)  # neither is true of NaN


class HasMethods(Constraint):
    """An object with these methods."""

    def __init__(self, methods: str | list[str]) -> None:
        self.methods: list[str] = [methods] if isinstance(methods, str) else methods
        super().__init__(
            f"an object implementing {_join(map(repr, self.methods), 'and')}",
            lambda value: all(callable(getattr(value, name, None)) for name in self.methods),
        )


class Hidden:
    """A rule that no message mentions."""

    def __init__(self, constraint: Any) -> None:
        self.constraint = constraint


def _name_type(kind: type) -> str:
    known = {Real: "float", Integral: "int"}.get(kind)
    return known or (kind.__name__ if kind.__module__ == "builtins" else
                     f"{kind.__module__}.{kind.__qualname__}")  # fmt: skip


def _join(words: Iterable[str], last: str) -> str:
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final


def _is_array_like(value: Any) -> bool:
    has_rows = any(hasattr(value, name) for name in ("__len__", "shape", "__array__"))
    return has_rows and not np.isscalar(value) and not sparse.issparse(value)


_NONE = Constraint("None", lambda value: value is None)
_SEED = [
    NumberRange(Integral, 0, 2**32 - 1, closed="both"),
    np.random.RandomState,
    np.random.Generator,
    None,
]
_FOLDS = [
    NumberRange(Integral, 2, None, closed="left"),
    HasMethods(["split", "get_n_splits"]),
    Constraint(
        "an iterable", lambda value: isinstance(value, Iterable) and not isinstance(value, str)
    ),
    None,
]
# Words in ``_parameter_constraints`` that stand for several rules.
_WORDS: dict[str, list[Any]] = {
    "array-like": [Constraint("an array-like", _is_array_like)],
    "sparse matrix": [Constraint("a sparse array or matrix", sparse.issparse)],
    "boolean": [bool, np.bool_],
    "random_state": _SEED,
    "cv_object": _FOLDS,
}


def _expand(rule: Any) -> list[Constraint]:
    """The constraints that one entry of ``_parameter_constraints`` stands for."""
    if isinstance(rule, Hidden):
        (inner,) = _expand(rule.constraint)
        return [Constraint(str(inner), inner.is_satisfied_by, hidden=True)]
    if isinstance(rule, str):
        if rule not in _WORDS:
            raise ValueError(f"unknown constraint {rule!r}; known: {', '.join(_WORDS)}.")
        return [part for inner in _WORDS[rule] for part in _expand(inner)]
    if rule is None:
        return [_NONE]
    if rule is callable:
        return [Constraint("a callable", callable)]
    if isinstance(rule, type):
        text = f"an instance of {_name_type(rule)!r}"
        return [Constraint(text, lambda value: isinstance(value, rule))]
    return [rule]


def validate_parameters(
    rules: Mapping[str, list[Any]], parameters: Mapping[str, Any], owner: str
) -> None:
    """Raise InvalidParameterError for the first parameter that satisfies none of its rules.

    ``rules`` maps parameters to instances of the classes above, types, None, ``callable``,
    "array-like", "sparse matrix", "boolean", "random_state" or "cv_object". Parameters without
    rules are not checked.
    """
    for name, value in parameters.items():
        allowed = [constraint for rule in rules.get(name, ()) for constraint in _expand(rule)]
        if allowed and not any(constraint.is_satisfied_by(value) for constraint in allowed):
            text = _join((str(rule) for rule in allowed if not rule.hidden), "or")
            said = f"The {name!r} parameter of {owner} must be {text}. Got {value!r} instead."
            raise InvalidParameterError(f"{said} {find_new_word(said)}".rstrip())


class ValidatedParameters(NamesOldAttributes):
    """Mixin of estimators whose parameters follow the rules in ``_parameter_constraints``."""

    def _validate_params(self) -> None:
        known: Any = self
        validate_parameters(
            known._parameter_constraints, known.get_params(deep=False), type(self).__name__
        )


def check_random_state(random_state: Seed) -> np.random.RandomState:
    """The RandomState of a seed; a Generator draws the seed of a new one."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**32, size=4))
    _refuse_other_seeds(random_state)
    from sklearn.utils import check_random_state

    return check_random_state(random_state)


def make_generator(random_state: Seed) -> np.random.Generator:
    """The Generator of a seed; a RandomState draws the seed of a new one."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    _refuse_other_seeds(random_state)
    return np.random.default_rng(random_state)


def draw_seed(random_state: Seed) -> int:
    """An int as it is; a number below 2**31 drawn from anything else."""
    _refuse_other_seeds(random_state)
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _refuse_other_seeds(random_state: Any) -> None:
    is_number = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    kinds = (np.random.RandomState, np.random.Generator, type(None))
    if not (isinstance(random_state, kinds) or (is_number and random_state >= 0)):
        known = "a whole number >= 0, a RandomState, a Generator or None"
        raise ArgumentError("random_state", f"must be {known}, got {random_state!r}.")
