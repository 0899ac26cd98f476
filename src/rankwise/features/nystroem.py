"""Nyström features: whitened kernel values with landmarks; inner products approximate a kernel.

Landmarks are a small subset of rows that represents all rows:

- uniform: distinct rows, each with the same probability;
- k-means++ [1]_: each row with a probability proportional to its squared Euclidean distance from
  the nearest landmark drawn before;
- leverage [2]_: rows with a probability proportional to the ridge leverage score
  ``k(x, x) - k(x, S) (K_ss + lambda I)^-1 k(S, x)``, which measures how badly a uniform sketch S of
  other rows represents the row; a row whose probability would exceed 1 is always taken.

Rows are drawn in the order of a salted hash of their content, and repeated rows count once. The
draw therefore does not depend on row order or repetition, and rows that arrive in parts give the
same landmarks (:class:`rankwise.row_order.LeastRows`).

For landmarks Z with ``K_zz = R'R``, the rows ``k(x, Z) R^-1`` have the inner products
``k(x, Z) K_zz^-1 k(Z, x')``. These equal the kernel between landmarks and are its best
approximation from the landmarks elsewhere. R comes from a pivoted Cholesky decomposition, which
omits landmarks that depend on others. Since R is triangular, multiplying by its inverse costs half
as much as a full matrix product [3]_.

A conditionally positive definite kernel is replaced by ``k(x, z) - k(x, o) - k(o, z) + k(o, o)``
with the first landmark as origin ``o``. That kernel is positive definite and gives the same score
differences.

References
----------
.. [1] Arthur & Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
.. [2] El Alaoui & Mahoney, "Fast randomized kernel methods with statistical guarantees",
   NIPS 28 (2015).
.. [3] Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 13 (2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.column_sizes import kernel_limit, warn_of_dominant_columns
from rankwise.checks.parameter_constraints import POSITIVE, StrOptions, minimum
from rankwise.checks.rows import check_rows
from rankwise.features.kernels import (
    KERNEL_NAMES,
    NAMED_WIDTHS,
    Kernel,
    KernelName,
    build_squared_distances,
    resolve_kernel,
)
from rankwise.features.random_features import FeatureTransformer
from rankwise.row_order import distinct_rows
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.scikit_learn import ClassNamePrefixFeaturesOutMixin
from rankwise.structure.state_rules import (
    Instance,
    MatrixRows,
    Number,
    Optional,
    Rule,
    floats,
    require,
)
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FloatArray,
    FrameLike,
    Int64Array,
    Matrix,
    Seed,
    is_sparse,
)

METHODS = ("uniform", "kmeans++", "leverage")


@dataclass(frozen=True, eq=False)
class NystroemMap:
    """Landmarks and the transformation of kernel values into features, callable on blocks of rows.

    Attributes
    ----------
    kernel : Kernel
    landmarks : ndarray or CSR of shape (n_landmarks, n_features)
    whitening : ndarray of shape (n_landmarks, n_features_out)
        Zero below the diagonal that ends in the bottom right entry.
    offset : ndarray of shape (n_features_out,)
        The features are ``K(X, landmarks) @ whitening + offset``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "kernel": Instance((Kernel,)),
        "landmarks": MatrixRows("n_landmarks", "n_features_in_"),
        "whitening": floats("n_landmarks", "n_outputs"),
        "offset": floats("n_outputs"),
    }

    kernel: Kernel
    landmarks: Matrix
    whitening: FloatArray
    offset: FloatArray

    @property
    def n_features_out(self) -> int:
        """Number of features: the rank of the kernel between the landmarks."""
        return self.whitening.shape[1]

    def astype(self, dtype: Any) -> NystroemMap:
        """The same map in another precision."""
        return NystroemMap(
            self.kernel,
            self.landmarks.astype(dtype, copy=False),
            self.whitening.astype(dtype, copy=False),
            self.offset.astype(dtype, copy=False),
        )

    def __call__(self, X: Matrix) -> FloatArray:
        """Features of shape (n_rows, n_features_out), in the precision of the map.

        Everything but BLAS runs on the calling thread. A callable kernel is called once per slice
        of rows.
        """
        n_values, n_out = self.whitening.shape
        whole = np.empty((X.shape[0], n_out), dtype=self.whitening.dtype)
        for rows, values in self._values(X):
            out = whole[rows]
            for first in range(0, n_out, _BLOCK_COLUMNS):
                last = min(first + _BLOCK_COLUMNS, n_out)
                used = n_values - n_out + last  # these columns are zero below
                block = self.whitening[:used, first:last]
                np.matmul(values[:, :used], block, out=out[:, first:last])
            out += self.offset
        return whole

    def rows(self, X: Matrix) -> Float64Array:
        """All features in float64, for systems with one equation per row."""
        return self(X).astype(np.float64, copy=False)

    def scores(self, X: Matrix, weights: Float64Array) -> Float64Array:
        """Compute ``self(X) @ weights`` without the features; O(n_landmarks) per row and column.

        Kernel values have the precision of the map; sums are in float64.
        """
        of_values = self.whitening.astype(np.float64) @ weights
        out = np.empty((X.shape[0], weights.shape[1]))
        for rows, values in self._values(X):
            np.matmul(values.astype(np.float64, copy=False), of_values, out=out[rows])
        out += self.offset.astype(np.float64) @ weights
        return out

    def _check_structure(self) -> None:
        n, n_outputs = self.whitening.shape
        require(n >= n_outputs, "whitening", "not have more columns than rows", (n, n_outputs))
        require(self.kernel.name != "precomputed", "kernel.name", "be one of rows", "precomputed")

    def _values(self, X: Matrix) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of rows with their kernel values; the next slice overwrites the values."""
        dtype, (n, m) = self.whitening.dtype, (X.shape[0], self.landmarks.shape[0])
        values = np.empty((min(SLICE_ROWS, n), m), dtype=dtype)
        evaluate = self.kernel.against(self.landmarks, dtype, sparse_rows=is_sparse(X))
        for lo in range(0, n, SLICE_ROWS):
            rows = slice(lo, min(lo + SLICE_ROWS, n))
            block = values[: rows.stop - lo]
            evaluate(X[rows], block)
            yield rows, block


class Nystroem(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):
    """Nyström features: inner products approximate a kernel, based on landmark rows.

    Parameters
    ----------
    kernel : {"linear", "polynomial", "poly", "rbf", "laplacian", "perceptron", "stump"} or \
callable, default="rbf"
        A callable ``K(X, Z)`` must be symmetric and positive semidefinite; it is called on slices
        of rows. Perceptron and stump kernels are replaced by
        ``k(x, z) - k(x, o) - k(o, z) + k(o, o)`` with a landmark ``o``, which is positive definite
        and gives the same score differences.
    gamma : float > 0, "scale", "auto" or None, default=None
        None: the median heuristic; the names are scikit-learn's, see
        :func:`rankwise.features.kernels.resolve_kernel`.
    kernel_params : dict or None, default=None
        "degree", "coef0", "delta", or keyword arguments of a callable.
    n_components : int, default=100
        Number of landmarks, >= 1. If there are fewer distinct rows, all of them are used.
    method : {"uniform", "kmeans++", "leverage"}, default="uniform"
        Sampling method for landmarks. "leverage" favours rows that other rows represent badly.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the landmarks.

    Attributes
    ----------
    landmarks_ : ndarray or CSR of shape (rank, n_features_in_)
        Landmarks in use, without the linearly dependent ones.
    gamma_ : float or None
        Value used for ``gamma``.
    map_ : NystroemMap

    Notes
    -----
    O(n_components^3) time and O(n_components^2) memory in fit, O(n_samples n_components (n_features
    + n_components)) in transform. float32 rows are mapped in float32. If all rows are landmarks,
    the inner products equal the kernel. Neither row order nor repeated rows affect the result.

    References
    ----------
    .. [1] Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 13
       (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features import Nystroem
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> F = Nystroem(n_components=3, random_state=0).fit_transform(X)
    >>> (F @ F.T).round(3)
    array([[1.   , 0.779, 0.105],
           [0.779, 1.   , 0.368],
           [0.105, 0.368, 1.   ]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "gamma_": Optional(Number(low=0)),
        "landmarks_": MatrixRows("n_landmarks", "n_features_in_"),
        "map_": Instance((NystroemMap,)),
        "_n_features_out": Number("i", low=0, size="n_outputs"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(KERNEL_NAMES) - {"precomputed"}), callable],
        "gamma": [POSITIVE, StrOptions(set(NAMED_WIDTHS)), None],
        "kernel_params": [dict, None],
        "n_components": [minimum(1)],
        "method": [StrOptions(set(METHODS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: KernelName | Callable[..., Any] = "rbf",
        gamma: float | Literal["scale", "auto"] | None = None,
        *,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        method: Literal["uniform", "kmeans++", "leverage"] = "uniform",
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.method = method
        self.random_state = random_state

    def fit(self, X: FrameLike, y: ArrayLike | None = None) -> Self:
        """Draw the landmarks from the rows of ``X``; ``y`` is not used."""
        self._validate_params()
        X = check_rows(self, X, reset=True)
        warn_of_dominant_columns(self, X, kernel_limit(self.kernel))
        kernel = resolve_kernel(self.kernel, X, self.gamma, self.kernel_params)
        drawn = draw_landmarks(X, self.n_components, self.method, kernel, self.random_state)
        self.map_: NystroemMap = nystroem_map(kernel, X[drawn], X.dtype)
        self.landmarks_: Matrix = self.map_.landmarks
        self.gamma_: float | None = kernel.gamma
        self._n_features_out = self.map_.n_features_out
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Features of shape (n_samples, rank), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return self.map_(X).astype(X.dtype, copy=False)


# k-means++ and leverage scores use this many uniformly drawn rows per landmark.
_CANDIDATES_PER_LANDMARK = 20
# Maximum number of rows in the sketch for the leverage scores.
_SKETCH_ROWS = 1000
# Ridge of the leverage scores as a share of the largest eigenvalue: well above rounding.
_LEAST_RIDGE = 1e-8
# Number of diagonal kernel values computed at a time.
_DIAGONAL_ROWS = 64


def draw_landmarks(
    X: Matrix,
    n: int,
    method: str = "uniform",
    kernel: Kernel | None = None,
    random_state: Seed = None,
) -> Int64Array:
    """Row numbers (int64) of ``n`` landmarks, or of all distinct rows if there are fewer.

    "uniform" takes O(n_samples n_features), to hash the rows. The others examine at most 20 n
    uniformly drawn rows: "kmeans++" takes O(n^2 n_features), "leverage" O(n s (s + n_features) +
    s^3) with a sketch of s = min(n, 1,000) rows. "leverage" needs a (conditionally) positive
    semidefinite kernel.
    """
    rng = check_random_state(random_state)
    rows = distinct_rows(X, n_candidates(n, method), salt_of(rng))
    if method == "uniform" or n >= len(rows):
        return rows
    candidates = X[rows]
    if method == "kmeans++":
        return rows[_spread(candidates, n, rng)]
    assert kernel is not None
    return rows[draw_in_proportion(leverage_scores(candidates, kernel, n), n, rng)]


def n_candidates(n: int, method: str) -> int:
    """Number of uniformly drawn rows that a method examines."""
    return n if method == "uniform" else _CANDIDATES_PER_LANDMARK * n


def salt_of(random_state: Seed) -> int:
    """Salt that determines the order of the rows: the first draw from ``random_state``."""
    return int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))


def leverage_scores(X: Matrix, kernel: Kernel, n: int) -> Float64Array:
    """Approximate ridge leverage scores up to a factor, based on a sketch of the first rows of X.

    A row of the sketch is compared with the other rows of the sketch, so that its score is on the
    same scale as those of rows outside. The ridge is the sum of the smaller half of the sketch's
    eigenvalues, divided by their number.
    """
    sketch = X[: min(n, _SKETCH_ROWS)]
    phi = nystroem_map(kernel, sketch)
    features = phi.rows(X)
    outside = _diagonal(phi, X) - np.einsum("ij,ij->i", features, features)
    if kernel.definite == "conditional":  # the origin has features 0
        features -= features[: sketch.shape[0]].mean(axis=0)
    of_sketch = features[: sketch.shape[0]]
    values, vectors = np.linalg.eigh(of_sketch.T @ of_sketch)
    half = max(sketch.shape[0] // 2, 1)
    ridge = max(float(values[:-half].sum()) / half, _LEAST_RIDGE * float(values[-1]))
    inside = (features @ vectors) ** 2 @ (ridge / (np.maximum(values, 0.0) + ridge))
    scores = inside + np.maximum(outside, 0.0)
    # A score s without the row in the sketch becomes ridge s / (ridge + s) with it.
    with_itself = scores[: sketch.shape[0]] / ridge
    scores[: sketch.shape[0]] *= 1 / np.maximum(1 - with_itself, np.finfo(np.float64).eps)
    return scores


def _spread(X: Matrix, n: int, rng: np.random.RandomState) -> Int64Array:
    """Draw by k-means++ from distinct rows."""
    distances_to = build_squared_distances(X, X.dtype, sparse_rows=is_sparse(X))
    distances = np.empty((1, X.shape[0]), dtype=X.dtype)
    nearest = np.full(X.shape[0], np.inf)
    chosen = [0]  # the rows are already shuffled
    while len(chosen) < n:
        distances_to(X[chosen[-1] : chosen[-1] + 1], distances)
        np.minimum(nearest, distances[0], out=nearest)
        shares = np.cumsum(nearest)
        drawn = np.searchsorted(shares, rng.random_sample() * shares[-1], side="right")
        chosen.append(min(int(drawn), X.shape[0] - 1))
    return np.array(chosen)


def draw_in_proportion(scores: Float64Array, n: int, rng: np.random.RandomState) -> Int64Array:
    """Systematic draw of ``n`` entries with probabilities proportional to scores, capped at 1."""
    scores = np.maximum(scores, 1e-10 * scores.max()) if scores.any() else np.ones(len(scores))
    sure = np.zeros(len(scores), dtype=bool)
    while True:
        chances = np.where(sure, 1.0, scores * ((n - sure.sum()) / scores[~sure].sum()))
        more = ~sure & (chances >= 1.0)
        if not more.any():
            break
        sure |= more
    ends = np.cumsum(chances)
    points = (np.arange(n) + rng.random_sample()) * (ends[-1] / n)
    return np.unique(np.searchsorted(ends, points, side="right"))


def _diagonal(phi: NystroemMap, X: Matrix) -> Float64Array:
    """Values of every row with itself for the kernel that ``phi`` approximates."""
    diagonal = np.empty(X.shape[0])
    anchored = phi.kernel.definite == "conditional"
    for lo in range(0, X.shape[0], _DIAGONAL_ROWS):
        rows = X[lo : lo + _DIAGONAL_ROWS]
        values = phi.kernel(rows, rows).diagonal().astype(np.float64)
        if anchored:  # k(x, x) - 2 k(x, o) + k(o, o), and k(o, o) = k(x, x)
            values = 2 * (values - phi.kernel(rows, phi.landmarks[:1])[:, 0])
        diagonal[lo : lo + _DIAGONAL_ROWS] = values
    return diagonal


# Rows mapped at a time: their kernel values stay in a core's caches until they are multiplied.
SLICE_ROWS = 256
# Asymmetry and negative eigenvalues below this share of the largest value are rounding.
_ROUNDING = 1e-8
# Landmarks whose independent part is below this many rounding errors are omitted. On smooth
# kernels, a larger threshold omitted too much, and a smaller one added noise in float32.
_INDEPENDENT = 10
# Columns of the triangular factor multiplied at a time.
_BLOCK_COLUMNS = 256


def nystroem_map(kernel: Kernel, landmarks: Matrix, dtype: Any = np.float64) -> NystroemMap:
    """Build the Nyström map for the landmarks, of a kernel that is positive semidefinite on them.

    Landmarks that depend on others up to rounding in ``dtype`` (float32 or float64) are omitted.
    O(n_landmarks^3). Mapping n rows takes O(n n_landmarks (n_features + n_landmarks)).
    """
    if kernel.name == "precomputed":
        raise ValueError(
            "Nyström features need a kernel function of rows, got kernel='precomputed', whose "
            "values are already complete. Use the exact kernel."
        )
    anchored = kernel.definite == "conditional"
    if anchored:
        kernel = replace(kernel, delta=0.0)  # would cancel
    exact = landmarks.astype(np.float64)
    K = kernel(exact, exact).astype(np.float64, copy=False)
    origin_values = K[0] - K[0, 0] if anchored else np.zeros(len(K))
    if anchored:
        K = K - K[:, :1] - origin_values
    kept, inverse = _inverse_root(K, float(np.finfo(dtype).eps))
    whitening, offset = inverse, np.zeros(len(kept))
    if anchored:
        whitening = np.vstack([-inverse.sum(axis=0), inverse])
        offset = -origin_values[kept] @ inverse
        kept = np.concatenate([[0], kept])
    return NystroemMap(kernel, landmarks[kept], np.ascontiguousarray(whitening), offset).astype(
        dtype
    )


def _inverse_root(K: Float64Array, eps: float) -> tuple[Int64Array, Float64Array]:
    """Independent rows, at least one, and ``R^-1`` for their factor ``R'R = K``."""
    scale = float(np.abs(K).max())
    if np.abs(K - K.T).max() > _ROUNDING * scale:
        raise ValueError("Nyström features need a symmetric kernel, got K(x, z) != K(z, x).")
    if scale == 0.0:
        return np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    cut = _INDEPENDENT * eps * float(K.diagonal().max())
    (cholesky_with_pivots,) = get_lapack_funcs(("pstrf",), (K,))
    factor, pivots, rank, _ = cholesky_with_pivots(K, tol=max(cut, 0.0))
    pivots, factor = pivots.astype(np.int64) - 1, np.triu(factor[:rank])
    residual = K[np.ix_(pivots, pivots)] - factor.T @ factor
    if np.abs(residual).max() > 10 * cut + _ROUNDING * scale:
        raise ValueError(
            "Nyström features need a positive semidefinite kernel, got one with negative "
            "eigenvalues between the landmarks. Use an exact method that takes any kernel."
        )
    return pivots[:rank], solve_triangular(factor[:, :rank], np.eye(rank))
