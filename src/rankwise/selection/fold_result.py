"""Cell of a comparison: the serialisable result of one ranker on one fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from rankwise.runtime.json_values import convert_to_json
from rankwise.typing import Float64Array

DONE, FAILED, SKIPPED = "done", "failed", "skipped"
_ARRAYS = ("values", "scores")


@dataclass(frozen=True, eq=False)
class FoldResult:
    """Result of one ranker on one fold.

    Attributes
    ----------
    ranker, fold : str
    status : str
        "done"; "failed" (an exception, a crash or the time limit); or "skipped" (an optional
        dependency is not installed).
    message : str
        Reason of a failure, or how to install a missing dependency.
    fit_seconds : float or None
        Wall time until the chosen model was fitted, including all settings of a search.
    predict_seconds, evaluate_seconds : float or None
        Wall time on the test part.
    memory_bytes : int or None
        Peak resident memory of fit and predict above that at the start of the cell.
    chosen : dict
        Parameters chosen on the validation part (or by cross-validation within the training part).
    search : list of dict
        ``{"params": {...}, "score": float}`` of every setting tried, in order.
    notes : list of str
        Warnings of the fit, and arguments that could not be honoured.
    ranks : dict
        Predicted ranks, see ``rankwise.selection.predicted_ranks``; empty if no classes are
        predicted.
    key : str
        Fingerprint of everything the numbers depend on.
    origin : dict of str to str
        Versions of libraries and hashes of the user's own code that computed the cell; empty
        without a store.
    values : dict of str to ndarray of shape (n_test_queries,)
        Values by full measure spec, including the points of the report's curve; NaN if a query
        does not count.
    scores : ndarray of shape (n_test_rows,) or None
        Scores of the test rows, in input order.
    """

    ranker: str
    fold: str
    status: str
    message: str = ""
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    evaluate_seconds: float | None = None
    memory_bytes: int | None = None
    chosen: dict[str, Any] = field(default_factory=dict)
    search: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ranks: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    origin: dict[str, str] = field(default_factory=dict)
    values: dict[str, Float64Array] = field(default_factory=dict)
    scores: Float64Array | None = None

    def record(self) -> dict[str, Any]:
        """Everything except the arrays, as JSON values."""
        return {
            f.name: convert_to_json(getattr(self, f.name))
            for f in fields(self)
            if f.name not in _ARRAYS
        }

    @classmethod
    def from_record(
        cls,
        record: Mapping[str, Any],
        values: Mapping[str, Float64Array],
        scores: Float64Array | None = None,
    ) -> FoldResult:
        """Restore a cell from its :meth:`record` and arrays; unknown keys are ignored."""
        known = {f.name for f in fields(cls)} - set(_ARRAYS)
        scalars = {name: value for name, value in record.items() if name in known}
        return cls(**scalars, values=dict(values), scores=scores)

    def to_dict(self) -> dict[str, Any]:
        """JSON values with the per-query values (NaN as null), without the scores."""
        return {**self.record(), "values": {m: convert_to_json(v) for m, v in self.values.items()}}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> FoldResult:
        """Inverse of :meth:`to_dict`."""
        values = {m: np.array(v, dtype=np.float64) for m, v in state["values"].items()}
        return cls.from_record(state, values)
