"""Nyström features as a transformer.

Composition: kernel x landmarks x triangular whitening.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.dominant_columns import kernel_limit, warn_of_dominant_columns
from rankwise.checks.parameter_constraints import POSITIVE, StrOptions, minimum
from rankwise.checks.rows import check_rows
from rankwise.features.feature_transformer import FeatureTransformer
from rankwise.features.kernels import KERNEL_NAMES, NAMED_WIDTHS, resolve_kernel
from rankwise.features.landmarks import METHODS, draw_landmarks, draw_nystroem_map
from rankwise.features.nystroem_map import NystroemMap, nystroem_map
from rankwise.structure.rules import Instance, MatrixRows, Number, Optional, Rule
from rankwise.typing import ArrayLike, FloatArray, FrameLike

__all__ = ["Nystroem", "NystroemMap", "draw_landmarks", "draw_nystroem_map", "nystroem_map"]


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
    n_landmarks : int, default=100
        Number of landmarks, >= 1. If there are fewer distinct rows, all of them are used.
    method : {"uniform", "kmeans++", "leverage"}, default="uniform"
        Sampling method for landmarks. "leverage" favours rows that other rows represent badly.
    random_state : int, RandomState or None, default=None
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
    O(n_landmarks^3) in fit, O(n_samples n_landmarks (n_features + n_landmarks)) in transform.
    float32 rows are mapped in float32. If all rows are landmarks, the inner products equal the
    kernel. Neither row order nor repeated rows affect the result.

    References
    ----------
    .. [1] Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 13
       (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Nystroem
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> F = Nystroem(n_landmarks=3, random_state=0).fit_transform(X)
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
        "n_landmarks": [minimum(1)],
        "method": [StrOptions(set(METHODS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: float | Literal["scale", "auto"] | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_landmarks: int = 100,
        method: Literal["uniform", "kmeans++", "leverage"] = "uniform",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.method = method
        self.random_state = random_state

    def fit(self, X: FrameLike, y: ArrayLike | None = None) -> Self:
        """Draw the landmarks from the rows of ``X``; ``y`` is not used."""
        self._validate_params()
        X = check_rows(self, X, reset=True)
        warn_of_dominant_columns(self, X, kernel_limit(self.kernel))
        kernel = resolve_kernel(self.kernel, X, self.gamma, self.kernel_params)
        self.map_ = draw_nystroem_map(X, kernel, self.n_landmarks, self.method, self.random_state)
        self.landmarks_ = self.map_.landmarks
        self.gamma_ = kernel.gamma
        self._n_features_out = self.map_.n_features_out
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Features of shape (n_samples, rank), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return self.map_(X).astype(X.dtype, copy=False)
