"""SVRank on a given kernel matrix for a grid of lam, for experiments on many small problems."""

from __future__ import annotations

import numpy as np

from rankwise.losses.absolute_loss import pairwise_absolute
from rankwise.solvers import SolveResult
from rankwise.solvers.newton.proximal_newton import ProximalNewton, kernel_products
from rankwise.typing import ArrayLike, Float64Array, Int64Array


def svrank_path(
    K: Float64Array,
    y: Float64Array,
    lams: ArrayLike,
    epsilon: float = 0.0,
    *,
    indptr: Int64Array | None = None,
    sample_weight: Float64Array | None = None,
    query_weight: str = "pair",
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> list[SolveResult[Float64Array]]:
    """Minimisers of ``(1/m^2) sum_ij max(0, |r_i - r_j| - epsilon) + lam |f|_K^2``, r = y - f.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric; positive semidefinite, or conditionally so (where dual values sum to zero).
    y : ndarray of shape (n_samples,)
    lams : array-like of floats > 0
    epsilon : float >= 0
    indptr : ndarray of shape (n_queries + 1,), optional
        Queries of consecutive rows; None: all rows form one query. With several queries, the loss
        is the mean over ordered pairs within queries (see
        :mod:`rankwise.losses.absolute_loss`).
    sample_weight : ndarray of shape (n_samples,), optional
        Repetitions of each row, > 0.
    query_weight : {"pair", "document", "query"}
    tol : float
        Relative duality gap at which a solution is accepted.
    max_iter : int
        Newton steps for each lam.

    Returns
    -------
    list of SolveResult
        In the order of ``lams``: ``x`` holds a of shape (n_samples,) with ``f = K a``, up to a
        constant per query; ``stop_value`` is the duality gap over the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise_papers.svrank_path import svrank_path
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> weak, strong = svrank_path(np.outer(x, x), x, [0.1, 10.0])
    >>> slopes = [float(result.x @ x) for result in (weak, strong)]
    >>> [round(slope, 4) for slope in slopes]  # 1 fits; a strong penalty leaves (2/3) / lam
    [1.0, 0.0667]
    """
    y = np.asarray(y, dtype=np.float64)
    indptr = np.array([0, len(y)]) if indptr is None else indptr
    loss = pairwise_absolute(indptr, sample_weight, epsilon=epsilon, query_weight=query_weight)
    solver = ProximalNewton(tol=tol, max_iter=max_iter)
    return solver.path(loss, y, kernel_products(K, indptr), np.atleast_1d(lams).astype(np.float64))
