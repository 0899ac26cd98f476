"""Export of models as one Python file that needs NumPy only."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise._version import __version__
from rankwise.export.chains import chain_of, columns_of, own_model
from rankwise.export.elasticsearch import unscale_weights
from rankwise.export.maps import Affine, Columns, ExportError, Scaled, Trees, feature_names
from rankwise.export.parts import LinearPart, behind_columns, describe_model, trees_of
from rankwise.prediction import innermost
from rankwise.runtime.files import check_folder, write_file
from rankwise.trees.tree_ensemble import TreeEnsemble, parents_first


def to_python(
    estimator: Any, path: str | Path | None = None, *, features: Sequence[str] | None = None
) -> str:
    """Write a fitted model as a Python module with a function ``score(X)``.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        Linear model, or sum of trees or stumps; or a pipeline of scalers, encoders, imputers and
        such a model.
    path : path-like, optional
        File to write in addition.
    features : sequence of str, optional
        Names of the columns, in order (default: names from the fit, or f1, f2, ...).

    Returns
    -------
    str
        Source code that imports NumPy only and runs on Python 3.8 or later. ``score(X)`` takes
        rows as a float array, with NaN for missing values. ``encode(rows)`` takes rows or a data
        frame, and replaces named categories by numbers, and unknown ones by NaN or, if an encoder
        or the statistics of trees know the column's categories, by -1.

    Raises
    ------
    ExportError
        If the model is neither a linear model nor a sum of trees.
    ValueError
        If the names do not match the columns.

    Notes
    -----
    Trees are evaluated in float64, in the order of the model: scores of models that are sums of
    trees are bit-equal, also behind scalers, encoders and imputers. Arrays are stored as base64
    text, so the file neither rounds nor reads anything else.

    Time is O(n_rows depth) NumPy operations per tree.

    Composition: linear sum or sum of trees x Python source.

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_python
    >>> tree = RankingTree().fit([[0.0], [1.0], [3.5]], [0, 0, 1])
    >>> module = {}
    >>> exec(to_python(tree), module)
    >>> module["score"]([[0.5], [9.0]])
    array([0., 1.])
    """
    if path is not None:
        check_folder(path)
    estimator = own_model(estimator)
    names = feature_names(estimator, features)
    head = (
        f'"""Scores of {type(innermost(estimator)).__name__}, written by rankwise {__version__}; '
        f'needs NumPy only."""\n\nimport base64\n\nimport numpy as np\n\nFEATURES = {names!r}\n'
    )
    text = head + _body(estimator, len(names))
    if path is not None:
        write_file(path, text.encode())
    return text


def _body(estimator: Any, n_features: int) -> str:
    made = columns_of(estimator)
    match behind_columns(chain_of(estimator)):
        case (*scaled, Affine() as sum) if (
            all(type(step) is Scaled for step in scaled) and sum.weights.shape[1] == 1
        ):
            part = LinearPart(tuple(scaled), sum)  # type: ignore[arg-type]
            weights, constant = unscale_weights(part)
            linear = _LINEAR.format(constant=constant, n=n_features, weights=_array(weights, "<f8"))
            return _reading(made, {}, (), n_features) + linear
        case (*scaled, Trees()) if all(type(step) is Scaled for step in scaled):
            trees = trees_of(estimator, "to_python", encoded=True)
            reading = _reading(made, _list_categories(trees), list(trees.encoded), n_features)
            return reading + _trees(trees, n_features)
        case chain:
            raise ExportError(
                "to_python takes linear models and sums of trees, with scalers before them; "
                f"{describe_model(estimator, chain)} Use to_onnx."
            )


def _reading(
    made: Columns | None, categories: dict[int, list[Any]], encoded: Sequence[int], n_features: int
) -> str:
    """Source of the functions that read rows and make the columns of the first steps."""
    if made is not None:
        # Whatever stands in columns that are not used is unknown.
        unused = set(range(n_features)) - {column.source for column in made.columns}
        categories = dict(sorted({**made.categories, **{key: [] for key in unused}}.items()))
        encoded = list(categories)
    columns = [
        "    (" + ", ".join(_literal(value) for value in numbers) + "),\n"
        for numbers in ([] if made is None else made.numbers())
    ]
    make = _MAKE.format(columns="".join(columns)) if columns else ""
    return _READ.format(
        n=n_features, categories=categories, encoded=sorted(encoded), make=make,
        made="_make(X)" if make else "X",
    )  # fmt: skip


def _literal(value: float) -> str:
    """Source of a number; None for NaN."""
    if np.isnan(value):
        return "None"
    return "np.inf" if value == np.inf else repr(value)


def _trees(trees: Trees, n_features: int) -> str:
    grown = [parents_first(tree) for tree in trees.trees]
    joined = TreeEnsemble.of(grown, trees.constant)
    start = np.repeat(joined.indptr[:-1], np.diff(joined.indptr))
    # Unknown categories go the way of missing values, so nodes list the known ones of both sides.
    sides = {}
    for root, tree in zip(joined.indptr.tolist(), grown, strict=False):
        for node, (left, right) in tree.members.items():
            sides[int(root) + node] = (sorted(left.tolist()), sorted(right.tolist()))
    inner = joined.feature >= 0
    return _TREES.format(
        constant=float(trees.constant),
        n=n_features,
        sets=sides,
        roots=_array(joined.indptr[:-1], "<i8"),
        feature=_array(joined.feature, "<i8"),
        threshold=_array(np.where(inner, joined.threshold, 0.0), "<f8"),
        left=_array(np.where(inner, joined.left + start, 0), "<i8"),
        right=_array(np.where(inner, joined.right + start, 0), "<i8"),
        missing_left=_array(joined.missing_left, "|b1"),
        values=_array(joined.values, "<f8"),
        statistics=_statistics(trees),
    )


def _statistics(trees: Trees) -> str:
    """Source of a dict of the numbers, values and prior of each encoded column."""
    items = [
        f"    {column}: (\n{_array(known.keys, '<f8')},\n{_array(known.values, '<f8')},\n"
        f"{float(known.prior)!r}),\n"
        for column, known in trees.encoded.items()
    ]
    return f"{{\n{''.join(items)}}}" if items else "{}"


def _list_categories(trees: Trees) -> dict[int, list[Any]]:
    listed = {column: values.tolist() for column, values in sorted(trees.categories.items())}
    for column, values in listed.items():
        if not all(isinstance(value, str | int | float | bool) for value in values):
            raise ExportError(
                f"categories of column {column} must be text or numbers for to_python, got "
                f"{values[0]!r}. Convert them to text before training."
            )
    return listed


def _array(values: Any, dtype: str) -> str:
    """Source of an array: its bytes as base64 in lines of 88 characters."""
    data = np.ascontiguousarray(values, dtype=dtype).tobytes()
    text = base64.b64encode(data).decode()
    lines = "\n".join(f'    "{line}"' for line in textwrap.wrap(text, 88)) or '    ""'
    return f'_array("{dtype}",\n{lines}\n)'


_READ = '''
# Text of columns by number of the column; in rows of numbers, it is replaced by its position.
CATEGORIES = {categories!r}
# Columns whose unknown text is -1 instead of a missing value.
_ENCODED = {encoded!r}


def _array(dtype, *text):
    return np.frombuffer(base64.b64decode("".join(text)), dtype=dtype)


def encode(rows):
    """Rows as floats: categories as numbers, missing values as NaN.

    A data frame has the columns of FEATURES, in any order. Unknown categories become NaN, too, or
    -1 in the columns of _ENCODED.
    """
    if hasattr(rows, "columns"):
        absent = [name for name in FEATURES if name not in [str(name) for name in rows.columns]]
        if absent:
            raise ValueError(f"the frame must have the columns of FEATURES, but lacks {{absent}}.")
        by_name = {{str(name): name for name in rows.columns}}
        rows = list(zip(*(list(rows[by_name[name]]) for name in FEATURES)))
    out = np.empty((len(rows), {n}))
    positions = {{j: {{v: i for i, v in enumerate(known)}} for j, known in CATEGORIES.items()}}
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
                out[i, j] = np.nan
            elif j in positions:
                out[i, j] = positions[j].get(value, -1.0 if j in _ENCODED else np.nan)
            else:
                out[i, j] = value
    return out

{make}
def _rows(X):
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != {n}:
        raise ValueError(f"X must have {n} columns, got shape {{X.shape}}.")
    return {made}

'''
_MAKE = """
# Columns of the model: number of their column in rows, value for which they are 1 and not 0, and
# what missing values become.
_COLUMNS = [
{columns}]


def _make(X):
    out = np.empty((len(X), len(_COLUMNS)))
    for k, (j, key, fill) in enumerate(_COLUMNS):
        out[:, k] = X[:, j] if key is None else X[:, j] == key
        if fill is not None:
            out[np.isnan(X[:, j]), k] = fill
    return out

"""
_LINEAR = '''
_CONSTANT = {constant!r}
_WEIGHTS = {weights}


def score(X):
    """Score of every row of X, shape (n_rows, {n}); higher ranks higher."""
    return _rows(X) @ _WEIGHTS + _CONSTANT
'''
_TREES = '''
_CONSTANT = {constant!r}
_ROOTS = {roots}
_FEATURE = {feature}
_THRESHOLD = {threshold}
_LEFT = {left}
_RIGHT = {right}
_MISSING_LEFT = {missing_left}
_VALUES = {values}
# Categories that go left and right at nodes that split columns without order.
_SETS = {sets!r}
# By column whose categories have statistics: their numbers, statistics, and that of all others.
_STATISTICS = {statistics}


def score(X):
    """Score of every row of X, shape (n_rows, {n}), NaN where missing; higher ranks higher."""
    X = _rows(X)
    if _STATISTICS:
        X = X.copy()
    for j, (numbers, statistics, prior) in _STATISTICS.items():
        place = np.searchsorted(numbers, X[:, j])
        known = np.append(numbers, np.nan)[place] == X[:, j]
        found = np.where(known, np.append(statistics, prior)[place], prior)
        X[:, j] = np.where(np.isnan(X[:, j]), np.nan, found)
    scores = np.full(len(X), _CONSTANT)
    for root in _ROOTS.tolist():
        nodes = np.full(len(X), root)
        active = np.flatnonzero(_FEATURE[nodes] >= 0)
        while len(active):
            at = nodes[active]
            x = X[active, _FEATURE[at]]
            left = np.where(np.isnan(x), _MISSING_LEFT[at], x <= _THRESHOLD[at])
            for node in np.unique(at).tolist() if _SETS else ():
                if node in _SETS:
                    here = np.flatnonzero(at == node)
                    to_left, to_right = (np.isin(x[here], side) for side in _SETS[node])
                    left[here] = to_left | (~to_right & _MISSING_LEFT[node])
            nodes[active] = np.where(left, _LEFT[at], _RIGHT[at])
            active = active[_FEATURE[nodes[active]] >= 0]
        scores += _VALUES[nodes]
    return scores
'''
