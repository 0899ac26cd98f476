"""Regression on an arbitrary linear code of the labels, with any decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.parameter_constraints import StrOptions
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace
from rankwise.structure.rules import Optional, Rule, floats
from rankwise.typing import ArrayLike, Float64Array


class LinearLabelSpaceTransform(LabelSpace):
    """Regression on labels encoded by a matrix and decoded by a matrix or a function.

    :class:`BinaryRelevance`, :class:`PartialBinaryRelevance`, :class:`PLST`, :class:`CPLST` and
    :class:`CompressedSensing` are special cases with particular matrices.

    Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and codes ``t_i = P (y_i - o)``. The constants in the first row of B are penalised like all
    coefficients.

    Parameters
    ----------
    encode : array-like of shape (n_codes, n_labels) or None, default=None
        Encoding matrix P: labels y have the codes ``P (y - o)``. None: the identity.
    decode : array-like of shape (n_codes, n_labels), callable or None, default=None
        Decoding matrix D: predicted codes r give the scores ``o + D'r``. A function receives r of
        shape (n_samples, n_codes) and returns the scores minus o, of shape (n_samples, n_labels).
        None: the pseudo-inverse of P, which is P' if the rows of P are orthonormal.
    reference : {"zero", "mean"} or array-like of shape (n_labels,), default="zero"
        Reference point o. "zero": 0. "mean": the share of the training rows with each label. An
        array: any other point.
    alpha : float >= 0, default=0.01
        As in :class:`BinaryRelevance`.
    estimator : regressor or None, default=None
        As in :class:`BinaryRelevance`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, as in :class:`BinaryRelevance`.
    offset_ : ndarray of shape (n_labels,), float64
        Reference point o.
    components_ : ndarray of shape (n_codes, n_labels), float64
        Encoding matrix P.
    decoder_ : ndarray of shape (n_codes, n_labels), float64, or None
        Decoding matrix D. None if ``decode`` is a function.
    coef_, intercept_, regressors_
        As in :class:`BinaryRelevance`, for the codes.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Encoding and decoding cost O(n_codes n_labels) for each row, in addition to the regression.

    Composition: columns with a constant x squared loss on codes of the labels x Cholesky.

    References
    ----------
    .. [1] Tai & Lin, "Multilabel classification with principal label space transformation",
       Neural Computation 24 (2012), section 3.

    Examples
    --------
    >>> from rankwise import LinearLabelSpaceTransform
    >>> X, Y = [[0.0], [1.0], [2.0]], [[1, 1, 0], [1, 1, 1], [0, 0, 1]]
    >>> code = [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]  # the first two labels always agree
    >>> model = LinearLabelSpaceTransform(encode=code).fit(X, Y)
    >>> model.predict([[0.0], [2.0]])
    array([[1, 1, 0],
           [0, 0, 1]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "decoder_": Optional(floats("n_codes", "n_classes")),
    }

    components_: Float64Array
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelSpace._parameter_constraints,
        "encode": ["array-like", None],
        "decode": ["array-like", callable, None],
        "reference": [StrOptions({"zero", "mean"}), "array-like"],
    }

    def __init__(
        self,
        encode: ArrayLike | None = None,
        decode: ArrayLike | Callable[[Float64Array], Float64Array] | None = None,
        reference: Literal["zero", "mean"] | ArrayLike = "zero",
        alpha: float = 0.01,
        *,
        estimator: Any = None,
    ) -> None:
        self.encode = encode
        self.decode = decode
        self.reference = reference
        self.alpha = alpha
        self.estimator = estimator

    def _set_code(self, source: LabelSource) -> None:
        n_labels = source.n_labels
        if isinstance(self.reference, str):
            self.offset_ = source.means if self.reference == "mean" else np.zeros(n_labels)
        else:
            self.offset_ = _finite("reference", self.reference, (n_labels,))
        code = np.eye(n_labels) if self.encode is None else self.encode
        self.components_ = _finite("encode", code, (None, n_labels))
        if callable(self.decode):
            self.decoder_ = None
        elif self.decode is None:
            self.decoder_ = np.ascontiguousarray(np.linalg.pinv(self.components_).T)
        else:
            self.decoder_ = _finite("decode", self.decode, self.components_.shape)

    def _decode(self, codes: Float64Array) -> Float64Array:
        if self.decoder_ is not None:
            return codes @ self.decoder_ + self.offset_
        assert callable(self.decode)
        scores: Any = self.decode(codes)
        expected = (len(codes), len(self.offset_))
        if np.shape(scores) != expected:
            raise ValueError(
                f"decode must return scores of shape {expected} for codes of shape {codes.shape}, "
                f"got {np.shape(scores)}."
            )
        return np.asarray(scores, dtype=np.float64) + self.offset_


def _finite(name: str, value: Any, shape: tuple[int | None, ...]) -> Float64Array:
    """Array in float64 after a check of its shape; a length of None matches any length."""
    array = np.array(value, dtype=np.float64)
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits or array.size == 0:
        wanted = tuple("n_codes" if length is None else length for length in shape)
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity.")
    return array
