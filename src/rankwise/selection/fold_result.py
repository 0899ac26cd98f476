"""One cell of a comparison: one ranker on one fold, as values that can be written and read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from rankwise.typing import Float64Array

DONE, FAILED, SKIPPED = "done", "failed", "skipped"
_ARRAYS = ("values", "scores")


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one ranker did on one fold.

    Attributes
    ----------
    ranker, fold : str
    status : str
        "done"; "failed" (an exception, a crash or the time limit, in ``message``); "skipped" (its
        extra is not installed, the fix in ``message``).
    message : str
    fit_seconds : float or None
        Wall time until the chosen model was fitted, all settings of a search included.
    predict_seconds, evaluate_seconds : float or None
        Wall time on the test part.
    memory_bytes : int or None
        Peak resident memory of fit and predict above that at the start of the cell.
    chosen : dict
        Parameters chosen on the validation part (or by cross-validation within the training part).
    search : list of dict
        ``{"params": {...}, "score": float}`` of every setting tried, in order.
    notes : list of str
        Warnings of the fit and what could not be honoured.
    ranks : dict
        Of an estimator that predicts classes, see ``rankwise.selection.ranks``; else empty.
    key : str
        Fingerprint of everything the numbers depend on.
    origin : dict of str to str
        Versions of libraries and hashes of the user's own code that computed it; empty where no
        store was given.
    values : dict of str to ndarray of shape (n_test_queries,)
        By full measure spec, the points of the report's curve among them; NaN where a query does
        not count.
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
        """Everything but the arrays, as JSON values."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name not in _ARRAYS}

    @classmethod
    def from_record(
        cls,
        record: Mapping[str, Any],
        values: Mapping[str, Float64Array],
        scores: Float64Array | None = None,
    ) -> FoldResult:
        """The cell of :meth:`record` and its arrays; unknown keys of the record are ignored."""
        known = {f.name for f in fields(cls)} - set(_ARRAYS)
        scalars = {name: value for name, value in record.items() if name in known}
        return cls(**scalars, values=dict(values), scores=scores)

    def to_dict(self) -> dict[str, Any]:
        """JSON values, the per-query values included (NaN as null), the scores left out."""
        return {**self.record(), "values": {m: plain(v) for m, v in self.values.items()}}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> FoldResult:
        """Inverse of :meth:`to_dict`."""
        values = {m: np.array(v, dtype=np.float64) for m, v in state["values"].items()}
        return cls.from_record(state, values)


def plain(value: Any) -> Any:
    """JSON value of numbers, arrays, sequences and mappings; NaN and infinities become null.

    Anything else becomes its ``repr``.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    return repr(value)
