"""Fit any estimator on judged data, with the arguments that its ``fit`` accepts."""

from __future__ import annotations

from typing import Any

from rankwise.checks.rows import columns_named
from rankwise.datasets.data import RankingData
from rankwise.runtime.routing import fit_with, takes_validation

__all__ = ["fit", "takes_validation"]


def fit(estimator: Any, train: RankingData, vali: RankingData | None = None) -> list[str]:
    """Fit in place on the training part; return notes on data that the estimator did not accept.

    Parameters
    ----------
    estimator : object with ``fit(X, y, …)``
        Estimator to fit. It receives ``qid``, ``sample_weight`` (if the data have it) and
        ``X_val, y_val, qid_val`` (if ``vali`` is given), as far as its signature names them.
        Pipelines and searches receive ``qid``, ``groups`` and ``sample_weight`` if one of their
        parts requests these by metadata routing. A plain regressor receives only X and y.
        Estimators of rankwise also store the feature names of ``train``.
    train, vali : RankingData
        Training and validation parts.

    Returns
    -------
    list of str
        Notes, for instance that sample weights were not used.
    """
    offered: dict[str, Any] = {"qid": train.qid, "groups": train.qid}
    if train.sample_weight is not None:
        offered["sample_weight"] = train.sample_weight
    validation = None
    if vali is not None:
        validation = {"X_val": vali.X, "y_val": vali.y, "qid_val": vali.qid}
    with columns_named(estimator, train.feature_names):
        taken = fit_with(estimator, train.X, train.y, offered, validation)
    if train.sample_weight is not None and "sample_weight" not in taken:
        return ["fitted without sample_weight, which its fit does not accept"]
    return []
