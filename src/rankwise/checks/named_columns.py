"""Frames for estimators of other libraries, which identify columns by the names in a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def frame_for(estimator: Any, X: Any, names: Sequence[str] | None) -> Any:
    """Rows as the pandas frame that an estimator was fitted on, or ``X`` itself.

    Estimators of this library take arrays whose columns are known
    (:func:`rankwise.checks.rows.name_columns`). A pipeline or search may select columns by name,
    and warns about arrays if it was fitted on a frame. ``X`` is returned if the estimator is of
    this library or was fitted without names or on other columns than ``names``, if ``X`` is sparse,
    or if pandas is missing.
    """
    wanted = getattr(estimator, "feature_names_in_", None)
    own = type(estimator).__module__.partition(".")[0] == "rankwise"
    if own or wanted is None or names is None or not isinstance(X, np.ndarray):
        return X
    if [str(name) for name in wanted] != [*names]:
        return X
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(X, columns=list(wanted), copy=False)
