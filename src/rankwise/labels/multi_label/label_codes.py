"""Codes of the labels that the rows do not determine: each label, some labels, random or given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.label_data import one_hot
from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace, check_size
from rankwise.runtime.constraints import check_random_state
from rankwise.solvers.many_labels import cosamp, matching_pursuit
from rankwise.structure.state_rules import (
    Number,
    Optional,
    Rule,
    Sometimes,
    floats,
    integers,
    require,
)
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed, SparseMatrix


class BinaryRelevance(LabelSpace):
    """One regression for every label; a label is predicted if its regression exceeds one half.

    Minimises ``sum_i w_i |y_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and labels. The constants in the first row of B are penalised like all coefficients.

    Parameters
    ----------
    alpha : float >= 0, default=0.01
        Penalty added to the SUM of squared errors: factor of the squared norm of the coefficients,
        including the constants. Not used if ``estimator`` is given.
    estimator : regressor, classifier or None, default=None
        Any scikit-learn regressor or classifier. It is fitted once on all labels if it supports
        multiple outputs, and is cloned for each label otherwise. None: ridge regression with one
        factorisation.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels; or the classes, if y held one class for every row.
    coef_ : ndarray of shape (n_labels, n_features), float64
        Only if ``estimator`` is None.
    intercept_ : ndarray of shape (n_labels,), float64
        Only if ``estimator`` is None.
    regressors_ : list of estimators
        Fitted estimators, only if ``estimator`` is given.
    offset_ : ndarray of shape (n_labels,), float64
        Reference point of the label codes: zeros.
    components_ : CSR of shape (n_labels, n_labels), float64
        Matrix of the label codes: the identity.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    If ``estimator`` is a classifier, its predictions are the labels. Labels are ranked by its
    probabilities; without ``predict_proba``, its decision values d give the scores ``(1 + d / (1 +
    |d|)) / 2``.

    For N rows with p features and b of K labels each, the cost is O(N p^2 + N p b + p^3 + p^2 K):
    all labels share one Gram matrix and one Cholesky factor. Memory is O(p^2 + p K), in addition to
    the rows.

    If the mean of a column exceeds 100 standard deviations, dense rows are centred first, so large
    offsets do not reduce accuracy. Sparse rows are not centred, because this would make them dense,
    and neither are data with fewer rows than columns: subtract large offsets beforehand.

    Composition: columns with a constant x squared loss on every label x Cholesky.

    References
    ----------
    .. [1] Tai & Lin, "Multilabel classification with principal label space transformation",
       Neural Computation 24 (2012).

    Examples
    --------
    >>> from rankwise.labels import BinaryRelevance
    >>> X, Y = [[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [0, 1]]
    >>> model = BinaryRelevance().fit(X, Y)
    >>> model.predict([[0.0], [2.0]])
    array([[1, 0],
           [0, 1]])
    >>> model.predict_ranking([[0.0], [2.0]])
    array([[1, 2],
           [2, 1]])
    """

    components_: SparseMatrix

    def __init__(self, alpha: float = 0.01, *, estimator: Any = None) -> None:
        self.alpha = alpha
        self.estimator = estimator

    def _set_code(self, source: LabelSource) -> None:
        self.offset_: Float64Array = np.zeros(source.n_labels)
        self.components_ = one_hot(np.arange(source.n_labels), source.n_labels)

    def _encode(self, Y: SparseMatrix) -> SparseMatrix:
        return Y

    def _decode(self, codes: Float64Array) -> Float64Array:
        return codes


class PartialBinaryRelevance(LabelSpace):
    """One regression for each of some randomly drawn labels; the others have a constant score.

    Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and drawn labels, with ``t_i = y_i - o``. The constants in the first row of B are penalised
    like all coefficients.

    Parameters
    ----------
    n_labels : int >= 1 or None, default=None
        Number of labels to draw. None: all.
    reference : {"absent", "zero", "mean"}, default="absent"
        Score of the labels that are not drawn. "absent": 0, so these labels are never predicted.
        "zero": same as "absent". "mean": share of the training rows with the label; the shares of
        the drawn labels are also subtracted before the regression.
    alpha : float >= 0, default=0.01
        Penalty added to the SUM of squared errors, as in :class:`BinaryRelevance`.
    estimator : regressor, classifier or None, default=None
        As in :class:`BinaryRelevance`. A classifier needs ``reference="absent"``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, as in :class:`BinaryRelevance`.
    drawn_ : ndarray of shape (n_codes,), int64
        Positions of the drawn labels, ascending.
    offset_ : ndarray of shape (n_labels,), float64
        Reference scores of the labels.
    components_ : CSR of shape (n_codes, n_labels), float64
        Rows of the identity matrix for the drawn labels.
    coef_, intercept_, regressors_
        As in :class:`BinaryRelevance`, for the drawn labels.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Training costs as much as :class:`BinaryRelevance` on the L drawn labels: O(N d^2 + d^3 + N d L)
    for N rows and d columns. Memory is O(d^2 + d L).

    Composition: columns with a constant x squared loss on some labels x Cholesky.

    References
    ----------
    .. [1] Tai & Lin, "Multilabel classification with principal label space transformation",
       Neural Computation 24 (2012), section 3.

    Examples
    --------
    >>> from rankwise.labels import PartialBinaryRelevance
    >>> X, Y = [[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [1, 1]]
    >>> model = PartialBinaryRelevance(1, reference="mean", random_state=0).fit(X, Y)
    >>> model.drawn_
    array([1])
    >>> model.predict([[0.0], [2.0]])
    array([[1, 0],
           [1, 1]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "drawn_": integers("n_codes", low=0, below="n_classes"),
    }

    components_: SparseMatrix
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelSpace._parameter_constraints,
        "n_labels": [minimum(1), None],
        "reference": [StrOptions({"absent", "zero", "mean"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_labels: int | None = None,
        reference: Literal["absent", "zero", "mean"] = "absent",
        *,
        alpha: float = 0.01,
        estimator: Any = None,
        random_state: Seed = None,
    ) -> None:
        self.n_labels = n_labels
        self.reference = reference
        self.alpha = alpha
        self.estimator = estimator
        self.random_state = random_state

    def _set_code(self, source: LabelSource) -> None:
        n_drawn = check_size("n_labels", self.n_labels, source.n_labels)
        rng = check_random_state(self.random_state)
        self.drawn_: Int64Array = np.sort(rng.choice(source.n_labels, n_drawn, replace=False))
        self.offset_: Float64Array = (
            source.means if self.reference == "mean" else np.zeros(source.n_labels)
        )
        self.components_ = one_hot(self.drawn_, source.n_labels)


class CompressedSensing(LabelSpace):
    """Regression on random projections of the labels, decoded to a sparse vector.

    Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and projections t_i of the labels. The constants in the first row of B are penalised like
    all coefficients.

    Parameters
    ----------
    n_components : int >= 1 or None, default=None
        Number of projections M, at most the order of the Hadamard matrix. None: all labels.
    sparsity : int >= 1 or None, default=None
        Number s of nonzero labels in the decoded vector. None: the largest number of labels of a
        training row.
    random_state : int, RandomState, Generator or None, default=None
        Seed for the projections.
    rows : {"hadamard", "gaussian"}, default="hadamard"
        Distribution of the projections. "hadamard": M random rows and K random columns of the
        Hadamard matrix of the next power of two. "gaussian": independent normal entries. Both are
        divided by the square root of M.
    decoder : {"cosamp", "omp"}, default="cosamp"
        Decoder: CoSaMP or orthogonal matching pursuit.
    max_iter : int >= 1, default=10
        Largest number of steps of CoSaMP when codes are decoded.
    alpha : float >= 0, default=0.01
        Penalty added to the SUM of squared errors, as in :class:`BinaryRelevance`.
    estimator : regressor or None, default=None
        As in :class:`BinaryRelevance`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, as in :class:`BinaryRelevance`.
    offset_ : ndarray of shape (n_labels,), float64
        Reference point of the codes: zeros.
    components_ : ndarray of shape (n_codes, n_labels), float64
        Projection matrix.
    sparsity_ : int
        Value of s that is used.
    n_iter_ : int
        Limit of the steps that decode a row: ``max_iter`` of CoSaMP, s of matching pursuit.
    coef_, intercept_, regressors_
        As in :class:`BinaryRelevance`, for the codes.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Training costs as much as ridge regression on M outputs. Decoding costs O(K M + s^2 M + s^3) for
    each row and step. Memory is O(d^2 + d M + K M) for d columns. If 3 s > M, the least-squares
    problem of CoSaMP has many solutions; the minimum-norm solution is used, and recovery is no
    longer guaranteed.

    Differs from [1]_ in the scale of the projections, which affects neither ridge regression nor
    the decoders.

    Composition: columns with a constant x squared loss on random projections of the labels x
    Cholesky.

    References
    ----------
    .. [1] Hsu, Kakade, Langford & Zhang, "Multi-label prediction via compressed sensing", NIPS 22
       (2009).
    .. [2] Needell & Tropp, "CoSaMP: iterative signal recovery from incomplete and inaccurate
       samples", Applied and Computational Harmonic Analysis 26 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.labels import CompressedSensing
    >>> rng = np.random.default_rng(0)
    >>> X = np.eye(64)[rng.integers(0, 64, 400)]  # each kind of row has a label of its own
    >>> model = CompressedSensing(n_components=16, random_state=0).fit(X, X.astype(int))
    >>> model.sparsity_, model.score(X, X.astype(int))
    (1, 0.0)
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "sparsity_": Number("i", low=1),
        "n_iter_": Sometimes(Number("i", low=1)),
    }

    components_: Float64Array
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelSpace._parameter_constraints,
        "n_components": [minimum(1), None],
        "sparsity": [minimum(1), None],
        "random_state": ["random_state"],
        "rows": [StrOptions({"hadamard", "gaussian"})],
        "decoder": [StrOptions({"cosamp", "omp"})],
        "max_iter": [minimum(1)],
    }

    def __init__(
        self,
        n_components: int | None = None,
        sparsity: int | None = None,
        *,
        random_state: Seed = None,
        rows: Literal["hadamard", "gaussian"] = "hadamard",
        decoder: Literal["cosamp", "omp"] = "cosamp",
        max_iter: int = 10,
        alpha: float = 0.01,
        estimator: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.random_state = random_state
        self.rows = rows
        self.decoder = decoder
        self.max_iter = max_iter
        self.alpha = alpha
        self.estimator = estimator

    def _check_structure(self) -> None:
        super()._check_structure()
        n = len(self.classes_)
        require(self.sparsity_ <= n, "sparsity_", f"be at most {n}", self.sparsity_)

    def _set_code(self, source: LabelSource) -> None:
        n_labels = source.n_labels
        rng = check_random_state(self.random_state)
        wanted = n_labels if self.n_components is None else int(self.n_components)
        if self.rows == "hadamard":
            order = 2 ** int(np.ceil(np.log2(n_labels)))
            n_codes = check_size("n_components", wanted, order)
            signs = hadamard_part(
                rng.choice(order, n_codes, replace=False),
                rng.choice(order, n_labels, replace=False),
            )
            self.components_ = signs / np.sqrt(n_codes)
        else:
            self.components_ = rng.standard_normal((wanted, n_labels)) / np.sqrt(wanted)
        self.offset_: Float64Array = np.zeros(n_labels)
        wanted = self.sparsity or max(1, source.largest_set)
        self.sparsity_: int = check_size("sparsity", wanted, n_labels)
        self.n_iter_: int = self.max_iter if self.decoder == "cosamp" else self.sparsity_

    def _decode(self, codes: Float64Array) -> Float64Array:
        if self.decoder == "cosamp":
            return cosamp(self.components_, codes, self.sparsity_, self.max_iter)
        return matching_pursuit(self.components_, codes, self.sparsity_)


def hadamard_part(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Float64Array:
    """Entries of Sylvester's Hadamard matrix for some rows and columns, -1.0 or 1.0.

    Entry (i, j) is -1 if the binary numbers i and j have an odd number of ones in common.
    """
    shared = rows[:, None] & columns
    for shift in (32, 16, 8, 4, 2, 1):
        shared ^= shared >> shift
    return 1.0 - 2.0 * (shared & 1)


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
        Penalty added to the SUM of squared errors, as in :class:`BinaryRelevance`.
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
    Encoding and decoding cost O(n_codes n_labels) time for each row, and the two matrices as much
    memory, in addition to the regression.

    Composition: columns with a constant x squared loss on codes of the labels x Cholesky.

    References
    ----------
    .. [1] Tai & Lin, "Multilabel classification with principal label space transformation",
       Neural Computation 24 (2012), section 3.

    Examples
    --------
    >>> from rankwise.labels import LinearLabelSpaceTransform
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
        *,
        reference: Literal["zero", "mean"] | ArrayLike = "zero",
        alpha: float = 0.01,
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
            self.offset_: Float64Array = _finite("reference", self.reference, (n_labels,))
        code = np.eye(n_labels) if self.encode is None else self.encode
        self.components_ = _finite("encode", code, (None, n_labels))
        if callable(self.decode):
            self.decoder_: Float64Array | None = None
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
