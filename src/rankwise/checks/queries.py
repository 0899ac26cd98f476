"""Warnings for rows without query ids, and errors for queries with nothing to learn from.

``qid=None`` means one query, as scikit-learn's contract requires, but usually ``qid`` was
forgotten. A scalar, such as ``qid=0``, declares one query on purpose.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn

from rankwise.groups import QueryGroups
from rankwise.runtime.callers import callers_level
from rankwise.runtime.vocabulary import setting
from rankwise.typing import Float64Array


class OneQueryWarning(UserWarning):
    """Rows were passed without a ``qid``, so all of them are treated as one query.

    ``qid=0`` (any scalar) declares one query, without a warning.
    """


def warn_unless_queries(estimator: Any, qid: Any, n_samples: int) -> None:
    """Warn if ``fit`` gets several rows and no ``qid``."""
    if qid is None and n_samples > 1:
        _warn(f"{type(estimator).__name__} got no qid in fit and takes all {n_samples} rows as one "
              "query, each compared with every other.")  # fmt: skip


def warn_of_one_query(estimator: Any, method: str, qid: Any, n_samples: int) -> None:
    """Warn if a model of several queries ranks or measures several rows without a ``qid``.

    Objects without a training fingerprint pass without a warning.
    """
    if qid is not None or n_samples < 2:
        return
    n_queries = getattr(estimator, "fit_fingerprint_", {}).get("n_queries", 1)
    if n_queries > 1:
        _warn(f"{method} got no qid and takes all {n_samples} rows as one query, but "
              f"{type(estimator).__name__} was fitted on {n_queries} queries.")  # fmt: skip


def check_comparable(estimator: Any, y: Float64Array, groups: QueryGroups) -> None:
    """Raise ValueError if no query has two rows with different labels."""
    if groups.n_samples < 2 or _has_pair(groups.sort(y), groups.indptr):
        return
    name = type(estimator).__name__
    if groups.n_queries == groups.n_samples:
        raise ValueError(
            f"qid must give some query two rows or more, got {groups.n_queries} queries of one row "
            f"each: {name} compares rows of one query. Pass the id that rows to be ranked together "
            f"share, or {setting('qid', 0)} where all rows are one query."
        )
    raise ValueError(
        f"y must differ within some query, got equal labels in each of the {groups.n_queries} "
        f"queries: {name} has no pair to learn from. Check that qid and y belong to the same rows."
    )


def _has_pair(y: Float64Array, indptr: Any) -> bool:
    """Whether neighbouring rows of a query differ anywhere."""
    differs = y[1:] != y[:-1]
    differs[indptr[1:-1] - 1] = False
    return bool(np.any(differs))


def _warn(what: str) -> None:
    one_query = setting("qid", 0)
    fix = f"Pass the query of every row as qid, or {one_query} where all rows are one query."
    warnings.warn(f"{what} {fix}{routing_hint()}", OneQueryWarning, stacklevel=callers_level())


def routing_hint() -> str:
    """What a caller who did pass qid to scikit-learn has to do; empty if routing is enabled."""
    if sklearn.get_config()["enable_metadata_routing"]:
        return ""
    return (
        " Searches, cross-validation and pipelines of scikit-learn hand qid on only after "
        "sklearn.set_config(enable_metadata_routing=True)."
    )
