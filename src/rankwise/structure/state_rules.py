"""Structure of fitted state: rules declared by classes, and the check of objects against them.

A class lists its fitted attributes in ``_structure``, each with a rule: the shape of an array in
symbols, its kind of numbers and their range. Subclasses inherit the rules of their bases. Equal
symbols stand for equal sizes within an object and in the objects that it holds, so
``Array("n_nodes")`` in two attributes requires arrays of equal length. Relations between attributes
that symbols cannot express belong in a method ``_check_structure``, which raises ValueError.

The rules serve :mod:`rankwise.persistence`: kernels compiled by Numba index arrays without bounds
checks, so the numbers of a model file are checked before any method of the model is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from rankwise.typing import is_sparse

Found = Iterator[tuple[str, Any]]
Size = int | str

_SIZE = re.compile(r"(\w+)(?: ([+-]) (\d+))?")


class StructureError(ValueError):
    """An attribute that breaks the rule of its class."""


class Rule:
    """Requirement on an attribute; subclasses define ``check``."""

    holds_parts: ClassVar[bool] = False  # whether a value may hold objects with rules of their own

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        """Raise StructureError, or yield the parts of ``value`` that have rules of their own."""
        raise NotImplementedError(f"{type(self).__name__} must define check.")


class Scope:
    """Sizes bound to symbols; those of the enclosing object are visible."""

    def __init__(self, outer: Scope | None = None) -> None:
        self._sizes: dict[str, int] = {}
        self._outer = outer

    def bind(self, name: str, size: int) -> None:
        """Fix the size of a symbol."""
        self._sizes[name] = size

    def value(self, size: Size) -> int | None:
        """Size denoted by an expression such as ``"n_nodes + 1"``; None if not known yet."""
        if isinstance(size, int):
            return size
        name, shift = _parse_size(size)
        known = self._find_size(name)
        return None if known is None else known + shift

    def agrees(self, size: Size, length: int) -> bool:
        """Whether a length equals an expression; an unbound symbol is bound to it."""
        expected = self.value(size)
        if expected is None:
            name, shift = _parse_size(str(size))
            self.bind(name, length - shift)
            return length >= shift
        return length == expected

    def _find_size(self, name: str) -> int | None:
        if name in self._sizes:
            return self._sizes[name]
        return None if self._outer is None else self._outer._find_size(name)


@cache
def _parse_size(size: str) -> tuple[str, int]:
    matched = _SIZE.fullmatch(size)
    assert matched is not None, size
    name, sign, shift = matched.groups()
    return name, int(f"{sign}{shift}") if sign else 0


def check_shape(
    shape: tuple[int, ...], sizes: tuple[Size, ...] | None, where: str, scope: Scope
) -> None:
    """Raise if a shape does not agree with sizes; unbound symbols are bound to it."""
    if sizes is None:
        return
    if len(shape) != len(sizes) or not all(map(scope.agrees, sizes, shape)):
        said = ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "")
        known = {str(s): scope.value(s) for s in sizes if isinstance(s, str)}
        meaning = ", ".join(f"{name} = {size}" for name, size in known.items() if size is not None)
        raise violation(
            where, f"have shape ({said})" + (f" with {meaning}" if meaning else ""), shape
        )


def violation(where: str, rule: str, value: Any) -> StructureError:
    """The error for a broken rule."""
    return StructureError(f"{where} must {rule}, got {_short(value)}")


def run(found: Found) -> None:
    """Run a check that yields no parts."""
    for _ in found:
        pass


def _short(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(value) if not isinstance(value, np.dtype) else f"dtype {value}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."


_KINDS = {"f": "floating-point numbers", "i": "integers", "u": "unsigned integers", "b": "booleans"}


@dataclass(frozen=True)
class Array(Rule):
    """A NumPy array."""

    shape: tuple[Size, ...] | None  # sizes, or symbols plus or minus a number; None: any
    kind: str = "f"  # kinds of numbers as in ``dtype.kind``; "f" is float32 or float64
    dtype: str = ""  # such as "i4"; empty: any of the kind
    low: float | None = None  # range of the entries, ends included
    high: float | None = None
    below: Size | None = None  # size that all entries must be below
    numbers: str = "finite"  # also "not NaN" or "any"
    ascending: bool = False  # along the last axis, equal entries allowed

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not np.ndarray:
            raise violation(where, "be an array", value)
        self._check_type(value.dtype, where)
        check_shape(value.shape, self.shape, where, scope)
        self.check_entries(value, where, scope)
        return iter(())

    def check_entries(self, value: Any, where: str, scope: Scope) -> None:
        """Check the numbers of an array of the right type and shape."""
        if self.kind == "f" and self.numbers != "any":
            is_finite = self.numbers == "finite"
            good = np.isfinite(value) if is_finite else ~np.isnan(value)
            if not good.all():
                what = "finite numbers" if is_finite else "no NaN"
                raise violation(where, f"hold {what}", value[~good][0])
        if not value.size:
            return
        low, high = value.min(), value.max()
        if self.low is not None and low < self.low:
            raise violation(where, f"hold numbers >= {self.low:g}", low)
        if self.high is not None and high > self.high:
            raise violation(where, f"hold numbers <= {self.high:g}", high)
        limit = None if self.below is None else scope.value(self.below)
        if limit is not None and high >= limit:
            raise violation(where, f"hold numbers below {self.below} = {limit}", high)
        if self.ascending and (value[..., 1:] < value[..., :-1]).any():
            raise violation(where, "hold numbers in ascending order", value)

    def _check_type(self, dtype: np.dtype[Any], where: str) -> None:
        if self.dtype:
            if dtype != np.dtype(self.dtype):
                raise violation(where, f"have dtype {np.dtype(self.dtype)}", dtype)
        elif dtype.kind not in self.kind or not 1 <= dtype.itemsize <= 8 or not dtype.isnative:
            raise violation(where, f"hold {' or '.join(_KINDS[kind] for kind in self.kind)}", dtype)
        elif dtype.kind == "f" and dtype.itemsize < 4:
            raise violation(where, "hold float32 or float64", dtype)


def floats(*shape: Size, **rules: Any) -> Array:
    """Finite floating-point numbers."""
    return Array(shape, "f", **rules)


def integers(*shape: Size, **rules: Any) -> Array:
    """Signed integers."""
    return Array(shape, "i", **rules)


def booleans(*shape: Size) -> Array:
    """Truth values."""
    return Array(shape, "b")


@dataclass(frozen=True)
class MatrixRows(Rule):
    """A float array or a CSR matrix of shape (n_rows, n_columns) with finite entries."""

    n_rows: Size
    n_columns: Size

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        rule = Array((self.n_rows, self.n_columns))
        if not is_sparse(value):
            return rule.check(value, where, scope)
        check_sparse(value, where)
        if value.format != "csr":
            raise violation(where, "be an array or a CSR matrix", value.format)
        check_shape(value.shape, rule.shape, where, scope)
        return Array(("n_entries",)).check(value.data, f"{where}.data", Scope())


@dataclass(frozen=True)
class ClassLabels(Rule):
    """Distinct class labels of one type, one for each class."""

    size: Size = "n_classes"

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not np.ndarray or value.dtype.kind not in "biufOSUMm":
            raise violation(where, "be an array of class labels", value)
        check_shape(value.shape, (self.size,), where, scope)
        labels = value.tolist()
        if not all(isinstance(label, str | bytes | bool | int | float) for label in labels) and (
            value.dtype.kind == "O"
        ):
            raise violation(where, "hold names or numbers", value)
        if len(labels) < 1 or len(set(labels)) < len(labels) or any(x != x for x in labels):
            raise violation(where, "hold distinct class labels", value)
        return iter(())


@dataclass(frozen=True)
class Names(Rule):
    """An array of text."""

    size: Size

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not np.ndarray or value.dtype.kind not in "OU":
            raise violation(where, "be an array of names", value)
        check_shape(value.shape, (self.size,), where, scope)
        if not all(isinstance(name, str) for name in value.tolist()):
            raise violation(where, "hold text", value)
        return iter(())


def check_sparse(value: Any, where: str) -> None:
    """Raise if the indices of a compressed sparse matrix leave its shape."""
    if value.format not in ("csr", "csc"):
        raise violation(where, "be a CSR or CSC matrix", value.format)
    if value.data.dtype.kind not in "biuf" or not value.data.dtype.isnative:
        raise violation(f"{where}.data", "hold numbers", value.data.dtype)
    n_major, n_minor = value.shape if value.format == "csr" else value.shape[::-1]
    scope = Scope()
    scope.bind("n_major", n_major)
    scope.bind("n_minor", n_minor)
    scope.bind("n_entries", len(value.data))
    ends = integers("n_major + 1", low=0, high=len(value.indices), ascending=True)
    run(ends.check(value.indptr, f"{where}.indptr", scope))
    if value.indptr[0] != 0 or value.indptr[-1] != len(value.indices):
        raise violation(f"{where}.indptr", f"go from 0 to {len(value.indices)}", value.indptr)
    entries = integers("n_entries", low=0, below="n_minor")
    run(entries.check(value.indices, f"{where}.indices", scope))


@cache
def structure_of(cls: type) -> Mapping[str, Rule]:
    """Rules of a class and its bases; empty if none are declared."""
    rules: dict[str, Rule] = {}
    for base in reversed(cls.__mro__):
        rules |= vars(base).get("_structure", {})
    return rules


def forget(model: Any) -> None:
    """Remove the fitted attributes of the class: a fit learns nothing from the one before it."""
    for name in structure_of(type(model)).keys() & vars(model).keys():
        delattr(model, name)


def check_attributes(
    obj: Any,
    state: Mapping[str, Any],
    where: str,
    scope: Scope,
    *,
    complete: bool,
    own: Collection[str] = (),
) -> Found:
    """Check the declared attributes of an object; returns parts with rules of their own.

    ``state`` need not be ``vars(obj)``, and ``where`` names the object in messages. With
    ``complete``, all attributes but those declared as ``Sometimes`` must be present. Attributes
    in ``own``, such as parameters, need no rule; others may not replace a method or another
    attribute of the class.
    """
    rules, lacking = structure_of(type(obj)), False
    # Arrays and numbers bind the symbols that the parts refer to.
    for name, rule in sorted(rules.items(), key=lambda item: _holds_parts(item[1])):
        if name in state:
            yield from rule.check(state[name], f"{where}.{name}", scope)
        elif isinstance(rule, Sometimes):
            continue
        elif complete:
            raise StructureError(f"{where} must have the attribute {name}, got none")
        else:
            lacking = True
    for name in state:
        if name not in rules and name not in own and hasattr(type(obj), name):
            raise StructureError(f"{where}.{name} must not be replaced in an object, got a value")
    relations: Callable[[], None] | None = getattr(obj, "_check_structure", None)
    if relations is not None and not lacking:
        try:
            relations()
        except StructureError as error:
            raise StructureError(f"{where}.{error}") from None
        except ValueError as error:
            raise StructureError(f"{where}: {error}") from None


def _holds_parts(rule: Rule) -> bool:
    is_wrapper = isinstance(rule, Optional | Sometimes)
    return _holds_parts(rule.rule) if is_wrapper else rule.holds_parts


def check_children(
    feature: Any, left: Any, right: Any, name: str = "feature", names: str = "left and right"
) -> None:
    """Raise StructureError unless the nodes form a tree, each the child of one earlier node.

    All arrays are (n_nodes,): ``feature`` is negative at leaves, whose children are -1. Following
    children then ends and never leaves the arrays.
    """
    inner = np.flatnonzero(feature >= 0)
    n_nodes = len(feature)
    if not n_nodes:
        raise StructureError(f"{name} must hold a node, got none")
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    leaves = feature < 0
    if (left[leaves] != -1).any() or (right[leaves] != -1).any():
        raise StructureError(f"{names} must be -1 at leaves, got children")
    if len(children) != n_nodes - 1 or not np.array_equal(np.sort(children), np.arange(1, n_nodes)):
        raise StructureError(f"{names} must name every node but the first once, but do not")
    if (children <= np.concatenate([inner, inner])).any():
        raise StructureError(f"{names} must come after their parent, got an earlier node")


def require(condition: Any, name: str, rule: str, value: Any) -> None:
    """Raise if a relation between attributes does not hold; for ``_check_structure``."""
    if not condition:
        raise violation(name, rule, value)


def require_attributes(obj: Any, *names: str) -> None:
    """Raise if an attribute is missing; for ``_check_structure``."""
    for name in names:
        if not hasattr(obj, name):
            raise StructureError(f"{name} must be there, got no such attribute")


@dataclass(frozen=True)
class Number(Rule):
    """A Python or NumPy number."""

    kind: str = "f"  # "i" or "b"; "f" takes integers too
    low: float | None = None  # ends included
    high: float | None = None
    finite: bool = True
    size: Size = ""  # symbol bound to the value of a whole number

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

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        return iter(()) if value is None else self.rule.check(value, where, scope)


@dataclass(frozen=True)
class Either(Rule):
    """The requirements of the first rule that applies."""

    holds_parts = True

    rules: tuple[Rule, ...]

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

    holds_parts = True

    rule: Rule
    size: Size = ""

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

    holds_parts = True

    keys: Rule
    values: Rule

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not dict:
            raise violation(where, "be a dict", value)
        for key, item in value.items():
            yield from self.keys.check(key, f"a key of {where}", scope)
            yield from self.values.check(item, f"{where}[{key!r}]", scope)


@dataclass(frozen=True)
class Instance(Rule):
    """An object of one of the given classes, which declare their structure."""

    holds_parts = True

    classes: tuple[type, ...]

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

    holds_parts = True

    n_features: Size = ""

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

    holds_parts = True

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        yield where, value


@dataclass(frozen=True)
class Sometimes(Rule):
    """An attribute that some fits set and others do not."""

    rule: Rule

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        return self.rule.check(value, where, scope)


@dataclass(frozen=True)
class Fingerprint(Rule):
    """Counts and hash of training rows, see :func:`rankwise.row_order`."""

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
