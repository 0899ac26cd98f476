"""Structure of fitted state: what a class declares, and the check of an object against it.

A class lists its fitted attributes in ``_structure``, each with a rule: the shape of an array in
symbols, its kind of numbers and their range. Subclasses inherit the rules of their bases. Equal
symbols stand for equal sizes within an object and in the objects that it holds, so that
``Array("n_nodes")`` in two attributes demands arrays of one length. Relations between attributes
that no symbol expresses belong into a method ``_check_structure``, which raises ValueError.

The rules serve :mod:`rankwise.persistence`: kernels compiled by Numba index arrays without bounds
checks, so the numbers of a model file are checked before any method of the model is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from scipy import sparse

Found = Iterator[tuple[str, Any]]
Size = int | str

_SIZE = re.compile(r"(\w+)(?: ([+-]) (\d+))?")
_KINDS = {"f": "floating-point numbers", "i": "integers", "u": "unsigned integers", "b": "booleans"}


class StructureError(ValueError):
    """An attribute that breaks the rule of its class."""


class Rule(Protocol):
    """What an attribute must hold."""

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        """Raise StructureError, or yield the parts of ``value`` that have rules of their own."""
        ...


class Scope:
    """Sizes that symbols stand for; those of the enclosing object are visible."""

    def __init__(self, outer: Scope | None = None) -> None:
        self._sizes: dict[str, int] = {}
        self._outer = outer

    def bind(self, name: str, size: int) -> None:
        """Fix the size of a symbol."""
        self._sizes[name] = size

    def value(self, size: Size) -> int | None:
        """Size that an expression such as ``"n_nodes + 1"`` stands for, None if not known yet."""
        if isinstance(size, int):
            return size
        name, shift = _parsed(size)
        known = self._known(name)
        return None if known is None else known + shift

    def agrees(self, size: Size, length: int) -> bool:
        """Whether a length is that of an expression; a symbol without a size takes it."""
        expected = self.value(size)
        if expected is None:
            name, shift = _parsed(str(size))
            self.bind(name, length - shift)
            return length >= shift
        return length == expected

    def _known(self, name: str) -> int | None:
        if name in self._sizes:
            return self._sizes[name]
        return None if self._outer is None else self._outer._known(name)


@cache
def _parsed(size: str) -> tuple[str, int]:
    matched = _SIZE.fullmatch(size)
    assert matched is not None, size
    name, sign, shift = matched.groups()
    return name, int(f"{sign}{shift}") if sign else 0


# Rules --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """A NumPy array.

    Attributes
    ----------
    shape : tuple of int or str
        Sizes, symbols, or symbols plus or minus a number. None: any shape.
    kind : str
        Kinds of numbers as in ``dtype.kind``: "f" (float32, float64), "i", "u" or "b".
    dtype : str
        The one type allowed, such as "i4"; empty: any of the kind.
    low, high : float or None
        Range of the entries, ends included.
    below : int or str
        Size that all entries must be less than; None: any.
    numbers : {"finite", "not NaN", "any"}
        Which floating-point numbers are allowed.
    ascending : bool
        Whether entries must not fall along the last axis.
    """

    shape: tuple[Size, ...] | None
    kind: str = "f"
    dtype: str = ""
    low: float | None = None
    high: float | None = None
    below: Size | None = None
    numbers: str = "finite"
    ascending: bool = False

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not np.ndarray:
            raise broken(where, "be an array", value)
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
                raise broken(where, f"hold {what}", value[~good][0])
        if not value.size:
            return
        low, high = value.min(), value.max()
        if self.low is not None and low < self.low:
            raise broken(where, f"hold numbers >= {self.low:g}", low)
        if self.high is not None and high > self.high:
            raise broken(where, f"hold numbers <= {self.high:g}", high)
        limit = None if self.below is None else scope.value(self.below)
        if limit is not None and high >= limit:
            raise broken(where, f"hold numbers below {self.below} = {limit}", high)
        if self.ascending and (value[..., 1:] < value[..., :-1]).any():
            raise broken(where, "hold numbers in ascending order", value)

    def _check_type(self, dtype: np.dtype[Any], where: str) -> None:
        if self.dtype:
            if dtype != np.dtype(self.dtype):
                raise broken(where, f"have dtype {np.dtype(self.dtype)}", dtype)
        elif dtype.kind not in self.kind or not 1 <= dtype.itemsize <= 8 or not dtype.isnative:
            raise broken(where, f"hold {' or '.join(_KINDS[kind] for kind in self.kind)}", dtype)
        elif dtype.kind == "f" and dtype.itemsize < 4:
            raise broken(where, "hold float32 or float64", dtype)


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
class Rows:
    """A float array or a CSR matrix of shape (n_rows, n_columns) with finite entries."""

    n_rows: Size
    n_columns: Size

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        rule = Array((self.n_rows, self.n_columns))
        if not sparse.issparse(value):
            return rule.check(value, where, scope)
        check_sparse(value, where)
        if value.format != "csr":
            raise broken(where, "be an array or a CSR matrix", value.format)
        check_shape(value.shape, rule.shape, where, scope)
        return Array(("n_entries",)).check(value.data, f"{where}.data", Scope())


@dataclass(frozen=True)
class Labels:
    """Distinct class labels of one type, one for each class."""

    size: Size = "n_classes"

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not np.ndarray or value.dtype.kind not in "biufOSUMm":
            raise broken(where, "be an array of class labels", value)
        check_shape(value.shape, (self.size,), where, scope)
        labels = value.tolist()
        if not all(isinstance(label, str | bytes | bool | int | float) for label in labels) and (
            value.dtype.kind == "O"
        ):
            raise broken(where, "hold names or numbers", value)
        if len(labels) < 1 or len(set(labels)) < len(labels) or any(x != x for x in labels):
            raise broken(where, "hold distinct class labels", value)
        return iter(())


@dataclass(frozen=True)
class Names:
    """An array of text."""

    size: Size

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not np.ndarray or value.dtype.kind not in "OU":
            raise broken(where, "be an array of names", value)
        check_shape(value.shape, (self.size,), where, scope)
        if not all(isinstance(name, str) for name in value.tolist()):
            raise broken(where, "hold text", value)
        return iter(())


@dataclass(frozen=True)
class Number:
    """A Python or NumPy number.

    Attributes
    ----------
    kind : {"f", "i", "b"}
        "f" takes integers too.
    low, high : float or None
        Ends included.
    finite : bool
    size : str
        Symbol that a whole number gives the size of; empty: none.
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
            raise broken(where, f"be {what}", value)
        if self.finite and not -np.inf < plain < np.inf:
            raise broken(where, "be finite", value)
        if self.low is not None and plain < self.low:
            raise broken(where, f"be at least {self.low:g}", value)
        if self.high is not None and plain > self.high:
            raise broken(where, f"be at most {self.high:g}", value)
        if self.size and not scope.agrees(self.size, int(plain)):
            raise broken(where, f"be {self.size} = {scope.value(self.size)}", value)
        return iter(())


@dataclass(frozen=True)
class Word:
    """Text, one of some words if there are any."""

    words: tuple[str, ...] = ()

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not isinstance(value, str) or (self.words and value not in self.words):
            raise broken(where, f"be one of {list(self.words)}" if self.words else "be text", value)
        return iter(())


@dataclass(frozen=True)
class Bytes:
    """Bytes; the class that holds them checks what they say."""

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not isinstance(value, bytes):
            raise broken(where, "be bytes", value)
        return iter(())


@dataclass(frozen=True)
class Optional:
    """None, or what another rule asks for."""

    rule: Rule

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        return iter(()) if value is None else self.rule.check(value, where, scope)


@dataclass(frozen=True)
class Either:
    """What the first of the rules that fits asks for."""

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
class Many:
    """A list or tuple whose items all follow a rule."""

    rule: Rule
    size: Size = ""

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not isinstance(value, list | tuple):
            raise broken(where, "be a list", value)
        if self.size and not scope.agrees(self.size, len(value)):
            raise broken(where, f"have {scope.value(self.size)} items", len(value))
        for number, item in enumerate(value):
            yield from self.rule.check(item, f"{where}[{number}]", scope)


@dataclass(frozen=True)
class Table:
    """A dict whose values all follow a rule, and its keys another."""

    keys: Rule
    values: Rule

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) is not dict:
            raise broken(where, "be a dict", value)
        for key, item in value.items():
            yield from self.keys.check(key, f"a key of {where}", scope)
            yield from self.values.check(item, f"{where}[{key!r}]", scope)


@dataclass(frozen=True)
class Part:
    """An object of one of some classes that declare their structure."""

    classes: tuple[type, ...]

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if type(value) not in self.classes:
            names = " or ".join(cls.__name__ for cls in self.classes)
            raise broken(where, f"be a {names}", value)
        return check_attributes(value, vars(value), where, Scope(scope), complete=True)


@dataclass(frozen=True)
class Fitted:
    """A fitted estimator, of this library or another.

    ``n_features`` is the number of columns that it was trained on, empty for any.
    """

    n_features: Size = ""

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        if not callable(getattr(type(value), "fit", None)):
            raise broken(where, "be an estimator", value)
        width = getattr(value, "n_features_in_", None)
        expected = scope.value(self.n_features) if self.n_features else None
        if expected is not None and width is not None and width != expected:
            raise broken(f"{where}.n_features_in_", f"be {expected}", width)
        yield where, value


@dataclass(frozen=True)
class Plain:
    """Results for reading, which no method computes with: any numbers, text, and lists of them."""

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        yield where, value


@dataclass(frozen=True)
class Sometimes:
    """An attribute that some fits set and others do not."""

    rule: Rule

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        return self.rule.check(value, where, scope)


# Of every estimator, once it is fitted.
TRAINED_ON: dict[str, Rule] = {
    "n_features_in_": Number("i", low=1, size="n_features_in_"),
    "feature_names_in_": Sometimes(Names("n_features_in_")),
    "fit_fingerprint_": Sometimes(Plain()),
}

# Objects ------------------------------------------------------------------------------------------


@cache
def structure_of(cls: type) -> Mapping[str, Rule]:
    """Rules of a class and its bases; empty where none declares any."""
    rules: dict[str, Rule] = {}
    for base in reversed(cls.__mro__):
        rules |= vars(base).get("_structure", {})
    return rules


def check_attributes(
    obj: Any,
    state: Mapping[str, Any],
    where: str,
    scope: Scope,
    *,
    complete: bool,
    own: Collection[str] = (),
) -> Found:
    """Check the declared attributes of an object.

    Parameters
    ----------
    obj : object
    state : dict
        Its attributes, which need not be those of ``vars(obj)``.
    where : str
        Name of the object in messages.
    scope : Scope
        That of the object.
    complete : bool
        Whether all attributes must be there but those that are declared as ``Sometimes``.
    own : collection of str
        Names of attributes that need no rule, such as parameters. Others may not replace a method
        or another attribute of the class.

    Yields
    ------
    (str, object)
        Parts with rules of their own, and where they are.

    Raises
    ------
    StructureError
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


def check_shape(
    shape: tuple[int, ...], sizes: tuple[Size, ...] | None, where: str, scope: Scope
) -> None:
    """Raise where a shape does not agree with sizes; symbols without a size take it."""
    if sizes is None:
        return
    if len(shape) != len(sizes) or not all(map(scope.agrees, sizes, shape)):
        said = ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "")
        known = {str(s): scope.value(s) for s in sizes if isinstance(s, str)}
        meaning = ", ".join(f"{name} = {size}" for name, size in known.items() if size is not None)
        raise broken(where, f"have shape ({said})" + (f" with {meaning}" if meaning else ""), shape)


def check_sparse(value: Any, where: str) -> None:
    """Raise where the indices of a compressed sparse matrix leave its shape."""
    if value.format not in ("csr", "csc"):
        raise broken(where, "be a CSR or CSC matrix", value.format)
    if value.data.dtype.kind not in "biuf" or not value.data.dtype.isnative:
        raise broken(f"{where}.data", "hold numbers", value.data.dtype)
    n_major, n_minor = value.shape if value.format == "csr" else value.shape[::-1]
    scope = Scope()
    scope.bind("n_major", n_major)
    scope.bind("n_minor", n_minor)
    scope.bind("n_entries", len(value.data))
    ends = integers("n_major + 1", low=0, high=len(value.indices), ascending=True)
    run(ends.check(value.indptr, f"{where}.indptr", scope))
    if value.indptr[0] != 0 or value.indptr[-1] != len(value.indices):
        raise broken(f"{where}.indptr", f"go from 0 to {len(value.indices)}", value.indptr)
    entries = integers("n_entries", low=0, below="n_minor")
    run(entries.check(value.indices, f"{where}.indices", scope))


def check_children(
    feature: Any, left: Any, right: Any, name: str = "feature", names: str = "left and right"
) -> None:
    """Raise where the nodes of a tree are not a tree.

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,)
        Negative at leaves.
    left, right : ndarray of shape (n_nodes,)
        Children of the other nodes, -1 at leaves.
    name, names : str
        Of the arrays, for the message.

    Raises
    ------
    StructureError
        Where a node other than the first is not the child of exactly one earlier node, or a leaf
        has children. Following children then ends, and never leaves the arrays.
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
        raise StructureError(f"{names} must name every node but the first once, got others")
    if (children <= np.concatenate([inner, inner])).any():
        raise StructureError(f"{names} must come after their parent, got an earlier node")


def require(condition: Any, name: str, rule: str, value: Any) -> None:
    """Raise where a relation between attributes does not hold; for ``_check_structure``."""
    if not condition:
        raise broken(name, rule, value)


def require_attributes(obj: Any, *names: str) -> None:
    """Raise where an attribute is missing; for ``_check_structure``."""
    for name in names:
        if not hasattr(obj, name):
            raise StructureError(f"{name} must be there, got no such attribute")


def broken(where: str, rule: str, value: Any) -> StructureError:
    """The error of a rule that does not hold."""
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


def _holds_parts(rule: Rule) -> bool:
    while isinstance(rule, Sometimes | Optional):
        rule = rule.rule
    return isinstance(rule, Part | Many | Table | Either | Fitted | Plain)
