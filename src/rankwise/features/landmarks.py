"""Landmarks: a small subset of rows that represents all rows.

- uniform: distinct rows, each with the same probability;
- k-means++ [1]_: each row with a probability proportional to its squared Euclidean distance from
  the nearest landmark drawn before;
- leverage [2]_: rows with a probability proportional to the ridge leverage score
  ``k(x, x) - k(x, S) (K_ss + lambda I)^-1 k(S, x)``, which measures how badly a uniform sketch S of
  other rows represents the row; a row whose probability would exceed 1 is always taken.

Rows are drawn in the order of a salted hash of their content, and repeated rows count once. The
draw therefore does not depend on row order or repetition, and rows that arrive in parts give the
same landmarks (:class:`rankwise.rows.row_hash.LeastRows`).

References
----------
.. [1] Arthur & Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
.. [2] El Alaoui & Mahoney, "Fast randomized kernel methods with statistical guarantees",
   NIPS 28 (2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankwise.features.distances import build_squared_distances
from rankwise.features.kernel import Kernel
from rankwise.features.nystroem_map import NystroemMap, nystroem_map
from rankwise.rows.row_hash import distinct_rows
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse

METHODS = ("uniform", "kmeans++", "leverage")
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
    random_state: int | np.random.RandomState | None = None,
) -> Int64Array:
    """Draw the row numbers of ``n`` landmarks, or of all distinct rows if there are fewer.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    n : int
        >= 1.
    method : {"uniform", "kmeans++", "leverage"}
    kernel : Kernel, optional
        Required for leverage scores; must be (conditionally) positive semidefinite.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray of shape (min(n, n_distinct),), int64

    Notes
    -----
    "uniform" takes O(n_samples n_features), to hash the rows. The others examine at most 20 n
    uniformly drawn rows: "kmeans++" takes O(n^2 n_features), "leverage" O(n s (s + n_features) +
    s^3) with a sketch of s = min(n, 1,000) rows.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features.landmarks import draw_landmarks
    >>> X = np.array([[0.0], [0.0], [1.0], [9.0]])
    >>> sorted(X[draw_landmarks(X, 3, random_state=0)].ravel().tolist())
    [0.0, 1.0, 9.0]
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


def salt_of(random_state: int | np.random.RandomState | None) -> int:
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


def draw_nystroem_map(
    X: Matrix,
    kernel: Kernel,
    n: int,
    method: str = "uniform",
    random_state: Any = None,
) -> NystroemMap:
    """Draw ``n`` landmarks from X and return their Nyström map in the precision of X."""
    return nystroem_map(kernel, X[draw_landmarks(X, n, method, kernel, random_state)], X.dtype)
