"""Compare the scores of an exported file with those of its model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise.checks.frames import materialise
from rankwise.checks.named_columns import frame_for
from rankwise.export.feature_names import feature_names
from rankwise.export.maps import ExportError, Trees
from rankwise.export.own_model import own_model
from rankwise.export.parity.certificate import ParityCertificate, RowDifference
from rankwise.export.parity.engine_trees import EngineTree, sum_trees
from rankwise.export.parity.exported_file import ExportedFile
from rankwise.export.parity.paths import describe_difference
from rankwise.export.parity.probes import probe_rows
from rankwise.export.parity.read_file import read_exported
from rankwise.export.parity.runtimes import library_scores
from rankwise.export.tree_part import trees_of
from rankwise.groups import QueryGroups
from rankwise.prediction import innermost, scores_of
from rankwise.rankers.imported.read_booster import library_of
from rankwise.typing import ArrayLike, Float64Array, is_sparse


def verify(
    estimator: Any,
    path: str | Path,
    X: Any,
    *,
    qid: ArrayLike | QueryGroups | None = None,
    features: Sequence[str] | None = None,
    random_state: Any = 0,
) -> ParityCertificate:
    """Score rows with a model and with its exported file, and compare scores and orders.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        Model that was exported. Models of these libraries score the rows of X themselves.
    path : path-like
        File of any exporter of :mod:`rankwise.export`. A Python file is run.
    X : array-like, CSR or frame of shape (n_samples, n_features)
        Rows to score.
    qid : array-like of shape (n_samples,), optional
        Query of each row. None: all rows are one query.
    features : sequence of str, optional
        Names that were passed to the exporter.
    random_state : int, RandomState or None, default=0
        Seed for drawing the rows that are tried besides.

    Returns
    -------
    ParityCertificate
        ``holds`` is True if no order changes and no row takes another path.

    Raises
    ------
    ValueError
        If the file has no known format or names other features.
    ImportError
        If the file is ONNX and onnxruntime is not installed.

    Notes
    -----
    LightGBM, XGBoost, onnxruntime and NumPy score their files themselves where they are installed.
    Other files are scored by interpreters that follow the sources of the programs: in float32 or
    float64, with ``<`` or ``<=``, and with their rule for missing values.

    Of sums of trees, further rows are tried, whose values are thresholds and their float32
    neighbours, zeros of both signs, unknown categories, and missing values if the format has them
    or the training rows had some. Models refuse infinite values, and so none are tried.

    Programs that compute in float32 round the values of the rows: 0.86 becomes 0.86000001430511475,
    which may be on the other side of a threshold. The file is compared with the scores of the model
    for the rounded rows, and the certificate counts the rows whose score the rounding changes.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_ranklib, verify
    >>> X = np.arange(20.0)[:, None]
    >>> tree = RankingTree().fit(X, X[:, 0] // 5)
    >>> text = to_ranklib(tree, "model.txt")
    >>> certificate = verify(tree, "model.txt", X)
    >>> certificate.holds, certificate.n_changed, certificate.largest_difference
    (True, 0, 0.0)
    """
    given, estimator = estimator, own_model(estimator)
    path, X = Path(path), materialise(X)
    exported = read_exported(path, feature_names(estimator, features))
    trees = _trees(estimator)
    is_own = library_of(given) is None
    wanted = scores_of(estimator, X, qid) if is_own else library_scores(given, X)
    rows = _numbers(estimator, X, trees)
    groups = QueryGroups.from_qid(qid, len(wanted))
    not_tried = ["infinite values: the model refuses them"]
    probes = np.zeros((0, rows.shape[1]))
    of_probes = np.zeros(0)
    if trees is not None:
        with_missing = exported.takes_missing or trees.has_missing
        with_missing &= bool(innermost(estimator).__sklearn_tags__().input_tags.allow_nan)
        if not with_missing:
            known = "training had none" if trees.tells_missing else "not known if training had some"
            not_tried.append(f"missing values: {known}, and the format or model has none")
        if exported.smallest:
            size = f"{exported.smallest:g}"
            not_tried.append(f"values beside 0 of at most {size}: the program may read them as 0")
        rng = check_random_state(random_state)
        if exported.has_slack:
            not_tried.append("values between thresholds and the nearest that Solr can represent")
        probes = probe_rows(trees, rows, rng, exported, with_missing=with_missing)
        of_probes = _model_scores(estimator, trees, probes)
    else:
        not_tried.append("values at thresholds: the model is no sum of trees")
    found = exported.score(np.concatenate([rows, probes]))
    both = np.concatenate([wanted, of_probes])
    moved = _Moved()
    if trees is not None and exported.dtype == np.float32:
        moved = _round_values(trees, rows)
        both[: len(rows)] += moved.change
        rows = moved.rows
    if exported.is_shifted:
        found = found + np.median(both - found)
    made = _certificate(exported, trees, estimator, groups, both, found, rows, probes, not_tried)
    return replace(made, n_moved=int((moved.change != 0).sum()), moved=moved.example)


@dataclass(frozen=True, eq=False)
class _Moved:
    """Rows as float32 numbers, and what this changes in the scores of the model."""

    rows: Any = None
    change: Any = field(default_factory=lambda: np.zeros(0))
    example: str = ""


def _round_values(trees: Trees, rows: Float64Array) -> _Moved:
    """Rows as a program of float32 numbers reads them: the model is asked for these."""
    with np.errstate(over="ignore"):
        rounded = rows.astype(np.float32).astype(np.float64)
    grown = tuple(EngineTree.of(tree) for tree in trees.trees)
    change = sum_trees(grown, rounded) - sum_trees(grown, rows)
    example = ""
    if change.any():
        row = int(np.flatnonzero(change)[0])
        tested = np.unique(np.concatenate([tree.feature for tree in trees.trees]))
        differs = (rounded[row] != rows[row]) & ~np.isnan(rows[row])
        column = next(int(c) for c in tested if c >= 0 and differs[c])
        example = f"{float(rows[row, column])!r} is {float(rounded[row, column])!r}"
    return _Moved(rounded, change, example)


def _trees(estimator: Any) -> Trees | None:
    try:
        return trees_of(estimator, "verify")
    except ExportError:
        return None


def _numbers(estimator: Any, X: Any, trees: Trees | None) -> NDArray[Any]:
    """Rows as the file takes them: named categories as positions, numbers as they are."""
    last = innermost(estimator)
    table = getattr(last, "columns_", None)
    if trees is None or table is None or not (table.nominal or table.ordered):
        dense = X.toarray() if is_sparse(X) else X
        return np.asarray(dense, dtype=np.float64)
    rows = np.array(last.encoded_rows(X), dtype=np.float64)
    given = np.asarray(X, dtype=object)
    for column in set(table.nominal) - set(trees.categories):
        rows[:, column] = [np.nan if value is None else value for value in given[:, column]]
    return rows


def _model_scores(estimator: Any, trees: Trees, rows: Float64Array) -> Float64Array:
    """Scores of rows of numbers by the model; by its trees if it has columns of categories."""
    if trees.categories or any(tree.members for tree in trees.trees):
        grown = tuple(EngineTree.of(tree) for tree in trees.trees)
        return sum_trees(grown, rows, trees.constant)
    names = getattr(estimator, "feature_names_in_", None)
    listed = None if names is None else [str(name) for name in names]
    with warnings.catch_warnings():
        # The probes have the columns of the model.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return scores_of(estimator, frame_for(estimator, rows, listed))


def _certificate(
    exported: ExportedFile, trees: Trees | None, estimator: Any, groups: QueryGroups,
    wanted: Float64Array, found: Float64Array, rows: Any, probes: Any, not_tried: list[str],
) -> ParityCertificate:  # fmt: skip
    tolerance = _tolerance(exported, trees, estimator, wanted)
    differs = np.flatnonzero(~(np.abs(found - wanted) <= tolerance))
    first = None
    if len(differs):
        row = int(differs[0])
        both = rows[row] if row < len(rows) else probes[row - len(rows)]
        cause = describe_difference(trees, exported.trees, both)
        number = row if row < len(rows) else -1
        first = RowDifference(number, float(wanted[row]), float(found[row]), cause)
    n_rows = len(rows)
    changed, rounded = count_orders(wanted[:n_rows], found[:n_rows], groups, 2.0 * tolerance)
    return ParityCertificate(
        exported.format,
        exported.reader,
        n_rows,
        int((groups.sizes > 0).sum()),
        len(probes),
        float(np.abs(found - wanted).max(initial=0.0)),
        tolerance,
        changed,
        rounded,
        len(differs),
        first,
        tuple(not_tried),
    )


def _tolerance(
    exported: ExportedFile, trees: Trees | None, estimator: Any, wanted: Float64Array
) -> float:
    """Difference that rounding can cause in a sum of the format."""
    in_float32 = exported.dtype == np.float32
    if trees is None:
        # Weighted sums cancel, and so their rounding follows the size of the terms, not known here.
        return (1e-4 if in_float32 else 1e-9) * float(np.abs(wanted).max(initial=1e-30))
    ensemble = getattr(innermost(estimator), "tree_ensemble", None)
    in_float32 |= ensemble is not None and ensemble().in_float32
    largest = [np.abs(tree.values[tree.feature < 0]).max() for tree in trees.trees]
    size = float(np.sum(largest)) + abs(trees.constant)
    eps = float(np.finfo(np.float32 if in_float32 else np.float64).eps)
    return 2.0 * eps * np.sqrt(len(largest) + 1.0) * size


def count_orders(
    wanted: Float64Array, found: Float64Array, groups: QueryGroups, margin: float
) -> tuple[int, int]:
    """Queries whose order changes, and those in which only near scores change places.

    ``wanted`` and ``found`` are the scores of the model and of the file, (n_samples,). Scores of
    the model that differ by more than ``margin`` must keep a strict order. O(m log m) for m rows of
    a query.
    """
    changed = rounded = 0
    wanted, found = groups.sort(wanted), groups.sort(found)
    for start, end in zip(groups.indptr[:-1].tolist(), groups.indptr[1:].tolist(), strict=True):
        s, f = wanted[start:end], found[start:end]
        order = np.argsort(s, kind="stable")
        s, f = s[order], f[order]
        # Largest score of the file among rows that are below by more than the margin.
        n_below = np.searchsorted(s, s - margin, side="left")
        best = np.concatenate([[-np.inf], np.maximum.accumulate(f)])[n_below]
        if (best >= f).any():
            changed += 1
        elif not np.array_equal(np.argsort(-s, kind="stable"), np.argsort(-f, kind="stable")):
            rounded += 1
    return changed, rounded
