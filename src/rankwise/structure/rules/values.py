"""Rules for values other than arrays: numbers, text, containers, parts and estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.structure.rules.arrays import Names
from rankwise.structure.rules.objects import check_attributes
from rankwise.structure.rules.scope import Found, Rule, Scope, Size, StructureError, violation


@dataclass(frozen=True)
class Number(Rule):
    """A Python or NumPy number.

    Attributes
    ----------
    kind : {"f", "i", "b"}
        "f" takes integers too.
    low, high : float or None
        Ends included.
    finite : bool
    size : str
        Symbol bound to the value of a whole number; empty: none.
    """

    kind: str = "f"
    low: float | None = None
    high: float | None = None
    finite: bool = True
    size: Size = ""

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        plain = value.item() if isinstance(value, np.generic) else value
        wanted = {"f": int | float, "i": int, "b": bool}[self.kind]
        if not isinstance(plain, wanted) or (isinstance(plain, bool) and self.kind != "b"):
            what = {"f": "a number", "i": "a whole number", "b": "True or False"}[self.kind]
            raise violation(where, f"be {what}", value)
        if self.finite and not -np.inf < plain < np.inf:
            raise violation(where, "be finite", value)
        if self.low is not None and plain < self.low:
            raise violation(where, f"be at least {self.low:g}", value)
        if self.high is not None and plain > self.high:
            raise violation(where, f"be at most {self.high:g}", value)
        if self.size and not scope.agrees(self.size, int(plain)):
            raise violation(where, f"be {self.size} = {scope.value(self.size)}", value)
        return iter(())


@dataclass(frozen=True)
class Word(Rule):
    """Text; one of the given words, if any."""

    words: tuple[str, ...] = ()

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not isinstance(value, str) or (self.words and value not in self.words):
            raise violation(
                where, f"be one of {list(self.words)}" if self.words else "be text", value
            )
        return iter(())


@dataclass(frozen=True)
class Bytes(Rule):
    """Bytes; the class that holds them checks their content."""

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not isinstance(value, bytes):
            raise violation(where, "be bytes", value)
        return iter(())


@dataclass(frozen=True)
class Optional(Rule):
    """None, or a value that follows another rule."""

    rule: Rule

    @property
    def holds_parts(self) -> bool:
        return self.rule.holds_parts

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        return iter(()) if value is None else self.rule.check(value, where, scope)


@dataclass(frozen=True)
class Either(Rule):
    """The requirements of the first rule that applies."""

    rules: tuple[Rule, ...]

    @property
    def holds_parts(self) -> bool:
        return True

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        error: StructureError | None = None
        for rule in self.rules:
            try:
                return iter(list(rule.check(value, where, scope)))
            except StructureError as raised:
                error = error or raised
        assert error is not None
        raise error


@dataclass(frozen=True)
class Many(Rule):
    """A list or tuple whose items all follow a rule."""

    rule: Rule
    size: Size = ""

    @property
    def holds_parts(self) -> bool:
        return True

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not isinstance(value, list | tuple):
            raise violation(where, "be a list", value)
        if self.size and not scope.agrees(self.size, len(value)):
            raise violation(where, f"have {scope.value(self.size)} items", len(value))
        for number, item in enumerate(value):
            yield from self.rule.check(item, f"{where}[{number}]", scope)


@dataclass(frozen=True)
class Dictionary(Rule):
    """A dict with one rule for all values and another for all keys."""

    keys: Rule
    values: Rule

    @property
    def holds_parts(self) -> bool:
        return True

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not dict:
            raise violation(where, "be a dict", value)
        for key, item in value.items():
            yield from self.keys.check(key, f"a key of {where}", scope)
            yield from self.values.check(item, f"{where}[{key!r}]", scope)


@dataclass(frozen=True)
class Instance(Rule):
    """An object of one of the given classes, which declare their structure."""

    classes: tuple[type, ...]

    @property
    def holds_parts(self) -> bool:
        return True

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) not in self.classes:
            names = " or ".join(cls.__name__ for cls in self.classes)
            raise violation(where, f"be a {names}", value)
        return check_attributes(value, vars(value), where, Scope(scope), complete=True)


@dataclass(frozen=True)
class Fitted(Rule):
    """A fitted estimator, of this library or another.

    ``n_features`` is the number of columns of its training rows; empty for any number.
    """

    n_features: Size = ""

    @property
    def holds_parts(self) -> bool:
        return True

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not callable(getattr(type(value), "fit", None)):
            raise violation(where, "be an estimator", value)
        width = getattr(value, "n_features_in_", None)
        expected = scope.value(self.n_features) if self.n_features else None
        if expected is not None and width is not None and width != expected:
            raise violation(f"{where}.n_features_in_", f"be {expected}", width)
        yield where, value


@dataclass(frozen=True)
class Plain(Rule):
    """Results that no method computes with: any numbers, text, and lists of them."""

    @property
    def holds_parts(self) -> bool:
        return True

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        yield where, value


@dataclass(frozen=True)
class Sometimes(Rule):
    """An attribute that some fits set and others do not."""

    rule: Rule

    @property
    def holds_parts(self) -> bool:
        return self.rule.holds_parts

    @property
    def may_lack(self) -> bool:
        return True

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        return self.rule.check(value, where, scope)


@dataclass(frozen=True)
class Fingerprint(Rule):
    """Counts and hash of training rows, see :func:`rankwise.rows.training_fingerprint`."""

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not isinstance(value, dict) or value.keys() != _FINGERPRINT.keys():
            raise violation(where, f"be a dictionary of {', '.join(_FINGERPRINT)}", value)
        for key, rule in _FINGERPRINT.items():
            yield from rule.check(value[key], f"{where}[{key!r}]", scope)


_FINGERPRINT: dict[str, Rule] = {
    "n_samples": Number("i", low=0),
    "n_features": Number("i", low=1, size="n_features_in_"),
    "n_queries": Number("i", low=0),
    "dtype": Word(),
    "sha256": Word(),
}
# Attributes of every fitted estimator.
TRAINED_ON: dict[str, Rule] = {
    "n_features_in_": Number("i", low=1, size="n_features_in_"),
    "feature_names_in_": Sometimes(Names("n_features_in_")),
    "fit_fingerprint_": Sometimes(Fingerprint()),
}
