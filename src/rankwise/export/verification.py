"""Compare the scores of an exported file with those of its model.

Besides the rows of the user, those are tried on which an export can go wrong: at thresholds, at
zero, missing and unknown values. A difference is traced to the node where the paths part.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.chains import categories_of, columns_of, engine_names, own_model
from rankwise.export.exported_files import (
    AS_ZERO,
    EngineTree,
    ExportedFile,
    holds_encoders,
    library_scores,
    read_exported,
    sum_trees,
)
from rankwise.export.lightgbm_text import split_by_sets
from rankwise.export.maps import ExportError, MadeColumns, Trees, column_word, feature_names
from rankwise.export.parts import SOLR_SLACK, floor_float32, subtract_slack, trees_of
from rankwise.export.python_source import to_python
from rankwise.groups import QueryGroups
from rankwise.prediction import innermost, scores_of
from rankwise.rankers.adapters.read_booster import library_of
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.frames import Table, convert_to_array, frame_for, is_missing
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, Seed, is_sparse


def verify(
    estimator: Any,
    path: str | Path,
    X: Any,
    *,
    qid: ArrayLike | QueryGroups | None = None,
    features: Sequence[str] | None = None,
    random_state: Seed = 0,
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
    random_state : int, RandomState, Generator or None, default=0
        Seed for drawing the additional rows that are tried.

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
    path, X = Path(path), Table.of(X).rows
    made = columns_of(estimator)
    # Files that encode columns themselves read those of the table.
    encodes = made is not None and holds_encoders(path)
    names = engine_names(estimator, None if encodes else features)
    exported = read_exported(path, feature_names(estimator, features) if encodes else names)
    trees = _trees(estimator)
    is_own = library_of(given) is None
    wanted = scores_of(estimator, X, qid) if is_own else library_scores(given, X)
    table = rows = _file_rows(estimator, X)
    if made is not None:
        rows = made.make(table, fill=encodes or not exported.takes_missing)
        table = table if encodes else rows
    groups = QueryGroups.from_qid(qid, len(wanted))
    not_tried = ["infinite values: the model rejects them"]
    probes = np.zeros((0, rows.shape[1]))
    of_probes, of_table = np.zeros(0), np.zeros((0, table.shape[1]))
    if trees is not None:
        with_missing = exported.takes_missing or trees.has_missing
        with_missing &= bool(innermost(estimator).__sklearn_tags__().input_tags.allow_nan)
        if made is not None and not exported.takes_missing:
            with_missing = False
            not_tried.append("missing values: the engine has to fill them as the pipeline does")
        elif not with_missing:
            known = "training had none" if trees.tells_missing else "not known if training had some"
            not_tried.append(f"missing values: {known}, and the format or model has none")
        if exported.smallest:
            size = f"{exported.smallest:g}"
            not_tried.append(f"values within {size} of 0: the program may read them as 0")
        rng = check_random_state(random_state)
        if exported.has_slack:
            not_tried.append("values between thresholds and the nearest that Solr can represent")
        of_file = trees.with_float32_keys() if exported.dtype == np.float32 else trees
        probes = probe_rows(of_file, rows, rng, exported, with_missing=with_missing)
        of_table = probes
        if made is not None and encodes:
            of_table = _pull(made, table, probes)
            probes = made.make(of_table, dtype=exported.dtype)
        of_probes = _model_scores(estimator, of_file, probes, is_made=made is not None)
    else:
        not_tried.append("values at thresholds: the model is no sum of trees")
    found = exported.score(np.concatenate([table, of_table]))
    both = np.concatenate([wanted, of_probes])
    n_moved, example = 0, ""
    change, is_moved = np.zeros(len(rows)), 0.0
    if exported.dtype == np.float32:
        with np.errstate(over="ignore"):
            rounded = table.astype(np.float32).astype(np.float64)
        if trees is not None:
            if made is not None and encodes:
                rounded = made.make(table, dtype=np.float32)
            # Of the model's scores, for rows as a program of float32 numbers reads them
            change = _sum_of(trees.with_float32_keys(), rounded) - _sum_of(trees, rows)
        elif made is None or encodes:
            rows = table
            change = _rounding_of_source(estimator, rows, rounded)
            is_moved = _tolerance(exported, trees, estimator, wanted)
        moved = np.flatnonzero(np.abs(change) > is_moved)
        if len(moved):
            n_moved, example = len(moved), _example(trees, rows[moved[0]], rounded[moved[0]])
        rows = rounded
        both[: len(rows)] += change
    if exported.is_shifted:
        found = found + np.median(both - found)
    certificate = _certificate(
        exported, trees, estimator, groups, both, found, rows, probes, not_tried, names
    )
    n_queries = 0 if qid is None else certificate.n_queries
    return replace(certificate, n_queries=n_queries, n_moved=n_moved, moved=example)


def _sum_of(trees: Trees, rows: Float64Array, constant: float = 0.0) -> Float64Array:
    grown = tuple(EngineTree.of(tree) for tree in trees.trees)
    return sum_trees(grown, trees.encode(rows), constant)


def _rounding_of_source(estimator: Any, rows: Float64Array, rounded: Float64Array) -> Float64Array:
    """Changes of the scores by the Python file; 0 for models that it does not take."""
    module: dict[str, Any] = {}
    try:
        exec(to_python(estimator), module)
    except ExportError:
        return np.zeros(len(rows))
    change: Float64Array = module["score"](rounded) - module["score"](rows)
    return change


def _example(trees: Trees | None, row: Float64Array, rounded: Float64Array) -> str:
    """A value of a row that is rounded, in a column that the trees test."""
    used = {int(column) for tree in trees.trees for column in tree.feature} if trees else ()
    differs = np.flatnonzero((rounded != row) & ~np.isnan(row)).tolist()
    column = next(column for column in differs if not used or column in used)
    return f"{float(row[column])!r} is {float(rounded[column])!r}"


def _trees(estimator: Any) -> Trees | None:
    try:
        with warnings.catch_warnings():  # the exporter warned
            warnings.simplefilter("ignore", UserWarning)
            return trees_of(estimator, "verify", encoded=True)
    except ExportError:
        return None


def _file_rows(estimator: Any, X: Any) -> Float64Array:
    """Rows as the file takes them: positions of categories, and all other values as they are."""
    categories, encoded = categories_of(estimator)
    frame, names = Table.of(X).frame, feature_names(estimator)
    table = getattr(innermost(estimator), "columns_", None)
    if not categories and (frame is None or not (table is not None and table.nominal)):
        return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    out = np.empty((X.shape[0], len(names)))
    for column, name in enumerate(names):
        if frame is None:
            part = X[:, [column]].toarray() if is_sparse(X) else np.asarray(X)[:, [column]]
            values = part[:, 0].tolist()
        else:
            series = frame[name if name in frame.columns else frame.columns[column]]
            # An array of a whole Arrow table would lose missing values of its dictionaries.
            values = convert_to_array(series.to_native()).tolist()
        if column in categories:
            place: dict[Any, float] = {v: float(i) for i, v in enumerate(categories[column])}
            unknown = -1.0 if column in encoded else np.nan
            values = [np.nan if is_missing(v) else place.get(v, unknown) for v in values]
        out[:, column] = [np.nan if is_missing(v) else v for v in values]
    return out


def _pull(made: MadeColumns, table: Float64Array, probes: Float64Array) -> Float64Array:
    """Rows of the table with the probes in the columns that are used as they are."""
    out = table[np.resize(np.arange(len(table)), len(probes))]
    for place, column in enumerate(made.columns):
        if column.key is None:
            out[:, column.source] = probes[:, place]
    return out


def _model_scores(
    estimator: Any, trees: Trees, rows: Float64Array, *, is_made: bool
) -> Float64Array:
    """Scores of rows of numbers by the model; by its trees if categories were encoded."""
    if is_made or trees.categories or trees.encoded or any(tree.members for tree in trees.trees):
        return _sum_of(trees, rows, trees.constant)
    names = getattr(estimator, "feature_names_in_", None)
    listed = None if names is None else [str(name) for name in names]
    with warnings.catch_warnings():
        # The probes have the columns of the model.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return scores_of(estimator, frame_for(estimator, rows, listed))


def _certificate(
    exported: ExportedFile, trees: Trees | None, estimator: Any, groups: QueryGroups,
    wanted: Float64Array, found: Float64Array, rows: Any, probes: Any, not_tried: list[str],
    names: list[str],
) -> ParityCertificate:  # fmt: skip
    tolerance = _tolerance(exported, trees, estimator, wanted)
    differs = np.flatnonzero(~(np.abs(found - wanted) <= tolerance))
    first = None
    if len(differs):
        row = int(differs[0])
        both = rows[row] if row < len(rows) else probes[row - len(rows)]
        cause = describe_difference(trees, exported.trees, both, names)
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
    ensemble = getattr(innermost(estimator), "_tree_ensemble", None)
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


@dataclass(frozen=True)
class RowDifference(Result):
    """A row that the file scores differently."""

    row: int  # position in X; -1 for additional rows
    model_score: float
    file_score: float
    cause: str  # where the paths part; empty if that is not known


@dataclass(frozen=True)
class ParityCertificate(Result):
    """Comparison of the scores of an exported file with those of the model.

    Attributes
    ----------
    format : str
        Format of the file.
    reader : str
        Program that scored the file, with its version; or "interpreter", the arithmetic of the
        program rebuilt by rankwise.
    n_rows, n_queries : int
        Rows of X and their queries; 0 queries without ``qid``, which compares all rows.
    n_probes : int
        Additional rows: values at thresholds and next to them, zeros of both signs, missing
        values and unknown categories.
    largest_difference : float
        Largest absolute difference of a score, on all rows.
    tolerance : float
        Difference that the sums of the format can cause by rounding.
    n_changed : int
        Queries in which two rows whose scores differ by more than twice the tolerance do not keep
        their order.
    n_rounded : int
        Queries in which only rows with nearer scores change places.
    n_different : int
        Rows, of X and besides, whose scores differ by more than the tolerance.
    first : RowDifference or None
        The first of them.
    not_tried : tuple of str
        Values that were not tried, with the reason.
    n_moved : int
        Rows of X that the model scores otherwise if their values are rounded to float32, as the
        program does. The file is compared with the scores after rounding.
    moved : str
        A value of the first of them, before and after.
    """

    _derived = ("holds",)

    format: str
    reader: str
    n_rows: int
    n_queries: int
    n_probes: int
    largest_difference: float
    tolerance: float
    n_changed: int
    n_rounded: int
    n_different: int
    first: RowDifference | None
    not_tried: tuple[str, ...] = ()
    n_moved: int = 0
    moved: str = ""

    @property
    def holds(self) -> bool:
        """Whether no order changes and no row takes another path."""
        return self.n_changed == 0 and self.n_different == 0

    def __str__(self) -> str:
        verdict = "the file ranks as the model" if self.holds else "THE FILE DIFFERS"
        in_queries = "without queries"
        if self.n_queries:
            in_queries = f"in {self.n_queries:,} quer{'y' if self.n_queries == 1 else 'ies'}"
        lines = [
            f"{self.format}, read by {self.reader}: {verdict}",
            f"  rows                  {self.n_rows:,} {in_queries}, and "
            f"{self.n_probes:,} at thresholds",
            f"  largest difference    {self.largest_difference:.3g} (rounding: up to "
            f"{self.tolerance:.3g})",
            f"  rows that differ      {self.n_different:,}",
            f"  queries reordered     {self.n_changed:,}, and {self.n_rounded:,} among scores "
            "nearer than rounding",
        ]
        if self.first is not None:
            where = "a row tried besides" if self.first.row < 0 else f"row {self.first.row}"
            lines.append(
                f"  first difference      {where}: model {self.first.model_score:.9g}, file "
                f"{self.first.file_score:.9g}"
            )
            cause = self.first.cause or "not known: no path in the trees of the file tells it"
            lines.append(f"  cause                 {cause}")
        if self.n_moved:
            lines.append(
                f"  moved by float32      {self.n_moved:,} rows score otherwise there: the program "
                f"reads float32 numbers, in which {self.moved}"
            )
        lines += [f"  not tried             {reason}" for reason in self.not_tried]
        return "\n".join(lines)


_FEWEST, _MOST = 500, 20_000
_MOST_PROBED = np.float32(1e38)


def probe_rows(
    trees: Trees, X: Float64Array, rng: Any, exported: ExportedFile, *, with_missing: bool
) -> Float64Array:
    """Rows of float32 values at the thresholds of each column and at their neighbours.

    Returns float64 (n_probes, n_features). The values of ``X`` fill the columns too. The program
    that reads the file may not tell some values apart. With ``with_missing``, a tenth of the values
    is missing.
    """
    columns = [_values(trees, column, X[:, column], exported) for column in range(X.shape[1])]
    n_probes = int(np.clip(max(map(len, columns), default=0), _FEWEST, _MOST))
    out = np.empty((n_probes, X.shape[1]))
    for column, values in enumerate(columns):
        repeats = -(-n_probes // len(values))
        out[:, column] = np.concatenate([rng.permutation(values) for _ in range(repeats)])[
            :n_probes
        ]
    if with_missing:
        out[rng.random_sample(out.shape) < 0.1] = np.nan
    return out


def _values(trees: Trees, column: int, given: Float64Array, exported: ExportedFile) -> Float64Array:
    """Values to try in a column."""
    cuts, categories = [], set()
    if column in trees.encoded:
        categories.update(trees.encoded[column].keys.tolist())
    for tree in trees.trees:
        at = np.flatnonzero(tree.feature == column)
        nominal = [node for node in at.tolist() if node in tree.members]
        cuts.append(tree.threshold[np.setdiff1d(at, nominal)])
        for node in nominal:
            for side in tree.members[node]:
                categories.update(side.tolist())
    given = given[np.isfinite(given)][:200]
    if column in trees.encoded:
        given = given.astype(exported.dtype).astype(np.float64)
    if categories:
        unknown = max(categories) + 1.0
        return np.array([*categories, unknown, unknown + 100.0, *given[:50]])
    thresholds = np.unique(np.concatenate([np.zeros(0), *cuts]))
    near = thresholds[np.abs(thresholds) < _MOST_PROBED].astype(np.float32)
    below, above = (np.nextafter(near, np.float32(way)) for way in (-np.inf, np.inf))
    largest = np.finfo(np.float32).max
    ends = np.array([0.0, -0.0, 1.0, -1.0, largest, -largest], dtype=np.float32)
    values = np.concatenate([near, below, above, ends, given.astype(np.float32)])
    values = values.astype(np.float64)
    values = values[(np.abs(values) > exported.smallest) | (values == 0)]
    return values[~_lies_beside_slack(values, thresholds)] if exported.has_slack else values


def _lies_beside_slack(values: Float64Array, thresholds: Float64Array) -> Any:
    """Values between a threshold and the nearest sum with Solr's slack, which it cannot reach."""
    sums = (subtract_slack(thresholds) + SOLR_SLACK).astype(np.float64)
    low = np.minimum(floor_float32(thresholds), sums)
    high = np.maximum(floor_float32(thresholds), sums)
    apart = low < high
    inside = (values[:, None] > low[apart]) & (values[:, None] <= high[apart])
    return inside.any(axis=1)


_LARGEST_FLOAT32 = np.finfo(np.float32).max


def describe_difference(
    trees: Trees | None, file_trees: tuple[EngineTree, ...], row: Any, names: list[str]
) -> str:
    """Node at which a row (n_features,) goes another way in the file; empty if that is not known.

    The trees of the file are in the order of the model's; a constant may be a tree of its own.
    """
    if trees is None or not file_trees:
        return ""
    # A constant is the first tree in some formats, and the last one in others.
    before = int(len(file_trees) > len(trees.trees) and file_trees[0].feature[0] < 0)
    if not file_trees[0].is_strict:  # LightGBM
        trees = split_by_sets(trees)
    for number, tree in enumerate(trees.trees[: len(file_trees) - before]):
        model, other = EngineTree.of(tree), file_trees[number + before]
        for node in np.flatnonzero(np.isin(tree.feature, list(trees.encoded))).tolist():
            known = trees.encoded[int(tree.feature[node])]
            left, right, unknown_left = known.goes_left(float(tree.threshold[node]))
            model.sets[node] = (None, right) if unknown_left else (left, None)
        said = _compare(model, other, row, names)
        if said:
            return f"tree {number}: {said}"
    return ""


def _compare(model: EngineTree, other: EngineTree, row: Any, names: list[str]) -> str:
    a = b = 0
    while model.feature[a] >= 0 and other.feature[b] >= 0:
        column = int(model.feature[a])
        parts_missing = np.isinf(model.threshold[a])
        if parts_missing and np.abs(other.threshold[b]) < _LARGEST_FLOAT32:
            # Formats without missing values leave out nodes that part them from all others.
            if np.isnan(row[column]):
                return (
                    f"{column_word(names, column)} is missing, which the model tests; the file "
                    "reads missing values as 0."
                )
            a = int(model.left[a] if _goes_left(model, a, row) else model.right[a])
            continue
        if other.feature[b] != column:
            there, here = (column_word(names, j) for j in (int(other.feature[b]), column))
            return f"the file tests {there} where the model tests {here}."
        left_in_model, left_in_file = _goes_left(model, a, row), _goes_left(other, b, row)
        # Formats with one side for missing categories let the sides change places.
        is_swapped = b in other.sets and a in model.sets and model.missing[a] != other.missing[b]
        is_swapped |= bool(parts_missing and other.threshold[b] < 0 < model.threshold[a])
        if is_swapped:
            left_in_file = not left_in_file
        if left_in_model != left_in_file:
            return (
                f"{column_word(names, column)} has the value {float(row[column])!r}: "
                f"{_describe_test('model', model, a, left_in_model)}; "
                f"{_describe_test('file', other, b, left_in_file)}."
            )
        a = int(model.left[a] if left_in_model else model.right[a])
        b = int(other.left[b] if left_in_model != is_swapped else other.right[b])
    if (model.feature[a] < 0) != (other.feature[b] < 0):
        return "the file has another number of splits on the path."
    value, found = float(model.values[a]), float(other.values[b])
    if not np.isclose(value, found, rtol=1e-6, atol=0.0):
        return f"the leaf is {value!r} in the model and {found!r} in the file."
    return ""


def _goes_left(tree: EngineTree, node: int, row: Any) -> bool:
    return bool(tree.goes_left(np.array([node]), row[tree.feature[[node]]])[0])


def _describe_test(what: str, tree: EngineTree, node: int, is_left: bool) -> str:
    side = "left" if is_left else "right"
    if node in tree.sets:
        return f"the {what} sends it {side} by its set of categories"
    test = "<" if tree.is_strict else "<="
    reads = " and missing values as 0" if tree.missing[node] == AS_ZERO else ""
    return f"the {what} tests {test} {float(tree.threshold[node])!r}{reads}, so it goes {side}"
