"""Rules of arrays: shapes in symbols, kinds of numbers, and their range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.structure.rules.scope import Found, Rule, Scope, Size, check_shape, run, violation
from rankwise.typing import is_sparse

_KINDS = {"f": "floating-point numbers", "i": "integers", "u": "unsigned integers", "b": "booleans"}


@dataclass(frozen=True)
class Array(Rule):
    """A NumPy array.

    Attributes
    ----------
    shape : tuple of int or str
        Sizes, symbols, or symbols plus or minus a number. None: any shape.
    kind : str
        Kinds of numbers as in ``dtype.kind``: "f" (float32, float64), "i", "u" or "b".
    dtype : str
        Required dtype, such as "i4"; empty: any dtype of the kind.
    low, high : float or None
        Range of the entries, ends included.
    below : int or str
        Size that all entries must be below; None: no limit.
    numbers : {"finite", "not NaN", "any"}
        Allowed floating-point numbers.
    ascending : bool
        Whether entries must be non-decreasing along the last axis.
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
