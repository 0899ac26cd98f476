"""Powers and products of features: all or some, and those of the kernel ``(x.z + 1)^2``."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import (
    DEFAULT_MAX_BYTES,
    MAX_BYTES_CONSTRAINT,
    StrOptions,
    minimum,
)
from rankwise.checks.rows import check_columns_read, check_rows
from rankwise.features.kernels import Kernel
from rankwise.features.random_features import FeatureTransformer
from rankwise.kernels.row_products import append_one, expand_csr, expand_rows
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.jit import convert_layout
from rankwise.runtime.scikit_learn import OneToOneFeatureMixin
from rankwise.structure.state_rules import Rule, integers, require
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FrameLike,
    Int64Array,
    Matrix,
    Seed,
    SparseMatrix,
    canonicalize,
    is_sparse,
)

TERMS = ("powers", "random", "cross")
SLICE_ROWS = 512
# If there are at most this many terms per wanted term, list all terms and draw from the list.
_LISTED = 4


@dataclass(frozen=True, eq=False)
class TermMap:
    """Products of features, callable on rows."""

    _structure: ClassVar[dict[str, Rule]] = {
        "factors": integers("n_terms", "n_factors", low=-1, below="n_features_in_"),
    }

    # (n_terms, degree): features of each term in ascending order, padded with -1. Terms with fewer
    # factors come first.
    factors: Int64Array

    def __call__(self, X: Matrix) -> Matrix:
        """Terms of shape (n_rows, n_terms), in the dtype of ``X``; CSR if ``X`` is."""
        check_columns_read(self.factors, X.shape[1])
        # Terms of one factor, of two factors, and so on.
        sizes = (self.factors >= 0).sum(axis=1)
        blocks = [self.factors[sizes == size, :size] for size in np.unique(sizes)]
        if is_sparse(X):
            columns = sparse.csc_array(X)
            parts = []
            for factors in blocks:
                part = columns[:, factors[:, 0]]
                for place in range(1, factors.shape[1]):
                    part = part.multiply(columns[:, factors[:, place]])
                parts.append(part)
            return sparse.csr_array(sparse.hstack(parts, format="csr"))
        out = np.empty((X.shape[0], len(self.factors)), dtype=X.dtype)
        for lo in range(0, X.shape[0], SLICE_ROWS):
            rows, start = X[lo : lo + SLICE_ROWS], 0
            for factors in blocks:
                part = out[lo : lo + SLICE_ROWS, start : start + len(factors)]
                np.take(rows, factors[:, 0], axis=1, out=part)
                for place in range(1, factors.shape[1]):
                    part *= rows[:, factors[:, place]]
                start += len(factors)
        return out

    def _check_structure(self) -> None:
        _check_factors(self.factors, "factors")


def _check_factors(factors: Int64Array, name: str) -> None:
    """Raise unless each term lists features, then -1, and terms with fewer factors come first."""
    given = factors >= 0
    ends = factors.shape[1] > 0 and given[:, 0].all() and (given[:, 1:] <= given[:, :-1]).all()
    require(ends, name, "list the features of every term first, then -1", factors)
    require((np.diff(given.sum(axis=1)) >= 0).all(), name, "list terms with fewer features first",
            factors)  # fmt: skip


def check_room(
    n_features: int,
    degree: int,
    terms: str,
    n_terms: int | None,
    column_bytes: int,
    max_bytes: int,
) -> None:
    """Raise ValueError if the terms would take too much memory, before listing any.

    ``column_bytes`` are those of the values of one term; 0 for sparse terms, which are not counted.
    ``max_bytes`` limits the values and the list of the terms' factors. For the other arguments, see
    :func:`draw_terms`.
    """
    wanted = n_features if n_terms is None else n_terms
    total = n_features
    for size in range(2, degree + 1):
        products = comb(n_features + size - 1, size)
        if terms == "random":
            products = min(wanted, products - n_features)
        total += n_features if terms == "powers" else products
    needed = total * (8 * degree + column_bytes)
    if needed > max_bytes:
        raise ValueError(
            f"max_bytes={max_bytes} is less than the {needed} bytes of {total} terms needed "
            f"for degree={degree} and terms={terms!r} with {n_features} features. Lower degree, "
            "use other terms or fewer features, or raise max_bytes."
        )


def draw_terms(
    n_features: int,
    degree: int,
    terms: str,
    n_terms: int | None,
    random_state: np.random.RandomState,
) -> TermMap:
    """Draw or list the terms; the arguments are those of :class:`PolynomialTerms`."""
    blocks = [np.arange(n_features)[:, None]]
    for size in range(2, degree + 1):
        if terms == "powers":
            blocks.append(np.repeat(blocks[0], size, axis=1))
        elif terms == "cross":
            blocks.append(_all_products(n_features, size))
        else:
            wanted = n_features if n_terms is None else n_terms
            blocks.append(_random_products(n_features, size, wanted, random_state))
    padded = [
        np.pad(block, ((0, 0), (0, degree - block.shape[1])), constant_values=-1)
        for block in blocks
    ]
    return TermMap(np.concatenate(padded).astype(np.int64))


class PolynomialTerms(FeatureTransformer):
    """Append powers and products of the features as columns; no constant is added.

    Parameters
    ----------
    degree : int, default=2
        Highest degree of a term, >= 1.
    terms : {"powers", "random", "cross"}, default="powers"
        Terms besides the features themselves. "powers": the 2nd to ``degree``-th power of each
        feature. "random": distinct products of 2 to ``degree`` factors, not all the same feature,
        drawn with equal probability. "cross": all products.
    n_terms : int or None, default=None
        For ``terms="random"``: number of terms of each degree above 1, >= 0; all terms if there are
        fewer. None: the number of features, which gives as many terms as "powers".
    random_state : int, RandomState, Generator or None, default=None
        Seed for ``terms="random"``.
    max_bytes : int, default=2**33
        Memory limit in bytes for the list of terms and their values for the rows of ``fit``. The
        values of sparse rows are not counted. ``fit`` raises ValueError if the limit is exceeded.

    Attributes
    ----------
    factors_ : ndarray of shape (n_terms, degree), int64
        Features multiplied in each term, padded with -1. The original features come first, in their
        order, then the terms of two factors, and so on.

    Notes
    -----
    O(degree) time per value; memory is that of the result. Sparse rows stay sparse, because a
    product with a zero factor is zero. Features are not scaled: powers of large values may
    overflow, and float32 keeps only seven digits.

    References
    ----------
    .. [1] Tsai, Chen, Chen, Ferng, Wang, Wen & Lin, "An ensemble ranking solution to the Yahoo!
       Learning to Rank Challenge", technical report, National Taiwan University (2010), section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features import PolynomialTerms
    >>> PolynomialTerms(degree=3).fit_transform(np.array([[2.0, 3.0]]))
    array([[ 2.,  3.,  4.,  9.,  8., 27.]])
    >>> PolynomialTerms(terms="cross").fit(np.zeros((1, 2))).get_feature_names_out()
    array(['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2'], dtype=object)
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "factors_": integers("n_terms", "n_factors", low=-1, below="n_features_in_"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [minimum(1)],
        "terms": [StrOptions(set(TERMS))],
        "n_terms": [minimum(0), None],
        "random_state": ["random_state"],
        "max_bytes": MAX_BYTES_CONSTRAINT,
    }

    def __init__(
        self,
        degree: int = 2,
        terms: Literal["powers", "random", "cross"] = "powers",
        *,
        n_terms: int | None = None,
        random_state: Seed = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self.degree = degree
        self.terms = terms
        self.n_terms = n_terms
        self.random_state = random_state
        self.max_bytes = max_bytes

    def fit(self, X: FrameLike, y: ArrayLike | None = None) -> Self:
        """Choose the terms for the number of columns; the values of ``X`` and ``y`` are ignored."""
        self._validate_params()
        X = check_rows(self, X, reset=True)
        column_bytes = 0 if is_sparse(X) else X.shape[0] * X.dtype.itemsize
        check_room(X.shape[1], self.degree, self.terms, self.n_terms, column_bytes, self.max_bytes)
        drawn = draw_terms(
            X.shape[1],
            self.degree,
            self.terms,
            self.n_terms,
            check_random_state(self.random_state),
        )
        self.factors_: Int64Array = drawn.factors
        return self

    def transform(self, X: FrameLike) -> Matrix:
        """Terms of shape (n_samples, n_terms), in the precision of ``X``; CSR if ``X`` is."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return TermMap(self.factors_)(X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names such as ``"x0^2 x1"``.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features_in_,), optional
            Names of the features. None: those seen in ``fit``, or x0, x1, ...
        """
        check_is_fitted(self)
        # Checks the names as for transformers that keep all columns.
        this: Any = self
        names: Any = OneToOneFeatureMixin.get_feature_names_out(this, input_features)
        return np.array([_name(row[row >= 0], names) for row in self.factors_], dtype=object)

    def _check_structure(self) -> None:
        _check_factors(self.factors_, "factors_")


def _name(factors: Int64Array, names: NDArray[Any]) -> str:
    features, powers = np.unique(factors, return_counts=True)
    return " ".join(
        str(names[j]) + (f"^{power}" if power > 1 else "")
        for j, power in zip(features.tolist(), powers.tolist(), strict=True)
    )


def _all_products(n_features: int, size: int) -> Int64Array:
    products = itertools.combinations_with_replacement(range(n_features), size)
    count = comb(n_features + size - 1, size) * size
    flat = np.fromiter(itertools.chain.from_iterable(products), dtype=np.int64, count=count)
    return flat.reshape(-1, size)


def _random_products(
    n_features: int, size: int, wanted: int, random_state: np.random.RandomState
) -> Int64Array:
    """Draw distinct products of ``size`` factors, excluding powers; sorted."""
    n_products = comb(n_features + size - 1, size) - n_features
    wanted = min(wanted, n_products)
    if n_products <= _LISTED * wanted:
        listed = _all_products(n_features, size)
        listed = listed[listed[:, 0] != listed[:, -1]]
        return listed[np.sort(random_state.permutation(n_products)[:wanted])]
    found = np.empty((0, size), dtype=np.int64)
    while len(found) < wanted:
        # Subtracting its index from each element maps increasing sequences one-to-one to
        # non-decreasing ones, so all products have the same probability.
        drawn = np.sort(random_state.randint(0, n_features + size - 1, (2 * wanted, size)), axis=1)
        drawn = drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)] - np.arange(size)
        drawn = drawn[drawn[:, 0] != drawn[:, -1]]
        _, first = np.unique(np.concatenate([found, drawn]), axis=0, return_index=True)
        found = np.concatenate([found, drawn])[np.sort(first)][:wanted]
    return found[np.lexsort(found.T[::-1])]


@dataclass(frozen=True)
class AffinePowers:
    """Feature map: the columns, an optional constant, and for degree 2 all pairwise products."""

    n_features: int
    degree: int = 1  # 1, or 2 for ``x_i^2``, ``sqrt(2) x_i x_j`` (i < j), ``sqrt(2) x_i`` and 1
    # Whether degree 1 includes a column of ones. Degree 2 always includes one.
    constant: bool = False

    @property
    def n_features_out(self) -> int:
        """Number of columns."""
        if self.degree == 2:
            return (self.n_features + 1) * (self.n_features + 2) // 2
        return self.n_features + self.constant

    @property
    def kernel(self) -> Kernel:
        """Kernel whose values are the inner products of these features."""
        if self.degree == 1 and not self.constant:
            return Kernel("linear")
        return Kernel("polynomial", gamma=1.0, degree=self.degree, coef0=1.0)

    def __call__(self, X: Matrix) -> Matrix:
        """Features in float64: C-contiguous, or CSR with sorted indices if X is CSR.

        O(n_rows n_features_out). For degree 2, a sparse row of s entries takes O(s^2).
        A product that overflows float64 raises ValueError.
        """
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X must have {self.n_features} columns, as the rows of the fit have, got "
                f"{X.shape[1]}."
            )
        if is_sparse(X):
            features = self._multiply_csr(X)
            given, values = X.data, features.data
        else:
            given = X
            features = values = self._multiply_rows(np.ascontiguousarray(X, dtype=np.float64))
        if self.degree == 2 and not np.isfinite(values).all():
            raise ValueError(
                "X must hold numbers whose products are finite with degree=2, got an entry of "
                f"{abs(given).max():.3g}. Scale the columns."
            )
        return features

    def _multiply_rows(self, X: Float64Array) -> Float64Array:
        if self.degree == 1 and not self.constant:
            return X
        out = np.empty((X.shape[0], self.n_features_out))
        if self.degree == 2:
            expand_rows(convert_layout(X), out)
        else:
            out[:, :-1] = X
            out[:, -1] = 1.0
        return out

    def _multiply_csr(self, X: SparseMatrix) -> SparseMatrix:
        # Shares the arrays if they are float64.
        rows: Any = canonicalize(sparse.csr_array(X, dtype=np.float64))
        if self.degree == 1 and not self.constant:
            return rows
        sizes = np.diff(rows.indptr).astype(np.int64)
        if self.degree == 2:
            expand, sizes = expand_csr, (sizes + 1) * (sizes + 2) // 2
        else:
            expand, sizes = append_one, sizes + 1
        data, indices = np.empty(sizes.sum()), np.empty(sizes.sum(), dtype=np.int64)
        indptr = np.empty(rows.shape[0] + 1, dtype=np.int64)
        expand(rows.data, rows.indices, rows.indptr, rows.shape[1], data, indices, indptr)
        return sparse.csr_array((data, indices, indptr), (rows.shape[0], self.n_features_out))
