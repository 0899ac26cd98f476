"""Compressed sensing for labels [1]_: regression on random codes, decoded to sparse vectors.

References
----------
.. [1] Hsu, Kakade, Langford & Zhang, "Multi-label prediction via compressed sensing", NIPS 22
   (2009).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.labels.multi_label.label_space import LabelSource, LabelSpace, check_size
from rankwise.solvers.labels.sparse_recovery import cosamp, matching_pursuit
from rankwise.structure.rules import Number, Rule, require
from rankwise.typing import Float64Array


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
    random_state : int, RandomState or None, default=None
        Seed for the projections.
    rows : {"hadamard", "gaussian"}, default="hadamard"
        Distribution of the projections. "hadamard": M random rows and K random columns of the
        Hadamard matrix of the next power of two. "gaussian": independent normal entries. Both are
        divided by the square root of M.
    decoder : {"cosamp", "omp"}, default="cosamp"
        Decoder: CoSaMP or orthogonal matching pursuit.
    max_steps : int >= 1, default=10
        Largest number of steps of CoSaMP.
    alpha : float >= 0, default=0.01
        As in :class:`BinaryRelevance`.
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
    coef_, intercept_, regressors_
        As in :class:`BinaryRelevance`, for the codes.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Training costs as much as ridge regression on M outputs. Decoding costs O(K M + s^2 M + s^3) for
    each row and step. If 3 s > M, the least-squares problem of CoSaMP has many solutions; the
    minimum-norm solution is used, and recovery is no longer guaranteed.

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
    >>> from rankwise import CompressedSensing
    >>> rng = np.random.default_rng(0)
    >>> X = np.eye(64)[rng.integers(0, 64, 400)]  # each kind of row has a label of its own
    >>> model = CompressedSensing(n_components=16, random_state=0).fit(X, X.astype(int))
    >>> model.sparsity_, model.score(X, X.astype(int))
    (1, 0.0)
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "sparsity_": Number("i", low=1),
    }

    components_: Float64Array
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelSpace._parameter_constraints,
        "n_components": [minimum(1), None],
        "sparsity": [minimum(1), None],
        "random_state": ["random_state"],
        "rows": [StrOptions({"hadamard", "gaussian"})],
        "decoder": [StrOptions({"cosamp", "omp"})],
        "max_steps": [minimum(1)],
    }

    def __init__(
        self,
        n_components: int | None = None,
        sparsity: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        *,
        rows: Literal["hadamard", "gaussian"] = "hadamard",
        decoder: Literal["cosamp", "omp"] = "cosamp",
        max_steps: int = 10,
        alpha: float = 0.01,
        estimator: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.random_state = random_state
        self.rows = rows
        self.decoder = decoder
        self.max_steps = max_steps
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
        self.offset_ = np.zeros(n_labels)
        wanted = self.sparsity or max(1, source.largest_set)
        self.sparsity_ = check_size("sparsity", wanted, n_labels)

    def _decode(self, codes: Float64Array) -> Float64Array:
        if self.decoder == "cosamp":
            return cosamp(self.components_, codes, self.sparsity_, self.max_steps)
        return matching_pursuit(self.components_, codes, self.sparsity_)


def hadamard_part(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Float64Array:
    """Entries of Sylvester's Hadamard matrix for some rows and columns, -1.0 or 1.0.

    Entry (i, j) is -1 if the binary numbers i and j have an odd number of ones in common.
    """
    shared = rows[:, None] & columns
    for shift in (32, 16, 8, 4, 2, 1):
        shared ^= shared >> shift
    return 1.0 - 2.0 * (shared & 1)
