"""LambdaMART on several machines, each of which holds whole queries; all grow the same trees.

Sums of integer histograms are exact, so the trees equal those of a single machine. Rows are
exchanged once, to agree on the bins; afterwards only sums are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.checks.rows import check_fit, check_validation
from rankwise.features.binning import Binning, find_bins
from rankwise.losses.gradient_loss import JudgedRows
from rankwise.metrics import parse
from rankwise.metrics.ranking.ndcg import DCG, NDCG
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.rows.merged_rows import distinct_rows_of_queries
from rankwise.runtime.threads import threads_asked
from rankwise.solvers.boosting.tree_boosting import Start, Validation
from rankwise.trees.boosted.binned_rows import sample_step
from rankwise.trees.boosted.shares import Shares
from rankwise.trees.boosted.sparse_rows import encode_rows
from rankwise.trees.boosted.tree_grower import TreeGrower
from rankwise.trees.column_table import ColumnTable
from rankwise.trees.ordered_rows import OrderedRows
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import canonicalise

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

    ``ranker`` is fitted, see :func:`check_shareable`. ``rows`` are X, y and qid of this share:
    whole queries, with grades from 0 to 30. ``names`` are those of the columns. ``validation`` is
    X_val, y_val and qid_val, identical for all machines.

    The fitted ranker is bit-identical on all machines. It is also bit-identical to a fit of all
    rows on one machine if there are at most 200,000 distinct rows. With more rows, every share
    contributes to the sample from which bins are computed.
    """
    X, y, qid = rows
    ranker.columns_ = ColumnTable({}, {})
    data = check_fit(ranker, X, y, qid, allow_nan=True, names=names, part=True)
    held_out = check_validation(ranker, data, *validation, allow_nan=True)
    ranker._set_score_name(data.y)
    trees, n_threads = TreeEnsemble.of([]), threads_asked(ranker.n_jobs)
    measure = parse(ranker.validation_measure or ranker.measure)
    monitor = None if held_out is None else Validation.of(held_out, measure, trees)

    X = canonicalise(data.X)
    order, indptr, weight = distinct_rows_of_queries(
        X, data.y, data.groups, data.sample_weight, n_threads=n_threads
    )
    share = OrderedRows(X, order)
    judged = JudgedRows(data.y[order], indptr, weight, ranker.query_weight)
    loss = ranker._loss(judged, parse(ranker.measure), seed, n_threads)
    counts = shares.sum(np.array([share.n_rows, loss.n_queries_with_pairs]))
    n_rows, n_queries = counts.tolist()
    weighted = bool(shares.sum(np.array([weight is not None], dtype=np.int64))[0])
    weight = judged.weights() if weighted else None

    sample = slice(None, None, sample_step(n_rows))
    binning = shares.agree(
        (share.block(sample), None if weight is None else weight[sample]),
        lambda samples: _cuts(samples, ranker.max_bins),
    )
    binned = encode_rows(share, binning, n_threads, shares=shares)
    has_missing = shares.sum(binned.has_missing.astype(np.int64)) > 0
    boosting = ranker._boosting(seed)
    start = Start.of(trees, share, n_threads, boosting.dropout)
    del X, data, judged, share
    grower = TreeGrower(binned, ranker._growth_rules(n_rows, n_queries), n_threads, weight, shares)
    return ranker._publish(*boosting.fit(loss, grower, start, monitor), has_missing, monitor)


def _cuts(samples: Sequence[tuple[Any, Any]], max_bins: int) -> Binning:
    """Bins computed from the samples of all shares."""
    weights = [weight for _, weight in samples if weight is not None]
    weight = np.concatenate(weights) if weights else None
    return find_bins(np.concatenate([X for X, _ in samples]), max_bins, weight)
