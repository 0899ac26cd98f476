"""Random Fourier features: cosines and sines whose inner products approximate a kernel.

A shift-invariant kernel is the mean of ``cos(w.(x - z))`` over random frequencies ``w`` [1]_. They
are normal with variance ``2 gamma`` for ``exp(-gamma |x - z|_2^2)``, and Cauchy with scale
``gamma`` in each coordinate for ``exp(-gamma |x - z|_1)``. With D frequencies, the columns
``cos(w.x)`` and ``sin(w.x)`` are divided by ``sqrt(D)``, so that their inner product is the mean
over the D draws. Its error is of order ``1 / sqrt(D)``.

Composition: random frequencies x cosine and sine.

References
----------
.. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 20 (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.column_sizes import DISTANCES, warn_of_dominant_columns
from rankwise.checks.parameter_constraints import POSITIVE, StrOptions, minimum
from rankwise.checks.rows import check_rows
from rankwise.features.feature_transformer import FeatureTransformer
from rankwise.features.kernels import NAMED_WIDTHS, resolve_kernel
from rankwise.features.random_nodes import SLICE_ROWS
from rankwise.structure.state_rules import Number, Rule, floats
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Matrix

FOURIER_KERNELS = ("rbf", "laplacian")


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Random frequencies, callable on blocks of rows."""

    _structure: ClassVar[dict[str, Rule]] = {
        "frequencies": floats("n_features_in_", "n_frequencies"),
    }

    frequencies: FloatArray

    @property
    def n_features_out(self) -> int:
        """Two columns per frequency: first all cosines, then all sines."""
        return 2 * self.frequencies.shape[1]

    def astype(self, dtype: Any) -> FourierMap:
        """The same map in another precision."""
        return FourierMap(self.frequencies.astype(dtype, copy=False))

    def __call__(self, X: Matrix) -> FloatArray:
        """Features of shape (n_rows, n_features_out), in the precision of the map."""
        n = self.frequencies.shape[1]
        out = np.empty((X.shape[0], 2 * n), dtype=self.frequencies.dtype)
        for lo in range(0, X.shape[0], SLICE_ROWS):
            block = out[lo : lo + SLICE_ROWS]
            phase = np.asarray(X[lo : lo + SLICE_ROWS] @ self.frequencies, dtype=out.dtype)
            np.cos(phase, out=block[:, :n])
            np.sin(phase, out=block[:, n:])
        out *= n**-0.5
        return out

    def rows(self, X: Matrix) -> Float64Array:
        """All features in float64, for systems with one equation per row."""
        return self(X).astype(np.float64, copy=False)


def draw_frequencies(
    n_features: int,
    n_frequencies: int,
    kernel: str,
    gamma: float,
    random_state: np.random.RandomState,
) -> FourierMap:
    """Draw the frequencies of the "rbf" or "laplacian" kernel of width ``gamma``."""
    shape = (n_features, n_frequencies)
    if kernel == "rbf":
        return FourierMap(np.sqrt(2 * gamma) * random_state.standard_normal(shape))
    return FourierMap(gamma * random_state.standard_cauchy(shape))


class RandomFourier(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):
    """Random Fourier features that approximate the rbf or the laplacian kernel.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}, default="rbf"
        ``exp(-gamma |x - z|_2^2)`` or ``exp(-gamma |x - z|_1)``.
    gamma : float > 0, "scale", "auto" or None, default=None
        None: 1 / the median distance; the names are scikit-learn's, see
        :func:`rankwise.features.kernels.resolve_kernel`.
    n_frequencies : int, default=500
        Number of frequencies, >= 1. Each gives two features, a cosine and a sine.
    random_state : int, RandomState or None, default=None
        Seed for drawing the frequencies.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_frequencies)
        The drawn frequencies.
    gamma_ : float
        Value used for ``gamma``.

    Notes
    -----
    O(n_samples n_features n_frequencies). The error of an inner product is of order
    ``n_frequencies^(-1/2)``, whatever the rows. Nyström features need fewer columns if there are
    few rows or if the rows lie close together; random Fourier features need no landmarks.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 20 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RandomFourier
    >>> X = np.array([[0.0], [1.0]])
    >>> F = RandomFourier(gamma=1.0, n_frequencies=10_000, random_state=0).fit_transform(X)
    >>> (F @ F.T).round(2)  # the kernel: 1 and 0.37
    array([[1.  , 0.38],
           [0.38, 1.  ]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "gamma_": Number(low=0),
        "frequencies_": floats("n_features_in_", "n_frequencies"),
        "_n_features_out": Number("i", low=0),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(FOURIER_KERNELS))],
        "gamma": [POSITIVE, StrOptions(set(NAMED_WIDTHS)), None],
        "n_frequencies": [minimum(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Literal["rbf", "laplacian"] = "rbf",
        gamma: float | Literal["scale", "auto"] | None = None,
        n_frequencies: int = 500,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_frequencies = n_frequencies
        self.random_state = random_state

    def fit(self, X: FrameLike, y: ArrayLike | None = None) -> Self:
        """Choose ``gamma`` if it is not given, and draw the frequencies; ``y`` is ignored."""
        self._validate_params()
        X = check_rows(self, X, reset=True)
        warn_of_dominant_columns(self, X, DISTANCES)
        kernel = resolve_kernel(self.kernel, X, self.gamma)
        assert kernel.gamma is not None
        self.gamma_ = kernel.gamma
        drawn = draw_frequencies(
            X.shape[1],
            self.n_frequencies,
            self.kernel,
            self.gamma_,
            check_random_state(self.random_state),
        )
        self.frequencies_ = drawn.frequencies
        self._n_features_out = drawn.n_features_out
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Features of shape (n_samples, 2 n_frequencies), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return FourierMap(self.frequencies_).astype(X.dtype)(X)
