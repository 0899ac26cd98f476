"""LambdaMART on several machines, each of which holds whole queries; all grow the same trees.

Sums of integer histograms are exact, so the trees equal those of a single machine. Rows are
exchanged once, to agree on the bins; afterwards only sums are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.checks.rows import check_fit, check_validation
from rankwise.features.binning import Binning, find_bins
from rankwise.metrics import parse
from rankwise.metrics.ranking.ndcg import DCG, NDCG
from rankwise.rankers.boosting.lambdamart_parts import (
    growth_rules,
    training_rows,
    tree_boosting,
    watched,
)
from rankwise.runtime.threads import threads_asked
from rankwise.solvers.boosting.tree_boosting import Start
from rankwise.trees.boosted.binned_rows import BinnedRows, sample_step
from rankwise.trees.boosted.growth import TreeGrower
from rankwise.trees.boosted.shares import Shares
from rankwise.trees.columns import ColumnTable
from rankwise.trees.ensemble import TreeEnsemble

if TYPE_CHECKING:
    from rankwise.rankers.boosting.lambdamart import LambdaMART

# Parameters that may differ from their default values.
TAKEN = frozenset({
    "n_estimators", "learning_rate", "max_leaf_nodes", "measure", "max_depth", "truncation_level",
    "min_samples_leaf",
    "min_hessian_leaf", "reg_lambda", "reg_alpha", "min_split_gain", "growth", "max_bins",
    "normalize", "query_weight", "colsample_bytree", "colsample_bylevel", "colsample_bynode",
    "extra_trees", "monotonic_cst", "interaction_cst", "early_stopping_rounds",
    "validation_measure", "importance_type", "random_state", "n_jobs", "skip_drop", "top_rate",
    "other_rate", "position_bias_regularization",
})  # fmt: skip


def check_shareable(ranker: LambdaMART) -> None:
    """Raise ValueError if a parameter needs all rows on one machine."""
    ranker._validate_params()
    defaults = type(ranker)().get_params()
    for name, value in ranker.get_params().items():
        if name not in TAKEN and value != defaults[name]:
            raise ValueError(
                f"{name} must be {defaults[name]!r} for LambdaMART on a cluster, got {value!r}. "
                "Use the default, or fit on one machine."
            )
    measure = parse(ranker.measure)
    if isinstance(measure, NDCG | DCG) and measure.gain == "linear":
        raise ValueError(
            f"measure must have exponential gains or a table of gains for LambdaMART on a cluster, "
            f"got {ranker.measure!r}. Use 'nDCG@10', or fit on one machine."
        )


def fit_share(
    ranker: LambdaMART,
    rows: tuple[Any, Any, Any],
    names: list[str] | None,
    validation: tuple[Any, Any, Any],
    seed: int,
    shares: Shares,
) -> LambdaMART:
    """Train on a share of the rows, jointly with the machines that hold the other shares.

    Parameters
    ----------
    ranker : LambdaMART
        Ranker to fit, see :func:`check_shareable`.
    rows : X, y and qid of this share
        Rows of whole queries, with grades from 0 to 30.
    names : list of str, optional
        Names of the columns.
    validation : X_val, y_val and qid_val
        Validation rows, identical for all machines.
    seed : int
    shares : Shares

    Returns
    -------
    LambdaMART
        Fitted ranker, bit-identical on all machines. It is also bit-identical to a fit of all rows
        on one machine if there are at most 200,000 distinct rows. With more rows, every share
        contributes to the sample from which bins are computed.
    """
    X, y, qid = rows
    data = check_fit(ranker, X, y, qid, allow_nan=True, names=names, part=True)
    held_out = check_validation(ranker, data, *validation, allow_nan=True)
    ranker._set_score_name(data.y)
    ranker.columns_ = ColumnTable({}, {})
    before, n_threads = TreeEnsemble.of([]), threads_asked(ranker.n_jobs)
    measure = parse(ranker.validation_measure or ranker.measure)
    watching = None if held_out is None else watched(measure, held_out, before)
    mine = training_rows(ranker, data, None, seed, n_threads)
    ordered, loss = mine.ordered, mine.loss
    n_rows = int(shares.sum(np.array([ordered.n_rows]))[0])
    weighted = bool(shares.sum(np.array([mine.weight is not None], dtype=np.int64))[0])
    weight = loss.rows.weights() if weighted else None
    sample = slice(None, None, sample_step(n_rows))
    binning = shares.agree(
        (ordered.block(sample), None if weight is None else weight[sample]),
        lambda samples: _cuts(samples, ranker.max_bins),
    )
    binned = BinnedRows.coded(ordered, binning, n_threads)
    boosting = tree_boosting(ranker, seed)
    start = Start.of(before, ordered, n_threads, boosting.dropout)
    del data, mine, ordered
    grower = TreeGrower(binned, growth_rules(ranker), n_threads, weight, shares)
    ranker.trees_ = boosting.fit(loss, grower, start, watching)
    ranker.has_missing_ = shares.sum(binned.has_missing.astype(np.int64)) > 0
    ranker.n_estimators_ = ranker.best_iteration_ = ranker.trees_.n_trees
    if watching is not None:
        ranker.validation_scores_ = np.array(watching.staged.values)
        ranker.best_iteration_ = watching.staged.best
    return ranker


def _cuts(samples: Sequence[tuple[Any, Any]], max_bins: int) -> Binning:
    """Bins computed from the samples of all shares."""
    weights = [weight for _, weight in samples if weight is not None]
    weight = np.concatenate(weights) if weights else None
    return find_bins(np.concatenate([X for X, _ in samples]), max_bins, weight)
