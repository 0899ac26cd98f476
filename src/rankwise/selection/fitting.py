"""Fit any estimator on judged data: what its ``fit`` accepts is what it gets."""

from __future__ import annotations

from typing import Any

from rankwise.checks.rows import columns_named
from rankwise.datasets.data import RankingData
from rankwise.runtime.routing import fit_with, takes_validation

__all__ = ["fit", "takes_validation"]


def fit(estimator: Any, train: RankingData, vali: RankingData | None = None) -> list[str]:
    """Fit in place on the training part; says what the estimator could not take.

    Parameters
    ----------
    estimator : object with ``fit(X, y, …)``
        Gets ``qid``, ``sample_weight`` (where the data have it) and ``X_val, y_val, qid_val``
        (where ``vali`` is given) as far as its signature names them. Pipelines and searches
        get ``qid``, ``groups`` and ``sample_weight`` where metadata routing says that a part of
        them requests these. A plain regressor gets X and y. An estimator of rankwise learns
        the names of the features, where ``train`` has them.
    train, vali : RankingData

    Returns
    -------
    list of str
        Notes, for instance that the sample weights went unused.
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
        return ["fitted without sample_weight, which its fit does not take"]
    return []
