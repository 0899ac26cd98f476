"""NonNegativeRanker: a linear ranker whose weights are not below zero.

Composition: columns of X x squared loss over all pairs x active sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from rankwise.checks.parameter_constraints import StrOptions
from rankwise.equation import Equation
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import LINEAR_STRUCTURE, BasisExpansionRanker
from rankwise.rankers.closed_form import (
    MEAN_GRID,
    SELECTION_CONSTRAINTS,
    ColumnFeatures,
    build_closed_form,
)
from rankwise.solvers.least_squares.non_negative import NonNegativePath
from rankwise.structure.rules import Rule, require
from rankwise.tuning.penalty_search import Penalty

_LAM = Penalty("lam", "lam", MEAN_GRID, ("cv", "loqo", "val"), unpenalised=True)


class NonNegativeRanker(BasisExpansionRanker):
    """Linear ranking by least squares over pairs, with weights >= 0.

    Minimises
    ``(1/S) sum_q c_q sum_{i,j in q} ((y_i - y_j) - (x_i - x_j)'w)^2 + lam |w|^2`` over w >= 0, as
    :class:`rankwise.LSRRank` with a linear kernel does without the bound. c_q is 1, 1 / m_q or
    1 / m_q^2 for m_q rows (``query_weight``), and ``S = sum_q c_q m_q^2``.

    Parameters
    ----------
    lam : float, list of floats, "cv", "loqo" or "val", default=1.0
        L2 penalty, >= 0. A list is searched on ``X_val`` if given and else by ``cv`` folds of
        queries; "cv", "loqo" (exact leave-one-query-out) and "val" search 10^2, 10^1.5, ..., 10^-8.
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal total weight: every pair, every document, or every query.
    measure : str, default="nDCG@10"
        Tuning metric, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of folds of queries.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    coef_ : ndarray of shape (n_features_in_,)
        All >= 0.
    intercept_ : float
        0.
    lam_ : float
    path_ : dict with "lam" of shape (n_lam,) and "coef" of shape (n_lam, n_features_in_)
    cv_results_ : dict with "lam", "fold_test_scores" and "mean_test_score" (after a search)
    score_name_ : str

    Notes
    -----
    O(N d^2) for N rows and d columns, and O(d^3) for each penalty and held-out fold. All features
    must point the same way: a larger value, a better document.

    References
    ----------
    .. [1] Lawson & Hanson, "Solving least squares problems", 1974, chapter 23.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.fusion import NonNegativeRanker
    >>> X, y = np.array([[0.0, 0.3], [1.0, 0.1], [2.0, 0.0]]), [0, 1, 2]
    >>> NonNegativeRanker(lam=0.0).fit(X, y, qid=0).coef_.round(6)
    array([1., 0.])
    """

    _structure: ClassVar[dict[str, Rule]] = LINEAR_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": _LAM.constraint,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        **SELECTION_CONSTRAINTS,
    }

    def __init__(
        self,
        lam: float | Sequence[float] | Literal["cv", "loqo", "val"] = 1.0,
        *,
        query_weight: QueryWeight = "pair",
        measure: str = "nDCG@10",
        cv: Any = 5,
    ) -> None:
        self.lam = lam
        self.query_weight = query_weight
        self.measure = measure
        self.cv = cv

    def _equation(self) -> Equation:
        return build_closed_form(
            ColumnFeatures(False),
            SquaredLoss("all", self.query_weight),
            _LAM,
            make_path=NonNegativePath,
            needs_rows="active sets are chosen on all of them",
        )

    def _check_structure(self) -> None:
        require((self.coef_ >= 0).all(), "coef_", "be >= 0", self.coef_)
